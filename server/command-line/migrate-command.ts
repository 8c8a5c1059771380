// `rowhouse migrate`: brings the database up to date.
import type { Command } from 'commander'
import type { Dependencies } from './dependencies.ts'

type Options = { readonly dryRun?: true; readonly json?: true; readonly config?: string }

export function addMigrate(program: Command, { loadConfig, withDatabase, print }: Dependencies): void {
  program
    .command('migrate')
    .description('apply the migrations that the database lacks')
    .option('--dry-run', 'list them, and change nothing')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { dryRun, json, config: file } = command.optsWithGlobals<Options>()
      const config = loadConfig(file)
      const names = await withDatabase(config, 'owner', ({ migrate, pendingMigrations }) =>
        dryRun ? pendingMigrations() : migrate(),
      )
      if (json) print(`${JSON.stringify(dryRun ? { pending: names } : { applied: names })}\n`)
      else print(`${summary(names, dryRun === true)}\n`)
    })
}

function summary(names: readonly string[], dryRun: boolean): string {
  if (names.length === 0) return 'The database is up to date.'
  return [dryRun ? 'Would apply:' : 'Applied:', ...names.map((name) => `  ${name}`)].join('\n')
}
