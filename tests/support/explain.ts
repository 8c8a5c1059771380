// Explains requests on a database of a test, as `rowhouse explain` does.
import type { Test } from 'tap'
import { loadConfig } from '../../server/config/load.ts'
import { LibpqClient, connectionConfig } from '../../server/postgres/connection/pool-config.ts'
import { runScratch } from '../../server/postgres/scratch-transaction.ts'
import type { CallerWish } from '../../server/tools/explain/caller.ts'
import type { Explanation } from '../../server/tools/explain/explanation.ts'
import { loadOffline } from '../../server/tools/explain/offline.ts'
import { parseRequest } from '../../server/tools/explain/request-line.ts'

export type ExplainMore = {
  readonly data?: unknown
  readonly headers?: readonly string[]
  readonly trusted?: readonly string[]
}

export type Explain = (line: string, caller: CallerWish, more?: ExplainMore) => Promise<Explanation>

/**
 * Loads the schema once, as the program would for a single request.
 *
 * @param uri connection string of the serving role
 */
export async function explainOn(
  t: Pick<Test, 'teardown'>,
  uri: string,
  env: Readonly<Record<string, string>> = { PGRST_DB_ANON_ROLE: 'anon' },
): Promise<Explain> {
  const { config } = loadConfig({ env: { DATABASE_URL: uri, ...env } })
  const client = new LibpqClient(connectionConfig(uri, {}))
  client.on('error', () => undefined)
  await client.connect()
  t.teardown(() => client.end())
  const explain = await loadOffline({
    database: { scratch: ({ isolation }, use) => runScratch(client, isolation, use) },
    config,
    validator: { forTable: () => undefined },
  })
  return (line, caller, { data, headers = [], trusted = [] } = {}) => {
    const body = data === undefined ? undefined : Buffer.from(typeof data === 'string' ? data : JSON.stringify(data))
    return explain(parseRequest({ line, data: body, headers }, config.restBasePath), caller, trusted)
  }
}
