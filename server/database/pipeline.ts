// Several statements in one round trip: everything is sent in one write. What stands before one Sync is one implicit
// transaction, which an error anywhere in it undoes.
import type pg from 'pg'
import { Exchange, StatementError, type PipelinePart, type Turn } from './exchange.ts'
import { StatementCache } from './statement-cache.ts'
import type { Row } from './wire.ts'

/** Who is told of a run besides the caller: see `Turn`. */
export type PipelineObserver = Pick<Turn, 'onArriving' | 'history'>

export { StatementError, type OnArriving, type PipelinePart, type PipelineStatement } from './exchange.ts'
export type { Row, ServerError } from './wire.ts'

const caches = new WeakMap<object, StatementCache>()

/** The statements that are prepared on a connection. */
export function statementsOf(client: pg.ClientBase): StatementCache {
  let cache = caches.get(client)
  if (!cache) caches.set(client, (cache = new StatementCache()))
  return cache
}

/** Prepared statements are gone, there already, or stale: see `runPipeline`. */
export const isStaleStatement = (error: unknown): boolean =>
  error instanceof StatementError &&
  (error.server.code === '26000' ||
    error.server.code === '42P05' ||
    (error.server.code === '0A000' && error.server.message === 'cached plan must not change result type'))

const exchange = (
  client: pg.ClientBase,
  parts: readonly PipelinePart[],
  cache: StatementCache | undefined,
  observer: PipelineObserver = {},
) =>
  new Promise<Row[][]>((resolve, reject) => {
    const one = new Exchange(cache, () => undefined)
    one.add({
      parts,
      ...observer,
      settle: (error, results) => {
        if (error) reject(error)
        else resolve(results)
      },
    })
    client.query(one)
  })

/** Forgets all prepared statements of a connection, here and on the server. */
export async function forgetStatements(client: pg.ClientBase): Promise<void> {
  statementsOf(client).clear()
  await exchange(client, [[{ text: 'DEALLOCATE ALL', values: [] }]], undefined)
}

/**
 * Runs the parts on a client that is not used by anyone else, in one round trip.
 *
 * @param parts each one an implicit transaction, unless a part begins with BEGIN
 * @param prepare whether statements are prepared and kept on the connection
 * @param observer takes large rows before the transaction has ended (without it they are waited for), and notes the run
 * @returns the rows of every statement, in order
 * @throws StatementError for the first error of the server; other errors mean that the connection is lost
 */
export async function runPipeline(
  client: pg.ClientBase,
  parts: readonly PipelinePart[],
  prepare: boolean,
  observer?: PipelineObserver,
): Promise<Row[][]> {
  const cache = prepare ? statementsOf(client) : undefined
  try {
    return await exchange(client, parts, cache, observer)
  } catch (error) {
    if (!cache || !isStaleStatement(error)) throw error
    // Nothing was done, or it was undone. Once more, with statements prepared anew.
    await forgetStatements(client)
    return exchange(client, parts, cache, observer)
  }
}
