// Runs several statements in one round trip: everything is sent in one write. The statements before a Sync are one
// implicit transaction, which any error rolls back.
import { TracelessError } from '../../common/traceless-error.ts'
import type { PipelineStatement } from '../../rest/database.ts'
import type { RawRow } from '../../rest/row-transfer.ts'
import { ConnectionError } from '../connection-error.ts'
import { PipelineQuery } from './pipeline-query.ts'
import type { QueuedTransaction } from './queued-transaction.ts'
import type { PipelinePart } from './pipeline-part.ts'
import type { PipelineClient } from './pipeline-client.ts'
import { RowsRefused } from './rows-run.ts'
import { StatementError } from './statement-error.ts'
import type { StatementCache } from './statement-cache.ts'
import { StatementTimer } from './statement-timer.ts'

/** Callbacks besides the result: see `QueuedTransaction`. */
export type PipelineObserver = Pick<
  QueuedTransaction,
  'onLargeRow' | 'largeBodies' | 'stats' | 'hasReceiver' | 'usesRows' | 'maxBytes' | 'onExcess' | 'cleanup'
> & {
  /** Receives the rows of the statements that preceded the one that failed. */
  readonly onFailure?: (results: RawRow[][]) => void
}

export { StatementError }
export type { PipelinePart } from './pipeline-part.ts'
export type { OnLargeRow } from './queued-transaction.ts'

/**
 * PostgreSQL's function that finds that a statement has to be planned again. Unlike messages, it is never translated.
 */
const revalidation = 'RevalidateCachedQuery'
/** PostgreSQL's function that raises the errors of PL/pgSQL code, which may run while a statement is bound. */
const userCode = 'exec_stmt_raise'

/**
 * Whether a prepared statement is missing, exists already, or is stale. Errors with these codes during the execution of
 * a statement come from user code.
 */
export function isStaleStatement(error: unknown): error is StatementError {
  if (!(error instanceof StatementError) || error.position.isBound) return false
  const { code, message, routine } = error.server
  if (routine === userCode) return false
  if (code === '0A000') return routine === revalidation || message === 'cached plan must not change result type'
  return code === '26000' || code === '42P05'
}

/** Rolls back a transaction whose statements all succeeded. The connection stays usable. */
export class Refusal extends TracelessError {
  /** The error that the caller receives. */
  readonly error: Error

  constructor(error: Error) {
    super('the result of the transaction was refused', error)
    this.error = error
  }
}

/** Whether the server closed the connection, or it broke during use. */
export const isLostConnection = (error: unknown): boolean =>
  error instanceof StatementError
    ? error.server.severity === 'FATAL' || error.server.severity === 'PANIC'
    : !(error instanceof ConnectionError || error instanceof Refusal || error instanceof RowsRefused)

/**
 * Whether a transaction that failed may run again: its first part failed before anything in it had an effect outside
 * the transaction, and what follows could only end the transaction.
 */
export const isRepeatable = ([first, ...rest]: readonly PipelinePart[], { position }: StatementError): boolean =>
  position.part === 0 &&
  (first ?? []).slice(0, position.statement).every(({ hasNoEffect }) => hasNoEffect === true) &&
  rest.flat().every(({ hasNoEffect, isUnprepared }) => hasNoEffect === true && isUnprepared === true)

const roundTrip = (
  client: PipelineClient,
  parts: readonly PipelinePart[],
  cache: StatementCache | undefined,
  { onFailure, ...observer }: PipelineObserver = {},
) =>
  new Promise<RawRow[][]>((resolve, reject) => {
    const query = new PipelineQuery(cache, () => undefined)
    query.add({
      parts,
      timer: client.observer && new StatementTimer(client.observer, parts),
      ...observer,
      settle: (error, results) => {
        if (error) {
          onFailure?.(results)
          reject(error)
        } else resolve(results)
      },
    })
    client.query(query)
  })

/** A command that is not one of the request's own statements. It is never prepared, so it cannot be stale. */
export const command = (text: string, more: Pick<PipelineStatement, 'hasNoEffect'> = {}): PipelineStatement => ({
  text,
  values: [],
  isUnprepared: true,
  ...more,
})

/** Deallocates all prepared statements of a connection. */
export async function forgetStatements(client: PipelineClient): Promise<void> {
  await roundTrip(client, [[command('DEALLOCATE ALL')]], undefined)
  client.statements.clear()
}

/** Ends the transaction that an error has left open, and deallocates all prepared statements. */
async function startOver(client: PipelineClient): Promise<void> {
  if (client.getTransactionStatus() !== 'I') await roundTrip(client, [[command('ROLLBACK')]], undefined)
  await forgetStatements(client)
}

/**
 * Runs the parts in one round trip on a client that has no other user. When a prepared statement turns out to be stale,
 * the transaction is rolled back, and runs once more if it cannot have an effect twice, without prepared statements: a
 * pooler may run it in another session where they are stale as well.
 *
 * @param parts each one an implicit transaction, unless a part begins with BEGIN
 * @param prepare whether statements are prepared and kept on the connection
 * @param observer receives large rows before the transaction has ended (without it they are buffered), and records the
 *   run
 * @returns the rows of every statement, in order
 * @throws StatementError for the first error of the server; other errors mean that the connection is lost
 */
export async function runPipeline(
  client: PipelineClient,
  parts: readonly PipelinePart[],
  prepare: boolean,
  observer?: PipelineObserver,
): Promise<RawRow[][]> {
  let cache = prepare ? client.statements : undefined
  const isOutermost = client.getTransactionStatus() === 'I'
  for (;;) {
    try {
      return await roundTrip(client, parts, cache, observer)
    } catch (error) {
      if (error instanceof StatementError) error.noteFailed(parts)
      if (!cache || !isOutermost || !isStaleStatement(error)) throw error
      const isClean = await startOver(client).then(
        () => true,
        () => false,
      )
      if (!isClean || !isRepeatable(parts, error)) throw error
      cache = undefined
    }
  }
}
