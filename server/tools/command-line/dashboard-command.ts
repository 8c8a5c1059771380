// The command `rowhouse dashboard`.
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { Dependencies } from './dependencies.ts'

/** The build copies it beside the compiled file. */
const dashboard = new URL('../../running/operations/grafana-dashboard.json', import.meta.url)

/** Adds the command that prints the dashboard, which is JSON in any case. */
export function addDashboard(program: Command, { print }: Dependencies): void {
  program
    .command('dashboard')
    .description('print a dashboard for Grafana, as JSON: requests, database and services')
    .action(async () => print(await readFile(dashboard, 'utf8')))
}
