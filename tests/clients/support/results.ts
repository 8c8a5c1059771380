// The results of scenarios: lines of JSON that the runner collects, and the tables of the guide.
import { appendFileSync } from 'node:fs'
import { clients, type Client, type ClientName } from '../releases.ts'

export type Result = {
  readonly client: ClientName
  /** What the scenario does, as the guide says it. */
  readonly done: string
  /** `works`, `fails`, or a sentence that begins with `works, but …` or `cannot run here: …`. */
  readonly result: string
}

/** The environment variable with the file that results are appended to. */
export const resultsFile = 'ROWHOUSE_CLIENT_RESULTS'

/**
 * Reports a result to the runner. A file that is run by itself has no runner.
 *
 * Synchronously: tap ends a file once it waits for anything else between two tests.
 */
export function report(result: Result): void {
  const file = process.env[resultsFile]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(result)}\n`)
}

/** Replaces earlier results of the same scenarios. Results of clients that are not in the list any more are left out. */
export function addResults(earlier: readonly Result[], later: readonly Result[]): readonly Result[] {
  const clientsOfLater = new Set(later.map(({ client }) => client))
  return [...earlier.filter(({ client }) => client in clients && !clientsOfLater.has(client)), ...later]
}

const areas = [...new Set(Object.values(clients).map(({ area }) => area))]

/** Lines of Markdown: a section with a table for each area, in the order of the list of clients. */
export function resultTables(results: readonly Result[]): readonly string[] {
  const order = Object.keys(clients)
  return areas.flatMap((area) => {
    const rows = results
      .filter(({ client }) => clients[client].area === area)
      .sort((a, b) => order.indexOf(a.client) - order.indexOf(b.client))
      .map(({ client, done, result }) => `| ${nameOf(client)} | ${clients[client].release} | ${done} | ${result} |`)
    const head = ['| client | version | what is done | result |', '| --- | --- | --- | --- |']
    return rows.length === 0 ? [] : [`### ${area}`, '', ...head, ...rows, '']
  })
}

const nameOf = (name: ClientName): string => {
  const client: Client = clients[name]
  return client.installer === 'pip' || client.package !== undefined ? name : `\`${name}\``
}
