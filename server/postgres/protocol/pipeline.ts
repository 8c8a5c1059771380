// Several statements in one round trip: everything is sent in one write. What stands before one Sync is one implicit
// transaction, which an error anywhere in it undoes.
import { TracelessError } from '../../common/traceless-error.ts'
import type { PipelineStatement, Row } from '../../rest/database.ts'
import { ConnectionError } from '../connection-error.ts'
import { PipelineQuery, StatementError, type PipelinePart, type QueuedTransaction } from './pipeline-query.ts'
import type { PipelineClient } from './pipeline-client.ts'
import type { StatementCache } from './statement-cache.ts'

/** Who is told of a run besides the caller: see `Turn`. */
export type PipelineObserver = Pick<QueuedTransaction, 'onLargeRow' | 'history'>

export { StatementError, type OnLargeRow, type PipelinePart } from './pipeline-query.ts'

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

/** Undoes a transaction whose statements all succeeded. The connection goes on working. */
export class Refusal extends TracelessError {
  /** What the caller gets instead. */
  readonly error: Error

  constructor(error: Error) {
    super('the result of the transaction was refused', error)
    this.error = error
  }
}

/** Whether the server has ended the connection, or it broke while it was used. */
export const isLostConnection = (error: unknown): boolean =>
  error instanceof StatementError
    ? error.server.severity === 'FATAL' || error.server.severity === 'PANIC'
    : !(error instanceof ConnectionError || error instanceof Refusal)

/**
 * Whether a turn that failed may be run again: its first part failed, which undid it, before anything in it had an
 * effect outside the transaction, and what the server ran behind it could only end the transaction.
 */
export const isRepeatable = ([first, ...rest]: readonly PipelinePart[], { position }: StatementError): boolean =>
  position.part === 0 &&
  (first ?? []).slice(0, position.statement).every(({ hasNoEffect }) => hasNoEffect === true) &&
  rest.flat().every(({ hasNoEffect, isUnprepared }) => hasNoEffect === true && isUnprepared === true)

const roundTrip = (
  client: PipelineClient,
  parts: readonly PipelinePart[],
  cache: StatementCache | undefined,
  observer: PipelineObserver = {},
) =>
  new Promise<Row[][]>((resolve, reject) => {
    const query = new PipelineQuery(cache, () => undefined)
    query.add({
      parts,
      ...observer,
      settle: (error, results) => {
        if (error) reject(error)
        else resolve(results)
      },
    })
    client.query(query)
  })

/** A command outside the request's own statements, which works whatever has become of the prepared ones. */
export const command = (text: string, more: Pick<PipelineStatement, 'hasNoEffect'> = {}): PipelineStatement => ({
  text,
  values: [],
  isUnprepared: true,
  ...more,
})

/** Forgets all prepared statements of a connection, on the server and then here. */
export async function forgetStatements(client: PipelineClient): Promise<void> {
  await roundTrip(client, [[command('DEALLOCATE ALL')]], undefined)
  client.statements.clear()
}

/** Ends the transaction that an error has left open, and forgets all prepared statements. */
async function startOver(client: PipelineClient): Promise<void> {
  if (client.getTransactionStatus() !== 'I') await roundTrip(client, [[command('ROLLBACK')]], undefined)
  await forgetStatements(client)
}

/**
 * Runs the parts on a client that is not used by anyone else, in one round trip. When a prepared statement turns out to
 * be stale, the transaction is rolled back, and run once more if that can have no effect twice.
 *
 * @param parts each one an implicit transaction, unless a part begins with BEGIN
 * @param prepare whether statements are prepared and kept on the connection
 * @param observer takes large rows before the transaction has ended (without it they are waited for), and notes the run
 * @returns the rows of every statement, in order
 * @throws StatementError for the first error of the server; other errors mean that the connection is lost
 */
export async function runPipeline(
  client: PipelineClient,
  parts: readonly PipelinePart[],
  prepare: boolean,
  observer?: PipelineObserver,
): Promise<Row[][]> {
  const cache = prepare ? client.statements : undefined
  const isOutermost = client.getTransactionStatus() === 'I'
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await roundTrip(client, parts, cache, observer)
    } catch (error) {
      if (!cache || !isOutermost || !isStaleStatement(error)) throw error
      const isClean = await startOver(client).then(
        () => true,
        () => false,
      )
      if (!isClean || !isFirst || !isRepeatable(parts, error)) throw error
    }
  }
}
