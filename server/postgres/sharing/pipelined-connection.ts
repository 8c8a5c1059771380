// A connection that brief statements share: each is sent without waiting for the responses to those before it.
import type pg from 'pg'
import type { StreamedField } from '../protocol/streamed-field.ts'
import { PipelineQuery } from '../protocol/pipeline-query.ts'
import type { LargeBodies, OnLargeRow, QueuedTransaction } from '../protocol/queued-transaction.ts'
import type { PipelinePart } from '../protocol/pipeline-part.ts'
import { forgetStatements, isLostConnection, isStaleStatement, StatementError } from '../protocol/pipeline.ts'
import type { LentClient } from '../protocol/pipeline-client.ts'
import { StatementTimer } from '../protocol/statement-timer.ts'
import { connectionErrors } from '../connection-error.ts'
import { withConnection, type LendingPool } from '../lending.ts'
import type { StatementStats } from '../../common/statement-stats.ts'
import { cleanSession } from '../transaction-commands.ts'
import { sharingPolicy } from './policy.ts'
import { calledOff, type Gate } from './gate.ts'
import type { WritePace } from './write-pace.ts'
import type { StatementObserver } from '../../rest/database.ts'
import type { RawRow } from '../../rest/row-transfer.ts'

/** One implicit transaction that can run on a shared connection. */
export type SharedRun = {
  /** Reads run in a read-only transaction. */
  readonly kind: 'read' | 'write'
  readonly part: PipelinePart
  /** Whether nothing in the part has an effect outside the transaction, so that it may run twice. */
  readonly mayRepeat: boolean
  /** Whether nothing in the part can set anything for the session. */
  readonly keepsSession: boolean
  /**
   * The part with a guard: a statement that evaluates `mayBegin` first. The guard and what precedes it must have no
   * effect outside the transaction.
   *
   * @param gate id of the gate
   * @param number number of the transaction
   */
  guardedPart(gate: string, number: string): PipelinePart
  /** Durations and result sizes of earlier runs. Without them, the statement does not share a connection. */
  readonly stats: StatementStats | undefined
  /** Observes the statements of this run. */
  readonly observer?: StatementObserver | undefined
  /** Whether large rows are buffered instead of streamed. */
  readonly waitsForLargeRows?: boolean
  /** See `QueuedTransaction.usesRows`. */
  readonly usesRows?: boolean
  /** See `QueuedTransaction.largeBodies`. */
  readonly largeBodies?: LargeBodies | undefined
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
  readonly number: number
  readonly part: PipelinePart
  readonly parts: readonly PipelinePart[]
  readonly cleanup: PipelinePart | undefined
  readonly stats: StatementStats | undefined
  readonly pace: WritePace | undefined
  readonly onLargeRow: OnLargeRow | undefined
  readonly timer: StatementTimer | undefined
  readonly usesRows: boolean | undefined
  readonly largeBodies: LargeBodies | undefined
  /** Expected duration in milliseconds. */
  readonly expected: number
  /** When it was added, as `performance.now()`, if it is observed. */
  readonly since: number
  hasBegun = false
  hasMoved = false
  readonly #connection: QueueListener

  constructor(run: SharedRun, gate: Gate | undefined, pace: WritePace | undefined, connection: QueueListener) {
    this.run = run
    this.number = gate?.nextNumber() ?? 0
    this.part = gate && !run.mayRepeat ? run.guardedPart(String(gate.id), String(this.number)) : run.part
    this.parts = [this.part]
    this.cleanup = run.keepsSession ? undefined : cleanSession
    this.stats = run.stats
    this.usesRows = run.usesRows
    this.pace = pace
    this.timer = run.observer && new StatementTimer(run.observer, [run.part])
    this.expected = run.stats?.expected ?? 0
    this.since = run.observer ? performance.now() : 0
    this.onLargeRow =
      run.kind === 'read' && run.waitsForLargeRows !== true
        ? (fields, last) => connection.hasLargeRow(this, fields, last)
        : undefined
    const bodies = run.largeBodies
    this.largeBodies = bodies && {
      space: bodies.space,
      takeBody: (body) => (this.hasMoved ? body.drop() : bodies.takeBody(body)),
    }
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
  readonly options: pg.PoolOptions
  /** Whether the connection is replaced when it is returned. */
  isStale(client: LentClient): boolean
}

export class PipelinedConnection implements QueueListener {
  readonly kind: SharedRun['kind']
  readonly isGuarded: boolean
  readonly #pool: SharingPool
  readonly #onClose: (connection: PipelinedConnection) => void
  readonly #gate: Gate | undefined
  readonly #pace: WritePace | undefined
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
  #isMoving = false
  /** Until when transactions are added that wait for a connection of the pool, as `performance.now()`. */
  readonly #gathersUntil: number | undefined

  /**
   * Takes a connection of the pool, or waits for one if none is free: see `isWaiting`.
   *
   * @param gate for transactions that must not run twice
   * @param pace records transactions; undefined for reads
   * @param onClose is called when no further transaction is accepted
   */
  constructor(
    kind: SharedRun['kind'],
    pool: SharingPool,
    gate: Gate | undefined,
    pace: WritePace | undefined,
    onClose: (connection: PipelinedConnection) => void,
  ) {
    this.kind = kind
    this.isGuarded = gate !== undefined
    this.#gate = gate
    this.#pace = pace
    this.#pool = pool
    this.#onClose = onClose
    this.#gathersUntil = pool.canLend(kind) ? undefined : performance.now() + gathering
    withConnection(
      pool,
      (client) => this.#open(client),
      () => true,
      { access: kind, together: () => Math.max(this.#queue.length, 1) },
    )
      .catch((error: unknown) => {
        // `PipelineQuery` has settled the transactions of a lost connection.
        if (this.#client) return
        this.#close()
        // The queue must be empty, so that `#watch` starts no timer.
        for (const { run } of this.#queue.splice(0)) run.settle(error as Error, [])
      })
      .finally(() => gate?.release())
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
    if (this.#isClosed || this.#taken >= max || this.#gate?.isOpen === false) return Infinity
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
    const queued = new QueuedRun(run, this.#gate, this.#pace, this)
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
    if ((last.length ?? 0) > largeResult && last.remaining > 0) void this.#moveOthers()
  }

  hasEnded({ run, part, hasMoved, expected }: QueuedRun, error: Error | undefined, results: RawRow[][]): void {
    this.#queue.shift()
    this.#expectedWait -= expected
    if (isStaleStatement(error)) this.#isClosed = this.#hasStaleStatements = true
    if (hasMoved) return
    if (error !== undefined && this.#mayRepeat(part, error)) run.runOnOwnConnection()
    else run.settle(error, results)
  }

  /** Whether a transaction that failed had no effect, so that it can run again on a connection of its own. */
  #mayRepeat(part: PipelinePart, error: Error): boolean {
    if (!(error instanceof StatementError)) return !this.isGuarded
    const { statement } = error.position
    const isCalledOff = part[statement]?.isGuard === true && error.server.code === calledOff
    if (isCalledOff) {
      this.#isClosed = true
      this.#gate?.distrust()
      return true
    }
    if (isLostConnection(error)) return !this.isGuarded || statement <= part.findIndex(({ isGuard }) => isGuard)
    return isStaleStatement(error) && part.slice(0, statement).every(({ hasNoEffect }) => hasNoEffect === true)
  }

  /** Checks after a while whether the transaction in front holds up others. */
  #watch(): void {
    if (this.#queue.length > 1) this.#timer ??= setTimeout(this.#look, patience[this.kind])
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const [front] = this.#queue
    if (!front || this.#queue.length < 2) return
    // Reads what has arrived first: it may have been this process that was slow.
    setImmediate(() => {
      const isLong =
        this.#queue[0] === front && front.hasBegun && performance.now() - this.#since >= patience[this.kind]
      if (isLong && this.#queue.length > 1) {
        front.stats?.record(patience[this.kind], 0)
        void this.#moveOthers()
      }
      this.#watch()
    })
  }

  /**
   * Moves all transactions behind the one in front to connections of their own. Where they must not run twice, closing
   * the gate calls them off first. Their results on this connection are ignored.
   */
  async #moveOthers(): Promise<void> {
    this.#isClosed = true
    const front = this.#queue[0]
    if (!front || this.#isMoving) return
    const others = this.#queue.slice(1)
    if (this.#gate) {
      this.#isMoving = true
      const isCertain = await this.#gate.closeBehind(front.number)
      this.#isMoving = false
      if (!isCertain) return
    }
    for (const queued of others) {
      // Transactions that have finished meanwhile are no longer in the queue.
      if (queued.hasMoved || !this.#queue.includes(queued)) continue
      queued.hasMoved = true
      queued.run.runOnOwnConnection()
    }
  }
}
