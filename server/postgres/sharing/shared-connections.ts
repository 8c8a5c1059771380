// Connections that brief statements share. Neither the database nor this process waits for the other between two
// statements, and many statements are sent in one write.
//
// No statement waits for a slow one ahead of it: when a statement takes long, has a large result, or loses the
// connection, those behind it run on connections of their own. A statement with effects outside its transaction runs
// exactly once; see `gate.ts`.
import type pg from 'pg'
import type { Sharing } from '../../rest/database.ts'
import { PipelinedConnection, type SharedRun, type SharingPool } from './pipelined-connection.ts'
import { sharingPolicy } from './policy.ts'
import { GateKeeper } from './gate.ts'
import { WritePace } from './write-pace.ts'

export type { SharedRun } from './pipelined-connection.ts'

const { brief, shortWait, longWait, longestGathering } = sharingPolicy

export type SharingStatistics = {
  /** Connections that are shared now. */
  readonly connections: number
  /** Statements that were sent on them, or wait for it. */
  readonly running: number
  /** Statements that have shared a connection so far. */
  readonly runs: number
}

/** The shared connections of one pool. */
export class SharedConnections {
  readonly #pool: SharingPool
  readonly #open = new Set<PipelinedConnection>()
  readonly #keeper: GateKeeper
  readonly #pace = new WritePace()
  #runs = 0

  constructor(pool: SharingPool) {
    this.#pool = pool
    this.#keeper = new GateKeeper(() => {
      const { Client } = pool.options as { readonly Client?: new (options: pg.PoolConfig) => pg.Client }
      if (!Client) throw new TypeError('the pool must be created with the option Client')
      return new Client(pool.options)
    })
  }

  /**
   * Runs a statement on a shared connection, if it is known to be brief and does not have to wait long.
   *
   * @param prepare whether statements are prepared. If not, there may be a pooler in transaction mode in front of the database,
   *   and nothing is shared: PgBouncer 1.18 lends its connection to another client while part of the next transaction has been
   *   sent on it, and the responses of both are wrong then. One transaction at a time is safe.
   * @returns whether the statement was accepted
   */
  share(run: SharedRun, prepare: boolean, sharing: Sharing = 'all'): boolean {
    const { stats } = run
    if (stats?.isFast !== true) return false
    // A process with much to do does not know whether it is the statement that is slow. It has more to do without sharing, though.
    if (stats.expected > brief && (stats.least > brief || this.#pool.canLend(run.kind))) return false
    if (sharing === 'none') return false
    if (run.kind === 'write' && (sharing === 'reads' || !this.#pace.mayShare())) return false
    if (!prepare) return false
    const isGuarded = !run.mayRepeat
    // Takes the first suitable connection, to use as few as possible.
    let best: PipelinedConnection | undefined
    let bestWait: number = longWait
    let waiting: PipelinedConnection | undefined
    for (const connection of this.#open) {
      if (connection.kind !== run.kind || connection.isGuarded !== isGuarded) continue
      const wait = connection.expectedWait
      if (connection.isWaiting) {
        if (wait + stats.expected <= longestGathering) waiting = connection
        continue
      }
      if (wait <= shortWait) return this.#add(run, connection)
      if (wait <= bestWait) [best, bestWait] = [connection, wait]
    }
    if (this.#pool.canLend(run.kind)) best = this.#another(run.kind, isGuarded) ?? best
    // Those that wait for a connection wait together, so that it serves many of them when it is their turn.
    else if (!best && run.waitsForPool) best = waiting ?? this.#another(run.kind, isGuarded)
    return best !== undefined && this.#add(run, best)
  }

  #add(run: SharedRun, connection: PipelinedConnection): true {
    this.#runs++
    connection.add(run)
    return true
  }

  /** Another shared connection, which waits for its turn if the pool has no free one. Undefined if no gate is free. */
  #another(kind: SharedRun['kind'], isGuarded: boolean): PipelinedConnection | undefined {
    const gate = isGuarded ? this.#keeper.claim() : undefined
    if (isGuarded && !gate) return undefined
    const pace = kind === 'write' ? this.#pace : undefined
    const connection = new PipelinedConnection(kind, this.#pool, gate, pace, (closed) => this.#open.delete(closed))
    this.#open.add(connection)
    return connection
  }

  get statistics(): SharingStatistics {
    let running = 0
    for (const connection of this.#open) running += connection.running
    return { connections: this.#open.size, running, runs: this.#runs }
  }

  /** Statements that wait for a connection of the pool together with another one, which has the place in its queue. */
  waitingTogether(kind: SharedRun['kind']): number {
    let others = 0
    for (const connection of this.#open)
      if (connection.kind === kind && connection.isWaiting) others += Math.max(connection.running - 1, 0)
    return others
  }

  /** Closes the connection that keeps the gates open. Call it before the pool is ended. */
  end(): Promise<void> {
    return this.#keeper.end()
  }
}
