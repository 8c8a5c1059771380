// Several statements in one round trip: everything is sent in one write. What stands before one Sync is one implicit
// transaction, which an error anywhere in it undoes.
import type pg from 'pg'
import { Exchange, StatementError, type PipelinePart, type PipelineStatement, type Turn } from './exchange.ts'
import { StatementCache } from './statement-cache.ts'
import type { Row } from './wire.ts'

/** Who is told of a run besides the caller: see `Turn`. */
export type PipelineObserver = Pick<Turn, 'onArriving' | 'history'>

export { StatementError, type OnArriving, type PipelinePart, type PipelineStatement } from './exchange.ts'
export type { Row, ServerError } from './wire.ts'

const caches = new WeakMap<object, StatementCache>()

/**
 * The statements that are prepared on a connection.
 *
 * @param limit maximum number of statements, where the connection has prepared none yet
 */
export function statementsOf(client: pg.ClientBase, limit?: number): StatementCache {
  let cache = caches.get(client)
  if (!cache) caches.set(client, (cache = new StatementCache(limit)))
  return cache
}

/** PostgreSQL's function that finds out that a statement has to be planned again. Messages may be translated. */
const revalidation = 'RevalidateCachedQuery'
/** The one that raises the errors of PL/pgSQL code, which may run while a statement is bound. */
const userCode = 'exec_stmt_raise'

/**
 * Whether a prepared statement is gone, there already, or stale. Errors with these codes that come up while a statement
 * is executed are those of user code.
 */
export function isStaleStatement(error: unknown): error is StatementError {
  if (!(error instanceof StatementError) || error.position.isBound) return false
  const { code, message, routine } = error.server
  if (routine === userCode) return false
  if (code === '0A000') return routine === revalidation || message === 'cached plan must not change result type'
  return code === '26000' || code === '42P05'
}

/**
 * Whether a turn that failed has had no effect outside its transactions: neither what was executed before the error nor
 * the parts behind it, which the server runs all the same.
 */
export const isRepeatable = (parts: readonly PipelinePart[], { position }: StatementError): boolean =>
  parts.every((part, number) =>
    part.every(
      ({ hasNoEffect }, index) => hasNoEffect === true || (number === position.part && index >= position.statement),
    ),
  )

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

/** A command outside the request's own statements, which works whatever has become of the prepared ones. */
export const command = (text: string, more: Pick<PipelineStatement, 'hasNoEffect'> = {}): PipelineStatement => ({
  text,
  values: [],
  isUnprepared: true,
  ...more,
})

/** Forgets all prepared statements of a connection, on the server and then here. */
export async function forgetStatements(client: pg.ClientBase): Promise<void> {
  await exchange(client, [[command('DEALLOCATE ALL')]], undefined)
  statementsOf(client).clear()
}

/**
 * Runs the parts on a client that is not used by anyone else, in one round trip. When a prepared statement turns out to
 * be stale, and nothing that came before it has an effect outside the transaction, all is run once more.
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
  const isOutermost = client.getTransactionStatus() === 'I'
  try {
    return await exchange(client, parts, cache, observer)
  } catch (error) {
    if (!cache || !isOutermost || !isStaleStatement(error) || !isRepeatable(parts, error)) throw error
    if (client.getTransactionStatus() !== 'I') await exchange(client, [[command('ROLLBACK')]], undefined)
    await forgetStatements(client)
    return exchange(client, parts, cache, observer)
  }
}
