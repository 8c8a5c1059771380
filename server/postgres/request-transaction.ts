// The transaction of one request. It usually takes one round trip: settings, pre-request function and statement precede
// one Sync, which makes them one implicit transaction.
import type { StatementStats } from '../common/statement-stats.ts'
import type {
  PipelineStatement,
  RestTransaction,
  StatementObserver,
  TransactionOptions,
  TransactionResult,
} from '../rest/database.ts'
import type { RawRow, RowReceiver } from '../rest/row-transfer.ts'
import { withConnection, withReservedConnection } from './lending.ts'
import type { ConnectionPool } from './pool.ts'
import { cancelBeforeClose } from './connection/cancellation.ts'
import { mostInMemory, RowsRefused, runsRows } from './protocol/rows-run.ts'
import type { LargeBodies } from './protocol/queued-transaction.ts'
import type { SpillSpace } from './protocol/spill-space.ts'
import type { StreamedField } from './protocol/streamed-field.ts'
import type { PipelinePart } from './protocol/pipeline-part.ts'
import type { PipelineClient } from './protocol/pipeline-client.ts'
import { isLostConnection, Refusal, StatementError, type PipelineObserver } from './protocol/pipeline.ts'
import type { SharedRun } from './sharing/shared-connections.ts'
import { mayBegin } from './sharing/gate.ts'
import { loginRole } from './transaction-commands.ts'
import { withTraceNote } from './trace-note.ts'
import { isPlain, keepsSession, runStages } from './transaction-stages.ts'

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
class TransactionRun implements SharedRun, LargeBodies {
  readonly kind: SharedRun['kind']
  readonly part: PipelinePart
  readonly mayRepeat: boolean
  readonly keepsSession: boolean
  readonly observer: StatementObserver | undefined
  readonly #pool: ConnectionPool
  readonly #transaction: RestTransaction
  readonly #options: TransactionOptions
  readonly #streams: boolean
  /** Receives rows while they arrive. */
  readonly #receiver: RowReceiver | undefined
  readonly #source: RunOptions['source']
  readonly #settingsError: RunOptions['settingsError']
  readonly #resolve: (result: TransactionResult) => void
  readonly #reject: (error: Error) => void
  /** When it began to wait for a connection, shared or not, as `performance.now()`. */
  #since = performance.now()
  readonly usesRows: boolean
  /** A large body that was encoded from the rows. */
  #body: StreamedField | undefined
  #hasArrived = false
  /** Whether the statement was cancelled, so that its connection has to be closed. */
  #isCancelled = false
  #hasLostConnection = false
  #resetsRole = false

  constructor(
    pool: ConnectionPool,
    given: RestTransaction,
    options: TransactionOptions,
    { source, streams, settingsError }: RunOptions,
    resolve: (result: TransactionResult) => void,
    reject: (error: Error) => void,
  ) {
    this.#pool = pool
    // The context of the call is that of the request only now: later, this may run on behalf of another one.
    this.observer = given.caller.observer ?? pool.observe()
    const transaction = withTraceNote(given, this.observer?.note)
    this.#transaction = transaction
    this.#options = options
    this.#source = source
    this.#settingsError = settingsError
    this.#streams = streams
    this.#resolve = resolve
    this.#reject = reject
    this.kind = transaction.readOnly ? 'read' : 'write'
    this.mayRepeat = transaction.hasNoEffect
    this.keepsSession = keepsSession(transaction)
    this.#receiver = transaction.receiver
    // Statements that are timed one by one, have a comment of their own, or are not prepared, run as they are.
    const isAsGiven =
      this.observer?.timesStatements === true || this.observer?.note?.place === 'comment' || !options.prepare
    this.usesRows = transaction.hasNoEffect && !isAsGiven && this.#hasRoom()
    this.part = [...this.#beforeStatements, ...this.#statements]
  }

  start(): void {
    const { stats, statements } = this.#transaction
    const { prepare, sharing } = this.#options
    const isSingle = statements.every(({ isOfRows }, index) => index === 0 || isOfRows === true)
    const mayShare = stats !== undefined && isSingle && isPlain(this.#transaction)
    if (!mayShare || !this.#pool.shared.share(this, prepare, sharing)) this.runOnOwnConnection()
  }

  /** What runs: without what is only for rows, if they do not. */
  get #statements(): readonly PipelineStatement[] {
    const { statements } = this.#transaction
    const rows = statements[0]?.rows
    const hasRows = rows !== undefined && runsRows(rows, this.usesRows)
    return hasRows ? statements : statements.filter(({ isOfRows }) => isOfRows !== true)
  }

  /** A large row that is not the last one cannot be streamed. */
  get waitsForLargeRows(): boolean {
    return !this.#streams || this.part.at(-1)?.isOfRows === true
  }

  get waitsForPool(): boolean {
    return this.#source === 'pool'
  }

  get isCallerGone(): boolean {
    return this.#transaction.caller.isGone
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

  get largeBodies(): LargeBodies | undefined {
    // What records a response needs the whole of it.
    return !this.#streams || this.#transaction.claim ? undefined : this
  }

  get space(): SpillSpace {
    return this.#pool.streams.space
  }

  takeBody(body: StreamedField): void {
    this.#body = body
  }

  /** Whether rows like the last ones can be kept, as far as that is known. */
  #hasRoom(): boolean {
    const { largest = Infinity } = this.stats ?? {}
    return largest === Infinity || largest <= mostInMemory || this.largeBodies?.space.hasRoomFor(largest) === true
  }

  settle(error: Error | undefined, results: RawRow[][]): void {
    if (!error) this.#succeed(results.slice(1 + this.#transaction.before.length))
    else this.#retryOrFail(error, () => this.runOnOwnConnection())
  }

  runOnOwnConnection(): void {
    // A shared connection was lost after the response had begun, or after the body of an attempt that counts for nothing.
    if (this.#hasArrived) return
    this.#dropBody()
    this.#lend().then(
      (rows) => this.#succeed(rows),
      // Lets the pool notice other connections that were lost at the same time.
      (error: Error) => this.#retryOrFail(error, () => setImmediate(() => this.runOnOwnConnection())),
    )
  }

  #lend(): Promise<RawRow[][]> {
    const use = (client: PipelineClient): Promise<RawRow[][]> => this.#runOn(client)
    const { observer } = this
    const isBroken = (error: unknown): boolean => this.#isCancelled || isLostConnection(error)
    this.#isCancelled = false
    if (this.#source === 'reserve') return withReservedConnection(this.#pool, use, isBroken, observer)
    const { caller } = this.#transaction
    return withConnection(this.#pool, use, isBroken, {
      access: this.kind,
      caller,
      since: this.#since,
      observer,
    })
  }

  /**
   * Whether to run it once more: its connection was lost, or has a role that may not check sessions, or its rows could not be
   * encoded, which are not tried again then.
   */
  #mayRetry(error: Error): boolean {
    if (this.#hasArrived || this.#receiver?.hasBegun === true) return false
    // A receiver that cannot go on has the same rows again.
    if (error instanceof RowsRefused) return this.usesRows && !this.#receiver
    if (this.#mayBeOfRows(error)) return true
    if (!this.#resetsRole && this.#hasForeignRole(error)) {
      this.#resetsRole = true
      return true
    }
    if (!this.mayRepeat || this.#hasLostConnection || !isLostConnection(error)) return false
    this.#hasLostConnection = true
    this.#since = performance.now()
    return true
  }

  /** Whether the error may be of a row or column that the statement in place of the rows does not return. */
  #mayBeOfRows(error: Error): boolean {
    const rows = this.usesRows ? this.#transaction.statements[0]?.rows : undefined
    if (!(error instanceof StatementError) || !rows || rows.isGivenUp) return false
    if (error.server.code !== tooManyColumns && !rows.plan.mayFailAlone) return false
    rows.isGivenUp = true
    return !rows.plan.isRefused
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

  get #beforeStatements(): PipelinePart {
    const { settings, before } = this.#transaction
    return [settings, ...before]
  }

  get #beforeSettings(): PipelinePart {
    const { claim } = this.#transaction
    if (claim) return [loginRole, claim.statement]
    return this.#resetsRole ? [loginRole] : []
  }

  #succeed(rows: RawRow[][]): void {
    const body = this.#body
    if (body) this.#pool.streams.add(body)
    this.#resolve(body ? { rows, arriving: body } : { rows })
  }

  #retryOrFail(error: Error, retry: () => void): void {
    this.#dropBody()
    if (this.#mayRetry(error)) retry()
    else this.#fail(error instanceof Refusal ? error.error : error)
  }

  #dropBody(): void {
    this.#body?.drop()
    this.#body = undefined
  }

  #fail(error: Error): void {
    if (error instanceof StatementError) error.numberIn(this.#transaction)
    this.#reject(this.#settingsError && this.#isOfSettings(error) ? this.#settingsError(error) : error)
  }

  #runOn(client: PipelineClient): Promise<RawRow[][]> {
    if (!this.#receiver) return this.#runStatements(client)
    const remove = this.#pool.streams.addReceiver(this.#receiver)
    return this.#runStatements(client).finally(remove)
  }

  #runStatements(client: PipelineClient): Promise<RawRow[][]> {
    const { stats, readOnly } = this.#transaction
    const statements = this.#statements
    const observer: PipelineObserver = {
      onLargeRow:
        readOnly && statements.length === 1 && this.#streams
          ? (fields, last) => this.onLargeRow(fields, last)
          : undefined,
      largeBodies: this.largeBodies,
      stats,
      hasReceiver: this.#receiver !== undefined,
      usesRows: this.usesRows,
      onExcess: () => {
        this.#isCancelled = true
        cancelBeforeClose(client)
      },
    }
    const before = [...this.#beforeSettings, ...this.#beforeStatements]
    return runStages(client, { ...this.#transaction, statements }, before, { prepare: this.#options.prepare, observer })
  }
}

/** insufficient_privilege */
const noPrivilege = '42501'
/** too_many_columns: a select list has at most 1,664, some of which may be those that precede the rows. */
const tooManyColumns = '54011'
