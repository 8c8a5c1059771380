// A connection that brief statements share: each is sent without waiting for the responses to those before it.
import type { StreamedField } from '../protocol/streamed-field.ts'
import { PipelineQuery } from '../protocol/pipeline-query.ts'
import type { OnLargeRow, QueuedTransaction } from '../protocol/queued-transaction.ts'
import type { PipelinePart } from '../protocol/pipeline-part.ts'
import { forgetStatements, isLostConnection, isStaleStatement, StatementError } from '../protocol/pipeline.ts'
import type { LentClient } from '../protocol/pipeline-client.ts'
import { StatementTimer } from '../protocol/statement-timer.ts'
import { connectionErrors } from '../connection-error.ts'
import type { Access } from '../admission.ts'
import { withConnection, type LendingPool } from '../lending.ts'
import type { StatementStats } from '../../common/statement-stats.ts'
import { sharingPolicy } from './policy.ts'
import type { RawRow, StatementObserver } from '../../rest/database.ts'

/** One implicit transaction that may run on a shared connection. */
export type SharedRun = {
  /** Reads run in a read-only transaction. */
  readonly access: Access
  readonly part: PipelinePart
  /** Whether nothing in the part has an effect outside the transaction, so that it may run twice. */
  readonly mayRepeat: boolean
  /** Durations and result sizes of earlier runs. Without them, the statement does not share a connection. */
  readonly stats: StatementStats | undefined
  /** Observes the statements of this run. */
  readonly observer?: StatementObserver | undefined
  /** Whether large rows are buffered instead of streamed. */
  readonly waitsForLargeRows?: boolean
  /** Whether it waits when the pool has no free connection. Otherwise there is a reserve for it. */
  readonly waitsForPool: boolean
  /** Whether its caller has disconnected. Then it does not begin any more. */
  readonly isCallerGone: boolean
  /** Receives a large row of a read while its last field still arrives. */
  onLargeRow(fields: RawRow, last: StreamedField): void
  settle(error: Error | undefined, results: RawRow[][]): void
  /** Runs the transaction on a connection of its own instead. */
  runOnOwnConnection(): void
}

const { longWait, patience, maxTransactions, maxTransactionsWhenScarce, gathering } = sharingPolicy
const { largeResult } = sharingPolicy.trust

/** A run that was sent, or will be once there is a connection. */
class QueuedRun implements QueuedTransaction {
  readonly run: SharedRun
  readonly parts: readonly PipelinePart[]
  readonly stats: StatementStats | undefined
  readonly onLargeRow: OnLargeRow | undefined
  readonly timer: StatementTimer | undefined
  /** Expected duration in milliseconds. */
  readonly expected: number
  /** When it was added, as `performance.now()`, if it is observed. */
  readonly since: number
  hasBegun = false
  hasMoved = false
  readonly #connection: QueueListener

  constructor(run: SharedRun, connection: QueueListener) {
    this.run = run
    this.parts = [run.part]
    this.stats = run.stats
    this.timer = run.observer && new StatementTimer(run.observer, [run.part])
    this.expected = run.stats?.expected ?? 0
    this.since = run.observer ? performance.now() : 0
    this.onLargeRow =
      run.waitsForLargeRows === true ? undefined : (fields, last) => connection.hasLargeRow(this, fields, last)
    this.#connection = connection
  }

  onBegin(): void {
    this.hasBegun = true
    this.#connection.hasBegun()
  }

  settle(error: Error | undefined, results: RawRow[][]): void {
    this.#connection.hasEnded(this, error, results)
  }
}

/** Is called as transactions proceed. */
type QueueListener = {
  hasBegun(): void
  hasLargeRow(queued: QueuedRun, fields: RawRow, last: StreamedField): void
  hasEnded(queued: QueuedRun, error: Error | undefined, results: RawRow[][]): void
}

/** A pool whose connections can be shared: see `ConnectionPool`. */
export type SharingPool = LendingPool & {
  /** Requests that wait for a connection. */
  readonly waitingCount: number
  /** Whether the connection is replaced when it is returned. */
  isStale(client: LentClient): boolean
}

export class PipelinedConnection implements QueueListener {
  readonly #pool: SharingPool
  readonly #onClose: (connection: PipelinedConnection) => void
  readonly #queue: QueuedRun[] = []
  #query: PipelineQuery | undefined
  #client: LentClient | undefined
  #taken = 0
  #expectedWait = 0
  #isClosed = false
  #hasStaleStatements = false
  #timer: NodeJS.Timeout | undefined
  /** When the transaction in front began. */
  #since = 0
  /** Until when transactions are added that wait for a connection of the pool, as `performance.now()`. */
  readonly #gathersUntil: number | undefined

  /**
   * Takes a connection of the pool, or waits for one if none is free: see `isWaiting`.
   *
   * @param onClose is called when no further transaction is accepted
   */
  constructor(pool: SharingPool, onClose: (connection: PipelinedConnection) => void) {
    this.#pool = pool
    this.#onClose = onClose
    this.#gathersUntil = pool.canLend('read') ? undefined : performance.now() + gathering
    withConnection(
      pool,
      (client) => this.#open(client),
      () => true,
      { access: 'read', together: () => Math.max(this.#queue.length, 1) },
    ).catch((error: unknown) => {
      // `PipelineQuery` has settled the transactions of a lost connection.
      if (this.#client) return
      this.#close()
      // The queue must be empty, so that `#watch` starts no timer.
      for (const { run } of this.#queue.splice(0)) run.settle(error as Error, [])
    })
  }

  async #open(client: LentClient): Promise<void> {
    this.#client = client
    if (this.#gathersUntil !== undefined) this.#endWait()
    if (this.#queue.length === 0) return this.#close()
    await new Promise<void>((resolve, reject) => {
      const query = new PipelineQuery(client.statements, (error) => {
        this.#close()
        if (error) reject(error)
        else resolve()
      })
      for (const queued of this.#queue) query.add(queued)
      this.#query = query
      client.query(query)
    })
    if (this.#hasStaleStatements) await forgetStatements(client)
  }

  /** Ends transactions whose callers have disconnected while they waited for the connection, and reports the wait. */
  #endWait(): void {
    const now = performance.now()
    for (const queued of this.#queue.splice(0)) {
      const { run, since, expected } = queued
      run.observer?.connectionTaken(since, now)
      if (!run.isCallerGone) this.#queue.push(queued)
      else {
        this.#expectedWait -= expected
        run.settle(connectionErrors.callerGone(), [])
      }
    }
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#isClosed = true
    this.#onClose(this)
  }

  /** Whether it waits for its turn in the queue of the pool, as a request would that does not share a connection. */
  get isWaiting(): boolean {
    return this.#gathersUntil !== undefined && !this.#client
  }

  /**
   * Milliseconds that a further statement would wait for those before it; infinite when no statement is accepted. While the
   * connection waits for its turn, it accepts statements for a short time only, because they share one timeout.
   */
  get expectedWait(): number {
    if (this.isWaiting && performance.now() > (this.#gathersUntil ?? 0)) return Infinity
    const max = this.#pool.waitingCount > 0 ? maxTransactionsWhenScarce : maxTransactions
    if (this.#isClosed || this.#taken >= max) return Infinity
    if (this.#client && this.#pool.isStale(this.#client)) return Infinity
    const [front] = this.#queue
    if (front?.hasBegun === true && performance.now() - this.#since > longWait) return Infinity
    return this.#expectedWait
  }

  /** Transactions that were added and have not ended. */
  get running(): number {
    return this.#queue.length
  }

  add(run: SharedRun): void {
    const queued = new QueuedRun(run, this)
    this.#taken++
    this.#expectedWait += queued.expected
    this.#queue.push(queued)
    // Until there is a connection, transactions stay in the queue.
    this.#query?.add(queued)
    this.#watch()
  }

  hasBegun(): void {
    this.#since = performance.now()
  }

  hasLargeRow({ run, hasMoved }: QueuedRun, fields: RawRow, last: StreamedField): void {
    if (hasMoved) last.drop()
    else run.onLargeRow(fields, last)
    // A slow reader would hold up the others.
    if (last.length > largeResult) this.#moveOthers()
  }

  hasEnded({ run, hasMoved, expected }: QueuedRun, error: Error | undefined, results: RawRow[][]): void {
    this.#queue.shift()
    this.#expectedWait -= expected
    if (isStaleStatement(error)) this.#isClosed = this.#hasStaleStatements = true
    if (hasMoved) return
    if (error !== undefined && isOfConnection(error)) run.runOnOwnConnection()
    else run.settle(error, results)
  }

  /** Checks after a while whether the transaction in front holds up others. */
  #watch(): void {
    if (this.#queue.length > 1) this.#timer ??= setTimeout(this.#look, patience)
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const [front] = this.#queue
    if (!front || this.#queue.length < 2) return
    // Reads what has arrived first: it may have been this process that was slow.
    setImmediate(() => {
      const isLong = this.#queue[0] === front && front.hasBegun && performance.now() - this.#since >= patience
      if (isLong && this.#queue.length > 1) {
        front.stats?.record(patience, 0)
        this.#moveOthers()
      }
      this.#watch()
    })
  }

  /** Moves all transactions behind the one in front to connections of their own. Their results on this one are ignored. */
  #moveOthers(): void {
    this.#isClosed = true
    for (const queued of this.#queue.slice(1)) {
      if (queued.hasMoved) continue
      queued.hasMoved = true
      queued.run.runOnOwnConnection()
    }
  }
}

/** Whether a transaction failed for a reason that it does not have on another connection. It had no effect. */
const isOfConnection = (error: Error): boolean =>
  !(error instanceof StatementError) || isLostConnection(error) || isStaleStatement(error)
