// Connections that brief statements share. One is sent behind others that have not been answered yet, so that neither the
// database nor this process waits for the other between two of them, and many go in one write.
//
// Nobody waits for somebody else's long statement. When a read takes long, has a large result, or loses the connection,
// the reads behind it are run again on connections of their own: they only read, so nothing happens twice. A write that
// takes long, perhaps because it waits for a lock, is cancelled, and, once the server has said that it was undone, run
// again on a connection of its own.
import type pg from 'pg'
import { LibpqClient } from '../config/pool-config.ts'
import type { ArrivingField } from './arriving-field.ts'
import { absorbCancel, cancelled } from './cancellation.ts'
import { Exchange, type OnArriving, type PipelinePart, type Turn } from './exchange.ts'
import { forgetStatements, isStaleStatement, statementsOf, StatementError } from './pipeline.ts'
import { withConnection, type ConnectionPool } from './pool.ts'
import { largeResult, type RunHistory } from './run-history.ts'
import type { StatementCache } from './statement-cache.ts'
import type { Row } from './wire.ts'

/** One implicit transaction. */
export type SharedRun = {
  /** Reads are in a read-only transaction. */
  readonly kind: 'read' | 'write'
  readonly part: PipelinePart
  readonly history: RunHistory
  /** Takes a large row of a read. */
  readonly onArriving: OnArriving
  readonly settle: (error: Error | undefined, results: Row[][]) => void
  /** Runs it on a connection of its own instead. */
  readonly alone: () => void
}

/** Milliseconds that a statement takes at most. */
const brief = 0.75
/** Milliseconds that one may be expected to wait for others while there are connections left, and when there are none. */
const shortWait = 2
const longWait = 5
/** Milliseconds after which a statement is taken for long after all. Cancelling one costs the server more than moving. */
const patience = { read: 25, write: 100 }
/**
 * Statements after which a lane ends, so that its connection comes back to the pool, which may have to close it; and when
 * others wait for a connection.
 */
const longestLane = 1000
const fairLane = 50

type Pending = { readonly run: SharedRun; hasBegun: boolean; hasMoved: boolean }

class Lane {
  readonly kind: SharedRun['kind']
  readonly #pool: ConnectionPool
  readonly #onEnd: (lane: Lane) => void
  readonly #pending: Pending[] = []
  /** Turns that came before the connection. */
  #early: Turn[] = []
  #exchange: Exchange | undefined
  #client: pg.PoolClient | undefined
  #taken = 0
  #expectedWait = 0
  #isClosed = false
  #hasStaleStatements = false
  #timer: NodeJS.Timeout | undefined
  /** When the statement in front began. */
  #since = 0
  /** Settles when the server has been told to cancel what the connection runs. */
  #cancelling: Promise<void> | undefined

  constructor(kind: SharedRun['kind'], pool: ConnectionPool, prepare: boolean, onEnd: (lane: Lane) => void) {
    this.kind = kind
    this.#pool = pool
    this.#onEnd = onEnd
    withConnection(
      pool,
      (client) => this.#open(client, prepare ? statementsOf(client) : undefined),
      () => true,
      { access: kind },
    ).catch((error: unknown) => {
      // Those on a connection that was lost have heard of it.
      if (this.#client) return
      this.#close()
      for (const { run } of this.#pending) run.settle(error as Error, [])
    })
  }

  async #open(client: pg.PoolClient, cache: StatementCache | undefined): Promise<void> {
    this.#client = client
    await new Promise<void>((resolve, reject) => {
      const exchange = new Exchange(cache, (error) => {
        this.#close()
        if (error) reject(error)
        else resolve()
      })
      for (const turn of this.#early) exchange.add(turn)
      this.#early = []
      this.#exchange = exchange
      client.query(exchange)
    })
    if (this.#cancelling) {
      await this.#cancelling
      await absorbCancel(client)
    }
    if (this.#hasStaleStatements) await forgetStatements(client)
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#isClosed = true
    this.#onEnd(this)
  }

  /** Milliseconds until a statement would have its turn; infinite when none is taken. */
  get expectedWait(): number {
    if (this.#isClosed || this.#taken >= (this.#pool.waitingCount > 0 ? fairLane : longestLane)) return Infinity
    if (this.#client && this.#pool.isStale(this.#client)) return Infinity
    const [front] = this.#pending
    if (front?.hasBegun === true && performance.now() - this.#since > longWait) return Infinity
    return this.#expectedWait
  }

  add(run: SharedRun): void {
    const pending: Pending = { run, hasBegun: false, hasMoved: false }
    const { expected } = run.history
    this.#taken++
    this.#expectedWait += expected
    this.#pending.push(pending)
    const turn: Turn = {
      parts: [run.part],
      history: run.history,
      onArriving: run.kind === 'read' ? (fields, last) => this.#onArriving(pending, fields, last) : undefined,
      onBegin: () => {
        pending.hasBegun = true
        this.#since = performance.now()
      },
      settle: (error, results) => {
        this.#pending.shift()
        this.#expectedWait -= expected
        this.#settle(pending, error, results)
      },
    }
    if (this.#exchange) this.#exchange.add(turn)
    else this.#early.push(turn)
    this.#watch()
  }

  #onArriving({ run, hasMoved }: Pending, fields: Row, last: ArrivingField): void {
    if (hasMoved) last.drop()
    else run.onArriving(fields, last)
    // It is passed on at the pace of its reader.
    if (last.length > largeResult) this.#moveOthers()
  }

  #settle({ run, hasBegun, hasMoved }: Pending, error: Error | undefined, results: Row[][]): void {
    if (hasMoved) return
    const isStale = isStaleStatement(error)
    if (isStale) this.#isClosed = this.#hasStaleStatements = true
    const ofServer = error instanceof StatementError
    // The server has undone it.
    const wasCancelled = this.#cancelling !== undefined && ofServer && error.server.code === cancelled
    const wasLost = error !== undefined && !ofServer && !hasBegun && run.kind === 'read'
    if (isStale || wasCancelled || wasLost) run.alone()
    else run.settle(error, results)
  }

  /** Looks after a while whether the statement in front holds up others. */
  #watch(): void {
    if (this.#pending.length > 1) this.#timer ??= setTimeout(this.#look, patience[this.kind])
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const [front] = this.#pending
    if (!front || this.#pending.length < 2) return
    // After what has arrived meanwhile was read: it may have been this process that was held up.
    setImmediate(() => {
      const isLong = this.#pending[0] === front && performance.now() - this.#since >= patience[this.kind]
      if (isLong && this.#pending.length > 1) {
        if (this.kind === 'read') this.#moveOthers()
        else this.#cancelFront(front)
      }
      this.#watch()
    })
  }

  /** Lets those behind the one in front run elsewhere. Their answers will come nevertheless; nobody looks at them. */
  #moveOthers(): void {
    this.#isClosed = true
    for (const pending of this.#pending.slice(1)) {
      if (pending.hasMoved) continue
      pending.hasMoved = true
      pending.run.alone()
    }
  }

  /** Whatever the server then cancels, be it the next one, says so and is run again. */
  #cancelFront({ run }: Pending): void {
    this.#isClosed = true
    run.history.note(patience.write, 0)
    const client = this.#client
    if (!(client instanceof LibpqClient)) return
    const before = this.#cancelling ?? Promise.resolve()
    // One that cannot be cancelled is waited for.
    this.#cancelling = before.then(() => client.requestCancel()).catch(() => undefined)
  }
}

const lanesOf = new WeakMap<ConnectionPool, Set<Lane>>()

function lanesIn(pool: ConnectionPool): Set<Lane> {
  let lanes = lanesOf.get(pool)
  if (!lanes) lanesOf.set(pool, (lanes = new Set()))
  return lanes
}

/** Writes behind others must be able to free themselves of them. */
const canCancel = ({ options }: ConnectionPool): boolean => (options as { Client?: unknown }).Client === LibpqClient

/**
 * Runs a statement on a connection that it shares with others, if it is known to be brief and one of them will have it
 * soon.
 *
 * @returns whether it was taken
 */
export function shareConnection(pool: ConnectionPool, run: SharedRun, prepare: boolean): boolean {
  if (!run.history.isTrusted || run.history.expected > brief) return false
  if (run.kind === 'write' && !canCancel(pool)) return false
  const lanes = lanesIn(pool)
  // The first one that will do, so that there are as few as needed.
  let best: Lane | undefined
  let bestWait = longWait
  for (const lane of lanes) {
    if (lane.kind !== run.kind) continue
    const wait = lane.expectedWait
    if (wait <= shortWait) {
      lane.add(run)
      return true
    }
    if (wait <= bestWait) [best, bestWait] = [lane, wait]
  }
  if (pool.canLend(run.kind)) {
    best = new Lane(run.kind, pool, prepare, (ended) => lanes.delete(ended))
    lanes.add(best)
  }
  best?.add(run)
  return best !== undefined
}
