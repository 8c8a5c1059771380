// A connection that brief statements share: one is sent behind others that have not been answered yet.
import type { StreamedField } from '../protocol/streamed-field.ts'
import { PipelineQuery, type OnLargeRow, type PipelinePart, type Turn } from '../protocol/pipeline-query.ts'
import { forgetStatements, isLostConnection, isStaleStatement, StatementError } from '../protocol/pipeline.ts'
import type { LentClient } from '../protocol/pipeline-client.ts'
import type { StatementCache } from '../protocol/statement-cache.ts'
import { withConnection } from '../lending.ts'
import type { ConnectionPool } from '../pool.ts'
import type { StatementStats } from '../../common/statement-stats.ts'
import { sharingPolicy } from './policy.ts'
import { calledOff, type Gate } from './turn-guard.ts'
import type { Row } from '../../rest/database.ts'

/** One implicit transaction. */
export type SharedRun = {
  /** Reads are in a read-only transaction. */
  readonly kind: 'read' | 'write'
  readonly part: PipelinePart
  /** Whether nothing in the part has an effect outside the transaction, so that it may be run twice. */
  readonly mayRepeat: boolean
  /**
   * The part with a guard, a statement that does `mayBegin` first, for the placeholders' values. The guard and what comes
   * before it must have no effect outside the transaction.
   */
  guardedPart(gate: string, turn: string): PipelinePart
  /** How the statement went before. Without it, it does not share a connection. */
  readonly history: StatementStats | undefined
  /** Whether large rows are not taken while they arrive. */
  readonly waitsForLargeRows?: boolean
  /** Takes a large row of a read. */
  onLargeRow(fields: Row, last: StreamedField): void
  settle(error: Error | undefined, results: Row[][]): void
  /** Runs it on a connection of its own instead. */
  alone(): void
}

const { longWait, patience, mostTurns, mostTurnsWhenScarce } = sharingPolicy
const { largeResult } = sharingPolicy.trust

/** A run on its way. */
class QueuedTurn implements Turn {
  readonly run: SharedRun
  readonly number: number
  readonly part: PipelinePart
  readonly parts: readonly PipelinePart[]
  readonly history: StatementStats | undefined
  readonly onLargeRow: OnLargeRow | undefined
  /** Milliseconds that it is expected to take. */
  readonly expected: number
  hasBegun = false
  hasMoved = false
  readonly #connection: TurnListener

  constructor(run: SharedRun, gate: Gate | undefined, connection: TurnListener) {
    this.run = run
    this.number = gate?.nextTurn() ?? 0
    this.part = gate && !run.mayRepeat ? run.guardedPart(String(gate.id), String(this.number)) : run.part
    this.parts = [this.part]
    this.history = run.history
    this.expected = run.history?.expected ?? 0
    this.onLargeRow =
      run.kind === 'read' && run.waitsForLargeRows !== true
        ? (fields, last) => connection.hasLargeRow(this, fields, last)
        : undefined
    this.#connection = connection
  }

  onBegin(): void {
    this.hasBegun = true
    this.#connection.hasBegun()
  }

  settle(error: Error | undefined, results: Row[][]): void {
    this.#connection.hasEnded(this, error, results)
  }
}

/** Hears how turns go. */
type TurnListener = {
  hasBegun(): void
  hasLargeRow(turn: QueuedTurn, fields: Row, last: StreamedField): void
  hasEnded(turn: QueuedTurn, error: Error | undefined, results: Row[][]): void
}

export class PipelinedConnection implements TurnListener {
  readonly kind: SharedRun['kind']
  readonly isGuarded: boolean
  readonly #pool: ConnectionPool
  readonly #onClose: (connection: PipelinedConnection) => void
  readonly #gate: Gate | undefined
  readonly #queue: QueuedTurn[] = []
  /** Turns that came before the connection. */
  #early: Turn[] = []
  #query: PipelineQuery | undefined
  #client: LentClient | undefined
  #taken = 0
  #expectedWait = 0
  #isClosed = false
  #hasStaleStatements = false
  #timer: NodeJS.Timeout | undefined
  /** When the turn in front began. */
  #since = 0
  #isMoving = false

  /**
   * @param gate for turns that must not run twice
   * @param onClose hears that no further turn is taken
   */
  constructor(
    kind: SharedRun['kind'],
    pool: ConnectionPool,
    prepare: boolean,
    gate: Gate | undefined,
    onClose: (connection: PipelinedConnection) => void,
  ) {
    this.kind = kind
    this.isGuarded = gate !== undefined
    this.#gate = gate
    this.#pool = pool
    this.#onClose = onClose
    withConnection(
      pool,
      (client) => this.#open(client, prepare ? client.statements : undefined),
      () => true,
      { access: kind },
    )
      .catch((error: unknown) => {
        // Turns on a connection that was lost have been settled.
        if (this.#client) return
        this.#close()
        // Emptied, because a queue with turns in it is watched.
        for (const { run } of this.#queue.splice(0)) run.settle(error as Error, [])
      })
      .finally(() => gate?.release())
  }

  async #open(client: LentClient, cache: StatementCache | undefined): Promise<void> {
    this.#client = client
    await new Promise<void>((resolve, reject) => {
      const query = new PipelineQuery(cache, (error) => {
        this.#close()
        if (error) reject(error)
        else resolve()
      })
      for (const turn of this.#early) query.add(turn)
      this.#early = []
      this.#query = query
      client.query(query)
    })
    if (this.#hasStaleStatements) await forgetStatements(client)
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#isClosed = true
    this.#onClose(this)
  }

  /** Milliseconds until a statement would have its turn; infinite when none is taken. */
  get expectedWait(): number {
    const most = this.#pool.waitingCount > 0 ? mostTurnsWhenScarce : mostTurns
    if (this.#isClosed || this.#taken >= most || this.#gate?.isOpen === false) return Infinity
    if (this.#client && this.#pool.isStale(this.#client)) return Infinity
    const [front] = this.#queue
    if (front?.hasBegun === true && performance.now() - this.#since > longWait) return Infinity
    return this.#expectedWait
  }

  add(run: SharedRun): void {
    const turn = new QueuedTurn(run, this.#gate, this)
    this.#taken++
    this.#expectedWait += turn.expected
    this.#queue.push(turn)
    if (this.#query) this.#query.add(turn)
    else this.#early.push(turn)
    this.#watch()
  }

  hasBegun(): void {
    this.#since = performance.now()
  }

  hasLargeRow({ run, hasMoved }: QueuedTurn, fields: Row, last: StreamedField): void {
    if (hasMoved) last.drop()
    else run.onLargeRow(fields, last)
    // It is passed on at the pace of its reader.
    if (last.length > largeResult) void this.#moveOthers()
  }

  hasEnded({ run, part, hasMoved, expected }: QueuedTurn, error: Error | undefined, results: Row[][]): void {
    this.#queue.shift()
    this.#expectedWait -= expected
    if (isStaleStatement(error)) this.#isClosed = this.#hasStaleStatements = true
    if (hasMoved) return
    if (error !== undefined && this.#mayRepeat(part, error)) run.alone()
    else run.settle(error, results)
  }

  /** Whether a turn that failed is to be run on a connection of its own: nothing has come of it. */
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

  /** Looks after a while whether the turn in front holds up others. */
  #watch(): void {
    if (this.#queue.length > 1) this.#timer ??= setTimeout(this.#look, patience[this.kind])
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const [front] = this.#queue
    if (!front || this.#queue.length < 2) return
    // After what has arrived meanwhile was read: it may have been this process that was held up.
    setImmediate(() => {
      const isLong =
        this.#queue[0] === front && front.hasBegun && performance.now() - this.#since >= patience[this.kind]
      if (isLong && this.#queue.length > 1) {
        front.history?.record(patience[this.kind], 0)
        void this.#moveOthers()
      }
      this.#watch()
    })
  }

  /**
   * Lets those behind the turn in front run elsewhere, at once. Parts that may run twice do; of the others it is made
   * certain that they have not begun and never will. The answers will come nevertheless.
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
      // Those that were answered meanwhile are no longer in the queue.
      if (queued.hasMoved || !this.#queue.includes(queued)) continue
      queued.hasMoved = true
      queued.run.alone()
    }
  }
}
