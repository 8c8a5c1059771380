// The transaction of one request. In the ordinary case it is one round trip: settings, pre-request function and
// statement stand before one Sync, which makes them one implicit transaction.
import type pg from 'pg'
import type {
  Database,
  PipelineStatement,
  RestTransaction,
  Row,
  TransactionOptions,
  TransactionResult,
} from '../rest/database.ts'
import { withConnection, type ConnectionPool } from './pool.ts'
import {
  command,
  isLostConnection,
  Refusal,
  runPipeline,
  type OnArriving,
  type PipelineObserver,
} from './protocol/pipeline.ts'
import { shareConnection, type SharedRun } from './sharing/lanes.ts'
import { mayBegin } from './sharing/turn-guard.ts'

// They end what came before: alone they do nothing.
const commit = command('COMMIT', { hasNoEffect: true })
const rollback = command('ROLLBACK', { hasNoEffect: true })
// As a commit would, so that a rolled-back request fails where the real one would.
const checkConstraints = command('SET CONSTRAINTS ALL IMMEDIATE')

/** Whether nothing but the statements themselves is needed, so that they are one implicit transaction. */
const isPlain = ({ isolation, rollback, judge }: RestTransaction): boolean =>
  isolation === null && !rollback && judge === undefined

/** Transactions on a pool. */
export const databaseOn = (pool: ConnectionPool): Database => ({
  run: (transaction, options) => runTransaction(pool, transaction, options),
})

/**
 * Runs a transaction on a connection of the pool; brief ones share theirs. The large result of a single reading
 * statement is handed over while it arrives; the connection is lent until all of it has been taken. What has no effect
 * outside the transaction is run once more when its connection is lost.
 *
 * @throws StatementError of the server; ConnectionError when there is no connection (see `withConnection`); the error of
 *   `judge`
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
          if (error instanceof Refusal) {
            reject(error.error)
            return
          }
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
            ...before.map((each) => (each === settings ? settings.guarded(mayBegin, gate, turn) : each)),
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
    throw new Refusal(fault)
  }
  await runPipeline(client, undo ? [[checkConstraints], [rollback]] : [[commit]], prepare)
  return results
}
