// Connections that brief reads share. A read is sent behind others that have not been answered yet, so that neither the
// database nor this process waits for the other between two of them, and many go in one write.
//
// Nobody waits for somebody else's long read: when the one in front takes long, has a large result, or loses the
// connection, those behind it are run again on connections of their own. They only read, so nothing happens twice.
import type pg from 'pg'
import { Exchange, type OnArriving, type PipelinePart, type Turn } from './exchange.ts'
import { forgetStatements, isStaleStatement, statementsOf, StatementError } from './pipeline.ts'
import { isStaleConnection, withConnection } from './pool.ts'
import type { RunHistory } from './run-history.ts'
import type { StatementCache } from './statement-cache.ts'
import type { Row } from './wire.ts'

/** One read-only implicit transaction. */
export type SharedRead = {
  readonly part: PipelinePart
  readonly history: RunHistory
  readonly onArriving: OnArriving
  readonly settle: (error: Error | undefined, results: Row[][]) => void
  /** Runs it on a connection of its own instead. */
  readonly alone: () => void
}

/** Milliseconds that a brief read takes at most. */
const brief = 0.5
/** Milliseconds that a read may be expected to wait for others while there are connections left, and when there are none. */
const shortWait = 0.5
const longWait = 5
/** Milliseconds after which a read is taken for long after all. */
const patience = 25
/** Reads after which a lane ends, so that its connection comes back to the pool, which may have to close it. */
const longestLane = 1000

type Pending = { readonly read: SharedRead; hasBegun: boolean; hasMoved: boolean }

class Lane {
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
  /** When the read in front began. */
  #since = 0

  constructor(pool: pg.Pool, prepare: boolean, onEnd: (lane: Lane) => void) {
    this.#onEnd = onEnd
    withConnection(
      pool,
      (client) => this.#open(client, prepare ? statementsOf(client) : undefined),
      () => true,
    ).catch((error: unknown) => {
      // Reads on a connection that was lost have heard of it.
      if (this.#client) return
      this.#close()
      for (const { read } of this.#pending) read.settle(error as Error, [])
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
    if (this.#hasStaleStatements) await forgetStatements(client)
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#isClosed = true
    this.#onEnd(this)
  }

  /** Milliseconds until a read would have its turn; infinite when it takes none. */
  get expectedWait(): number {
    const isUsable = !this.#isClosed && this.#taken < longestLane && !(this.#client && isStaleConnection(this.#client))
    return isUsable ? this.#expectedWait : Infinity
  }

  add(read: SharedRead): void {
    const pending: Pending = { read, hasBegun: false, hasMoved: false }
    const { expected } = read.history
    this.#taken++
    this.#expectedWait += expected
    this.#pending.push(pending)
    const turn: Turn = {
      parts: [read.part],
      history: read.history,
      onArriving: (fields, last) => {
        // It is passed on at the pace of its reader.
        if (!pending.hasMoved) read.onArriving(fields, last)
        else last.drop()
        this.#moveOthers()
      },
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
    if (this.#pending.length > 1) this.#timer ??= setTimeout(this.#look, patience)
  }

  #settle({ read, hasBegun, hasMoved }: Pending, error: Error | undefined, results: Row[][]): void {
    if (hasMoved) return
    if (isStaleStatement(error)) {
      this.#isClosed = true
      this.#hasStaleStatements = true
      read.alone()
    } else if (error && !hasBegun && !(error instanceof StatementError)) {
      read.alone()
    } else {
      read.settle(error, results)
    }
  }

  readonly #look = (): void => {
    this.#timer = undefined
    if (this.#pending.length < 2) return
    const [front] = this.#pending
    // After what has arrived meanwhile was read: it may have been this process that was held up.
    setImmediate(() => {
      const elapsed = performance.now() - this.#since
      if (this.#pending[0] === front && elapsed >= patience) this.#moveOthers()
      else if (this.#pending.length > 1) this.#timer ??= setTimeout(this.#look, patience)
    })
  }

  /** Lets those behind the one in front run elsewhere. Their answers will come nevertheless; nobody looks at them. */
  #moveOthers(): void {
    this.#isClosed = true
    for (const pending of this.#pending.slice(1)) {
      if (pending.hasMoved) continue
      pending.hasMoved = true
      pending.read.alone()
    }
  }
}

const lanesOf = new WeakMap<pg.Pool, Set<Lane>>()

/**
 * Runs a read on a connection that it shares with others, if it is known to be brief and one of them will have it soon.
 *
 * @returns whether it was taken
 */
export function shareConnection(pool: pg.Pool, read: SharedRead, prepare: boolean): boolean {
  if (!read.history.isTrusted || read.history.expected > brief) return false
  let lanes = lanesOf.get(pool)
  if (!lanes) lanesOf.set(pool, (lanes = new Set()))
  // The first one that will do, so that there are as few as needed.
  let best: Lane | undefined
  for (const lane of lanes) {
    const wait = lane.expectedWait
    if (wait <= shortWait) {
      lane.add(read)
      return true
    }
    if (wait < (best?.expectedWait ?? Infinity)) best = lane
  }
  const hasRoom = pool.waitingCount === 0 && (pool.idleCount > 0 || pool.totalCount < pool.options.max)
  if (hasRoom) {
    const all = lanes
    const lane = new Lane(pool, prepare, (ended) => all.delete(ended))
    lanes.add(lane)
    lane.add(read)
    return true
  }
  if (!best || best.expectedWait > longWait) return false
  best.add(read)
  return true
}
