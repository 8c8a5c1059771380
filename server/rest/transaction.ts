// The transaction of one request. In the ordinary case it is one round trip: settings, pre-request function and
// statement stand before one Sync, which makes them one implicit transaction.
import type pg from 'pg'
import type { ArrivingField } from '../database/arriving-field.ts'
import { shareConnection, type SharedRun } from '../database/lanes.ts'
import {
  command,
  runPipeline,
  StatementError,
  type OnArriving,
  type PipelineObserver,
  type PipelineStatement,
  type Row,
} from '../database/pipeline.ts'
import { withConnection } from '../database/pool.ts'
import type { RunHistory } from '../database/run-history.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'
import { ApiError } from './errors.ts'

export type RestTransaction = {
  /** Settings first (they also make the transaction read-only where it is), then the pre-request function if any. */
  readonly before: readonly PipelineStatement[]
  readonly statements: readonly PipelineStatement[]
  /** Null: read committed. */
  readonly isolation: IsolationLevel | null
  readonly readOnly: boolean
  /** Undo everything at the end (`Prefer: tx=rollback`). */
  readonly rollback: boolean
  /** Decides from the statements' rows whether a write may stand; its error undoes it. Costs a second round trip. */
  readonly judge: ((results: readonly (readonly Row[])[]) => ApiError | undefined) | undefined
  /** How the statement went before, if that is known, and if it does no harm to run it again. */
  readonly history: RunHistory | undefined
}

// They end what came before: alone they do nothing.
const commit = command('COMMIT', { hasNoEffect: true })
const rollback = command('ROLLBACK', { hasNoEffect: true })
// As a commit would, so that a rolled-back request fails where the real one would.
const checkConstraints = command('SET CONSTRAINTS ALL IMMEDIATE')

/** After an error of the server the connection goes on, unless the server ended it. */
const broken = (error: unknown): boolean =>
  error instanceof StatementError
    ? error.server.severity === 'FATAL' || error.server.severity === 'PANIC'
    : !(error instanceof ApiError)

export type TransactionResult = {
  /** The rows of each statement. */
  readonly rows: readonly (readonly Row[])[]
  /** The last field of the only row, while it still arrives; the row then has only the fields before it. */
  readonly arriving?: ArrivingField
}

/** Whether nothing but the statements themselves is needed, so that they are one implicit transaction. */
const isPlain = ({ isolation, rollback, judge }: RestTransaction): boolean =>
  isolation === null && !rollback && judge === undefined

/**
 * Runs a transaction on a connection of the pool; brief ones share theirs. The large result of a single reading
 * statement is handed over while it arrives; the connection is lent until all of it has been taken.
 *
 * @throws StatementError of the server; ApiError of `judge`, or when there is no connection (see `withConnection`)
 */
export function runTransaction(
  pool: pg.Pool,
  transaction: RestTransaction,
  prepare: boolean,
): Promise<TransactionResult> {
  const { before, statements, readOnly, history } = transaction
  return new Promise((resolve, reject) => {
    // Nothing that comes after a row can undo what a read-only transaction has read.
    const onArriving: OnArriving = (fields, arriving) => resolve({ rows: [[fields]], arriving })
    const observer = { onArriving: readOnly && statements.length === 1 ? onArriving : undefined, history }
    const alone = (): void => {
      withConnection(pool, (client) => runOn(client, transaction, prepare, observer), broken).then(
        (rows) => resolve({ rows }),
        reject,
      )
    }
    if (!history || statements.length !== 1 || !isPlain(transaction)) {
      alone()
      return
    }
    const settle = (error: Error | undefined, results: Row[][]): void => {
      if (error) reject(error)
      else resolve({ rows: results.slice(before.length) })
    }
    const kind = readOnly ? 'read' : 'write'
    const run: SharedRun = { kind, part: [...before, ...statements], history, onArriving, settle, alone }
    if (!shareConnection(pool, run, prepare)) alone()
  })
}

async function runOn(
  client: pg.ClientBase,
  transaction: RestTransaction,
  prepare: boolean,
  observer: PipelineObserver,
): Promise<Row[][]> {
  const { before, statements, isolation, rollback: undo, judge } = transaction
  if (isPlain(transaction)) {
    const results = await runPipeline(client, [[...before, ...statements]], prepare, observer)
    return results.slice(before.length)
  }
  const begin = command(
    `BEGIN ISOLATION LEVEL ${isolation ?? 'read committed'} READ ${transaction.readOnly ? 'ONLY' : 'WRITE'}`,
    { hasNoEffect: true },
  )
  const open = [begin, ...before, ...statements]
  const pick = (results: Row[][]): Row[][] => results.slice(1 + before.length, open.length)
  if (!judge) {
    const parts = undo ? [[...open, checkConstraints], [rollback]] : [open, [commit]]
    return pick(await runPipeline(client, parts, prepare))
  }
  let results: Row[][]
  try {
    results = pick(await runPipeline(client, [open], prepare))
  } catch (error) {
    if (!broken(error)) await runPipeline(client, [[rollback]], prepare)
    throw error
  }
  const fault = judge(results)
  if (fault) {
    await runPipeline(client, [[rollback]], prepare)
    throw fault
  }
  await runPipeline(client, undo ? [[checkConstraints], [rollback]] : [[commit]], prepare)
  return results
}
