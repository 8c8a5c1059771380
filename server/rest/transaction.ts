// The transaction of one request. In the ordinary case it is one round trip: settings, pre-request function and
// statement stand before one Sync, which makes them one implicit transaction.
import type pg from 'pg'
import type { ArrivingField } from '../postgres/protocol/arriving-field.ts'
import { shareConnection, type SharedRun, type Sharing } from '../postgres/sharing/lanes.ts'
import {
  command,
  isLostConnection,
  runPipeline,
  type OnArriving,
  type PipelineObserver,
  type PipelineStatement,
  type Row,
} from '../postgres/protocol/pipeline.ts'
import type { Caller } from '../postgres/caller.ts'
import { withConnection, type ConnectionPool } from '../postgres/pool.ts'
import type { RunHistory } from '../postgres/sharing/run-history.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'
import type { ApiError } from './errors.ts'
import type { SettingsStatement } from './sql/settings.ts'

export type RestTransaction = {
  /** They also make the transaction read-only where it is. */
  /** Stands first: only the role that connects may ask whether the session of a token is alive. */
  readonly session: PipelineStatement | undefined
  readonly settings: SettingsStatement
  readonly preRequest: PipelineStatement | undefined
  readonly statements: readonly PipelineStatement[]
  /** Null: read committed. */
  readonly isolation: IsolationLevel | null
  readonly readOnly: boolean
  /** Whether it is proved that nothing in it has an effect outside the transaction, so that it may run twice. */
  readonly hasNoEffect: boolean
  /** Undo everything at the end (`Prefer: tx=rollback`). */
  readonly rollback: boolean
  /** Decides from the statements' rows whether a write may stand; its error undoes it. Costs a second round trip. */
  readonly judge: ((results: readonly (readonly Row[])[]) => ApiError | undefined) | undefined
  /** How the statement went before, if that is known, and if it may share a connection. */
  readonly history: RunHistory | undefined
  /** Whose departure ends it, unless it shares a connection. */
  readonly caller: Caller
}

/** How transactions use the pool's connections. */
export type TransactionOptions = {
  /** Whether statements are prepared. */
  readonly prepare: boolean
  readonly sharing: Sharing
}

// They end what came before: alone they do nothing.
const commit = command('COMMIT', { hasNoEffect: true })
const rollback = command('ROLLBACK', { hasNoEffect: true })
// As a commit would, so that a rolled-back request fails where the real one would.
const checkConstraints = command('SET CONSTRAINTS ALL IMMEDIATE')

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
 * statement is handed over while it arrives; the connection is lent until all of it has been taken. What has no effect
 * outside the transaction is run once more when its connection is lost.
 *
 * @throws StatementError of the server; ApiError of `judge`, or when there is no connection (see `withConnection`)
 */
export function runTransaction(
  pool: ConnectionPool,
  transaction: RestTransaction,
  { prepare, sharing }: TransactionOptions,
): Promise<TransactionResult> {
  const { settings, statements, readOnly, hasNoEffect, history, caller } = transaction
  const before = beforeStatements(transaction)
  const kind = readOnly ? 'read' : 'write'
  return new Promise((resolve, reject) => {
    let hasArrived = false
    // Nothing that comes after a row can undo what a read-only transaction has read.
    const onArriving: OnArriving = (fields, arriving) => {
      hasArrived = true
      pool.streams.add(arriving)
      resolve({ rows: [[fields]], arriving })
    }
    const observer = { onArriving: readOnly && statements.length === 1 ? onArriving : undefined, history }
    let mayRepeat = hasNoEffect
    // What was waited for on a shared connection counts.
    let since = performance.now()
    const alone = (): void => {
      const use = (client: pg.ClientBase): Promise<Row[][]> => runOn(client, transaction, prepare, observer)
      withConnection(pool, use, isLostConnection, { access: kind, caller, since }).then(
        (rows) => resolve({ rows }),
        (error: Error) => {
          if (!mayRepeat || hasArrived || !isLostConnection(error)) {
            reject(error)
            return
          }
          mayRepeat = false
          since = performance.now()
          // Other connections that were lost at the same time are found out first.
          setImmediate(alone)
        },
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
    const run: SharedRun = {
      kind,
      part: [...before, ...statements],
      guarded: hasNoEffect
        ? undefined
        : (gate, turn) => [
            ...before.map((each) => (each === settings ? settings.guarded(gate, turn) : each)),
            ...statements,
          ],
      history,
      onArriving,
      settle,
      alone,
    }
    if (!shareConnection(pool, run, prepare, sharing)) alone()
  })
}

// A function of an earlier request may have set the role for the whole session of the connection.
const loginRole = command('RESET ROLE', { hasNoEffect: true })

const beforeStatements = ({ session, settings, preRequest }: RestTransaction): readonly PipelineStatement[] => [
  ...(session ? [loginRole, session] : []),
  settings,
  ...(preRequest ? [preRequest] : []),
]

async function runOn(
  client: pg.ClientBase,
  transaction: RestTransaction,
  prepare: boolean,
  observer: PipelineObserver,
): Promise<Row[][]> {
  const { statements, isolation, rollback: undo, judge } = transaction
  const before = beforeStatements(transaction)
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
    if (!isLostConnection(error) && client.getTransactionStatus() !== 'I')
      await runPipeline(client, [[rollback]], prepare)
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
