// The transaction of one request. It usually takes one round trip: settings, pre-request function and statement precede
// one Sync, which makes them one implicit transaction.
import type { StatementStats } from '../common/statement-stats.ts'
import type {
  Claim,
  PipelineStatement,
  Precheck,
  RestTransaction,
  RawRow,
  TransactionOptions,
  TransactionResult,
} from '../rest/database.ts'
import { claimRefused, recordedMeanwhile } from './claim-refused.ts'
import { withConnection, withReservedConnection } from './lending.ts'
import type { ConnectionPool } from './pool.ts'
import type { StreamedField } from './protocol/streamed-field.ts'
import type { PipelinePart } from './protocol/pipeline-query.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'
import {
  command,
  isLostConnection,
  Refusal,
  runPipeline,
  StatementError,
  type PipelineObserver,
} from './protocol/pipeline.ts'
import type { SharedRun } from './sharing/shared-connections.ts'
import { mayBegin } from './sharing/gate.ts'

// These only end the transaction, so they have no effect of their own.
const commit = command('COMMIT', { hasNoEffect: true })
const rollback = command('ROLLBACK', { hasNoEffect: true })
// Checks deferred constraints as a commit would, so that a rolled-back request fails like a committed one.
const checkConstraints = command('SET CONSTRAINTS ALL IMMEDIATE')

/** Whether the statements can run as one implicit transaction. */
const isPlain = ({ isolation, rollback, checkResult, claim, precheck }: RestTransaction): boolean =>
  isolation === null && !rollback && checkResult === undefined && claim === undefined && precheck === undefined

export type RunOptions = {
  /** Where unshared connections come from: the pool, or the reserve when the pool has no free one. */
  readonly source: 'pool' | 'reserve'
  /** Whether the large result of a single reading statement, which then has one row, is streamed. */
  readonly streams: boolean
  /** What the promise rejects with when the settings failed, so that no other statement was executed. */
  readonly settingsError?: (error: StatementError) => Error
}

const ofRequest: RunOptions = { source: 'pool', streams: true }

/**
 * Runs a transaction on a connection of the pool; brief transactions share connections. The large result of a single
 * reading statement is streamed, and occupies its connection until it has arrived. A transaction without outside
 * effects runs once more when its connection is lost.
 *
 * @throws StatementError of the server; ConnectionError when there is no connection (see `withConnection`); the error
 *   of `checkResult`
 */
export const runTransaction = (
  pool: ConnectionPool,
  transaction: RestTransaction,
  options: TransactionOptions,
  how: RunOptions = ofRequest,
): Promise<TransactionResult> =>
  new Promise((resolve, reject) => new TransactionRun(pool, transaction, options, how, resolve, reject).start())

/** A running transaction. An object with methods, because closures cost two microseconds per request. */
class TransactionRun implements SharedRun {
  readonly kind: SharedRun['kind']
  readonly part: PipelinePart
  readonly mayRepeat: boolean
  readonly #pool: ConnectionPool
  readonly #transaction: RestTransaction
  readonly #options: TransactionOptions
  readonly waitsForLargeRows: boolean
  readonly #source: RunOptions['source']
  readonly #settingsError: RunOptions['settingsError']
  readonly #resolve: (result: TransactionResult) => void
  readonly #reject: (error: Error) => void
  /** When it began to wait for a connection, shared or not, as `performance.now()`. */
  #since = performance.now()
  #hasArrived = false
  #hasLostConnection = false
  #resetsRole = false

  constructor(
    pool: ConnectionPool,
    transaction: RestTransaction,
    options: TransactionOptions,
    { source, streams, settingsError }: RunOptions,
    resolve: (result: TransactionResult) => void,
    reject: (error: Error) => void,
  ) {
    this.#pool = pool
    this.#transaction = transaction
    this.#options = options
    this.#source = source
    this.#settingsError = settingsError
    this.waitsForLargeRows = !streams
    this.#resolve = resolve
    this.#reject = reject
    this.kind = transaction.readOnly ? 'read' : 'write'
    this.part = statementsOf(transaction)
    this.mayRepeat = transaction.hasNoEffect
  }

  start(): void {
    const { stats, statements } = this.#transaction
    const { prepare, sharing } = this.#options
    const mayShare = stats !== undefined && statements.length === 1 && isPlain(this.#transaction)
    if (!mayShare || !this.#pool.shared.share(this, prepare, sharing)) this.runOnOwnConnection()
  }

  get stats(): StatementStats | undefined {
    return this.#transaction.stats
  }

  guardedPart(gate: string, number: string): PipelinePart {
    const { settings } = this.#transaction
    const guarded: PipelineStatement = {
      text: settings.texts.guarded(mayBegin),
      values: [gate, number, ...settings.values],
      hasNoEffect: true,
      isGuard: true,
    }
    return this.part.map((statement) => (statement === settings ? guarded : statement))
  }

  /** Resolves before the transaction has ended: a read-only transaction has nothing to roll back. */
  onLargeRow(fields: RawRow, last: StreamedField): void {
    this.#hasArrived = true
    this.#pool.streams.add(last)
    this.#resolve({ rows: [[fields]], arriving: last })
  }

  settle(error: Error | undefined, results: RawRow[][]): void {
    if (!error) this.#resolve({ rows: results.slice(this.part.length - this.#transaction.statements.length) })
    else if (this.#mayRetry(error)) this.runOnOwnConnection()
    else this.#fail(error)
  }

  runOnOwnConnection(): void {
    this.#lend().then(
      (rows) => this.#resolve({ rows }),
      (error: Error) => {
        // Lets the pool notice other connections that were lost at the same time.
        if (this.#mayRetry(error)) setImmediate(() => this.runOnOwnConnection())
        else this.#fail(error instanceof Refusal ? error.error : error)
      },
    )
  }

  #lend(): Promise<RawRow[][]> {
    const use = (client: PipelineClient): Promise<RawRow[][]> => this.#runOn(client)
    if (this.#source === 'reserve') return withReservedConnection(this.#pool, use, isLostConnection)
    const { caller } = this.#transaction
    return withConnection(this.#pool, use, isLostConnection, { access: this.kind, caller, since: this.#since })
  }

  /** Whether to run it once more: its connection was lost, or has a role that may not check sessions. */
  #mayRetry(error: Error): boolean {
    if (this.#hasArrived) return false
    if (!this.#resetsRole && this.#hasForeignRole(error)) {
      this.#resetsRole = true
      return true
    }
    if (!this.mayRepeat || this.#hasLostConnection || !isLostConnection(error)) return false
    this.#hasLostConnection = true
    this.#since = performance.now()
    return true
  }

  /**
   * Whether the settings were refused before they were executed. That happens when a function of an earlier request has
   * set the role for the whole session of the connection to one that may not check sessions.
   */
  #hasForeignRole(error: Error): boolean {
    if (!this.#transaction.settings.checksSession || !this.#isOfSettings(error)) return false
    return error.server.code === noPrivilege && !error.position.isBound
  }

  /** Whether the statement that failed is the one of the settings. */
  #isOfSettings(error: Error): error is StatementError {
    if (!(error instanceof StatementError)) return false
    const { part, statement } = error.position
    return part === 0 && statement === (isPlain(this.#transaction) ? 0 : 1) + this.#beforeSettings.length
  }

  get #beforeSettings(): PipelinePart {
    const { claim } = this.#transaction
    if (claim) return [loginRole, claim.statement]
    return this.#resetsRole ? [loginRole] : []
  }

  #fail(error: Error): void {
    this.#reject(this.#settingsError && this.#isOfSettings(error) ? this.#settingsError(error) : error)
  }

  #runOn(client: PipelineClient): Promise<RawRow[][]> {
    const { stats, readOnly, statements } = this.#transaction
    const observer: PipelineObserver = {
      onLargeRow:
        readOnly && statements.length === 1 && !this.waitsForLargeRows
          ? (fields, last) => this.onLargeRow(fields, last)
          : undefined,
      stats,
    }
    const all = [...this.#beforeSettings, ...this.part]
    return runOn(client, this.#transaction, all, this.#options.prepare, observer)
  }
}

/** insufficient_privilege */
const noPrivilege = '42501'
const loginRole = command('RESET ROLE', { hasNoEffect: true })

const statementsOf = ({ settings, preRequest, statements }: RestTransaction): PipelinePart =>
  preRequest ? [settings, preRequest, ...statements] : [settings, ...statements]

/**
 * Runs a transaction on a connection, and returns the results of its `statements`, without those of the settings and
 * the pre-request function.
 *
 * @param all all statements in order, `statements` last
 */
async function runOn(
  client: PipelineClient,
  transaction: RestTransaction,
  all: PipelinePart,
  prepare: boolean,
  observer: PipelineObserver,
): Promise<RawRow[][]> {
  const { statements, isolation, rollback: undo, checkResult, claim, precheck } = transaction
  const first = all.length - statements.length
  if (isPlain(transaction)) {
    const results = await runPipeline(client, [all], prepare, observer)
    return results.slice(first)
  }
  const begin = command(
    `BEGIN ISOLATION LEVEL ${isolation ?? 'read committed'} READ ${transaction.readOnly ? 'ONLY' : 'WRITE'}`,
    { hasNoEffect: true },
  )
  const open = [begin, ...all]
  const pick = (results: RawRow[][]): RawRow[][] => results.slice(1 + first, open.length)
  if (!checkResult && !claim && !precheck) {
    const parts = undo ? [[...open, checkConstraints], [rollback]] : [open, [commit]]
    return pick(await runPipeline(client, parts, prepare))
  }
  const end = undo ? [[checkConstraints], [rollback]] : [[commit]]
  let results: RawRow[][]
  try {
    if (precheck) {
      await pass(precheck, open.slice(0, 1 + first), client, prepare)
      // Not prepared: a transaction that has begun cannot run again when a prepared statement turns out to be stale.
      if (checkResult || claim) results = await runPipeline(client, [statements], false)
      else return (await runPipeline(client, [statements, ...end], false, observer)).slice(0, statements.length)
    } else results = pick(await runPipeline(client, [open], prepare))
  } catch (error) {
    if (!isLostConnection(error) && client.getTransactionStatus() !== 'I')
      await runPipeline(client, [[rollback]], prepare)
    throw (claim && claimRefused(error, open.indexOf(claim.statement))) ?? error
  }
  const error = checkResult?.(results)
  if (error) {
    await runPipeline(client, [[rollback]], prepare)
    throw new Refusal(error)
  }
  if (claim && !undo) {
    const record = await recordOf(claim, results, () => runPipeline(client, [[rollback]], prepare))
    try {
      await runPipeline(client, [[loginRole, ...record], [commit]], prepare)
    } catch (error) {
      throw recordedMeanwhile(error) ?? error
    }
  } else await runPipeline(client, end, prepare)
  return results
}

/**
 * Begins a transaction up to its `precheck`.
 *
 * @throws Refusal with the error of the check; the transaction is still open
 */
async function pass(
  { statement, check }: Precheck,
  before: PipelinePart,
  client: PipelineClient,
  prepare: boolean,
): Promise<void> {
  const results = await runPipeline(client, [[...before, statement]], prepare)
  const error = check(results.at(-1) ?? [])
  if (error) throw new Refusal(error)
}

async function recordOf(
  { record }: Claim,
  results: readonly RawRow[][],
  rollBack: () => Promise<unknown>,
): Promise<PipelinePart> {
  try {
    return record(results)
  } catch (error) {
    await rollBack()
    throw error instanceof Error ? new Refusal(error) : error
  }
}
