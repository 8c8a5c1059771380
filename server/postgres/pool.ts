// The pool of connections that requests run on.
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { longestTimer } from '../common/timers.ts'
import { LibpqClient } from './connection/pool-config.ts'
import type { StatementObserver } from '../rest/database.ts'
import { Admission, type Access } from './admission.ts'
import { ConnectionError, connectionErrors } from './connection-error.ts'
import { isOutOfSlots } from './database-error.ts'
import { GrowingPool } from './growing-pool.ts'
import type { Lending } from './lending.ts'
import { lentClient, PipelineClient, type LentClient } from './protocol/pipeline-client.ts'
import { SpillSpace } from './protocol/spill-space.ts'
import type { PoolSettings } from './pool-settings.ts'
import { StreamRelief } from './protocol/stream-relief.ts'
import { SharedConnections } from './sharing/shared-connections.ts'

export type { PoolSettings }

/** For a timer. `pg-pool` interprets 0 as no limit. */
const milliseconds = (seconds: number): number => Math.min(Math.max(seconds * 1000, 1), longestTimer)
/** Milliseconds between attempts to grow the pool after the server has refused a connection. */
const slotPause = 1000
/** Milliseconds after its timeout in which an attempt to open a connection reports its own error. */
const openingGrace = 500
/** A connection that was used so many milliseconds ago or later gets a successor before it is replaced. */
const busyTime = 1000
/** Error message of `pg-pool` when a connection is not opened in time. */
const connectTimeout = 'timeout exceeded when trying to connect'

const ignore = (): void => undefined

/** Finds out who observes a statement that begins now. */
export type Observe = () => StatementObserver | undefined
const unobserved: Observe = () => undefined

/** `pg`'s pool behind an admission queue: `pg` itself never has more requests than connections. */
export class ConnectionPool extends GrowingPool {
  /** Additional connections, opened when needed, for what must work while requests occupy the whole pool. */
  readonly reserve: ConnectionPool | undefined
  /** Responses that occupy connections until their readers have taken them. */
  readonly streams: StreamRelief
  /** Connections of the pool that brief statements share. */
  readonly shared: SharedConnections = new SharedConnections(this)
  /** Who observes the statements that begin now, if their caller does not say it. */
  readonly observe: Observe
  readonly #admission: Admission
  readonly #patience: number
  readonly #open = new Set<pg.PoolClient>()
  /** Connections that no later request may use. */
  readonly #stale = new WeakSet<pg.PoolClient>()
  /** Number of connections by which the pool tries to grow next, after the server has refused one. */
  #step = 1
  #slotTimer: NodeJS.Timeout | undefined
  /** When each connection was used last, as `performance.now()`. */
  readonly #used = new WeakMap<pg.PoolClient, number>()

  /** @param observe is called for each statement without a caller, in the asynchronous context of its request */
  constructor(connection: pg.PoolConfig, settings: PoolSettings, observe: Observe = unobserved) {
    const { dbPool, dbPoolReserve = 0 } = settings
    const patience = Math.min(settings.dbPoolAcquisitionTimeout * 1000, longestTimer)
    super({
      Client: PipelineClient,
      ...connection,
      max: dbPool,
      connectionTimeoutMillis: patience,
      idleTimeoutMillis: milliseconds(settings.dbPoolMaxIdletime),
      maxLifetimeSeconds: milliseconds(settings.dbPoolMaxLifetime) / 1000,
      verify: (client, callback) => {
        // An error here means that the connection is lost. Its first use handles that.
        const identified = client instanceof LibpqClient ? client.identify().catch(ignore) : Promise.resolve()
        void identified.then(() => callback())
      },
    })
    this.#patience = patience
    this.observe = observe
    this.streams = new StreamRelief(
      new SpillSpace(settings.dbPoolSpillMemory ?? 0, settings.dbPoolSpillDisk ?? 0),
      () => this.#admission.waitingSince,
    )
    this.#admission = new Admission(dbPool, () => this.streams.begin(), settings.loadSheddingWait)
    this.reserve =
      dbPoolReserve > 0
        ? new ConnectionPool(
            connection,
            { ...settings, dbPool: dbPoolReserve, dbPoolReserve: 0, loadSheddingWait: 0 },
            observe,
          )
        : undefined
    this.on('error', ignore)
    this.on('connect', (client) => {
      // A connection that breaks during use fails its query. Without a listener, it would also end the process.
      client.on('error', ignore)
      this.#open.add(client)
    })
    this.on('remove', (client) => this.#open.delete(client))
  }

  /** Requests that wait for a connection. */
  // @ts-expect-error: `pg` declares a property, but implements a getter
  override get waitingCount(): number {
    return this.#admission.waitingCount
  }

  /** Whether a request would get a connection, or start opening one, at once. */
  canLend(access: Access): boolean {
    return this.#admission.hasPlace(access)
  }

  /** Whether a request would be refused, because those that wait already take too long. */
  isOverloaded(access: Access): boolean {
    return this.#admission.isOverloaded(access, this.shared.waitingTogether(access))
  }

  isStale(client: pg.PoolClient): boolean {
    return this.#stale.has(client)
  }

  /** See `flushPool`. */
  async flush(time = 0, signal?: AbortSignal): Promise<void> {
    const reserve = this.reserve?.flush(time, signal)
    const open = [...this.#open]
    for (const [index, client] of open.entries()) {
      if (index > 0 && time > 0) await pause(time / open.length, undefined, { signal }).catch(ignore)
      // Makes room for its successor.
      if (this.totalCount >= this.options.max) this.#retire(client)
      const idle = performance.now() - (this.#used.get(client) ?? -Infinity)
      if (time > 0 && signal?.aborted !== true && idle < busyTime) {
        // A server that does not respond must not hold up what waits for the end.
        await Promise.race([this.openAnother(), pause(time, undefined, { signal, ref: false }).catch(ignore)])
      }
      this.#retire(client)
    }
    await reserve
  }

  /** Closes a connection, now or when it is returned. */
  #retire(client: pg.PoolClient): void {
    if (this.#stale.has(client)) return
    this.#stale.add(client)
    this.closeIdle(client)
  }

  /**
   * Takes a connection, which must be returned with `giveBack`. When the server refuses further connections, waits for
   * one that the pool already has.
   *
   * @throws ConnectionError when no connection can be opened, none becomes free in time or is expected to, or the caller
   *   is gone
   */
  async take({ access = 'read', caller, since = performance.now(), together }: Lending): Promise<LentClient> {
    const deadline = since + this.#patience
    for (;;) {
      if (caller?.isGone === true) throw connectionErrors.callerGone()
      const remaining = this.#patience === 0 ? 0 : Math.max(deadline - performance.now(), 1)
      const waiting = this.#admission.enter(access, remaining, caller, together)
      if (waiting) await waiting
      try {
        return await this.#connect(waiting && this.#patience > 0 ? deadline : undefined)
      } catch (error) {
        const waits = isOutOfSlots(error) && this.totalCount > 0
        if (waits) this.#reduce()
        this.#admission.leave(access)
        if (!waits) throw error
      }
    }
  }

  /** @param isBroken whether the connection is closed instead of lent again */
  giveBack(client: pg.PoolClient, access: Access, isBroken: boolean): void {
    const isIdle = client.getTransactionStatus() === 'I'
    this.#used.set(client, performance.now())
    client.release(isBroken || this.#stale.has(client) || !isIdle)
    this.#admission.leave(access)
  }

  override end(): Promise<void>
  override end(callback: () => void): void
  override end(callback?: () => void): Promise<void> | undefined {
    clearTimeout(this.#slotTimer)
    const ended = Promise.all([super.end(), this.reserve?.end()]).then(ignore)
    if (!callback) return ended
    void ended.then(callback)
    return undefined
  }

  /** @param deadline for requests that have waited in the queue; others may wait for the whole timeout */
  async #connect(deadline: number | undefined): Promise<LentClient> {
    try {
      for (;;) {
        const until = deadline ?? (this.idleCount === 0 ? this.#longestOpening() : undefined)
        const client = await (until === undefined ? this.connect() : inTime(this.connect(), until))
        if (!this.#stale.has(client)) {
          this.#used.set(client, performance.now())
          return lentClient(client)
        }
        client.release(true)
      }
    } catch (error) {
      if (error instanceof ConnectionError) throw error
      const message = error instanceof Error ? error.message : String(error)
      throw message === connectTimeout ? connectionErrors.timedOut() : connectionErrors.notConnected(message, error)
    }
  }

  /** When a request that finds no connection gives up. If the server does not respond, the attempt to open one fails before. */
  #longestOpening(): number | undefined {
    return this.#patience > 0 ? performance.now() + Math.min(this.#patience + openingGrace, longestTimer) : undefined
  }

  /** Limits admission to the open connections, and tries from time to time to open more. */
  #reduce(): void {
    this.#admission.resize(this.totalCount - this.openingCount)
    this.#step = 1
    this.#retryLater()
  }

  #retryLater(): void {
    this.#slotTimer ??= setTimeout(() => {
      this.#slotTimer = undefined
      this.#admission.resize(this.#admission.places + this.#step)
      this.#step *= 2
      if (this.#admission.isReduced) this.#retryLater()
    }, slotPause).unref()
  }
}

/** Waits for a connection until the deadline. A connection that opens later goes to the pool. */
async function inTime(connecting: Promise<pg.PoolClient>, deadline: number): Promise<pg.PoolClient> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => {
        reject(connectionErrors.timedOut())
        connecting.then((client) => client.release(), ignore)
      },
      Math.max(deadline - performance.now(), 1),
    )
  })
  try {
    return await Promise.race([connecting, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Creates a pool without opening connections. Connections that break while idle are replaced when needed. */
export const createPool = (connection: pg.PoolConfig, settings: PoolSettings, observe?: Observe): ConnectionPool =>
  new ConnectionPool(connection, settings, observe)

/**
 * Replaces all connections that are open now, because sessions cache the catalogue, and keep the role settings of their
 * login. Connections in use are closed when they are returned, idle ones at once. With a time, those that were used
 * lately are replaced when their successors are open, so that requests do not wait. Without a time, no later request uses
 * one of them; otherwise none does after the promise has resolved.
 *
 * @param time milliseconds over which they are replaced, one after another
 * @param signal ends the pauses
 */
export const flushPool = (pool: ConnectionPool, time?: number, signal?: AbortSignal): Promise<void> =>
  pool.flush(time, signal)
