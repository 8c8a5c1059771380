// Checks the primary and its replicas again and again.
import { repeat } from '../../common/repeated-task.ts'
import type { WalPosition } from '../../common/wal-position.ts'
import { PositionSamples } from './position-samples.ts'
import { positionOf } from './primary-positions.ts'
import { identityColumns, type Checker, type PrimaryState, type Replica } from './replica.ts'

/** The flush position, because standbys receive only what has been flushed. */
const checkStatement = `select pg_catalog.pg_current_wal_flush_lsn()::text as lsn, ${identityColumns},
  pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) as file,
  pg_catalog.pg_current_wal_insert_lsn() > pg_catalog.pg_current_wal_flush_lsn() as has_more`

/**
 * Commits a transaction, which flushes the log. Reads write to the log, too, when they clean up pages, and what they
 * write may be flushed up to the end of a page, in the middle of a record. Until another transaction is committed, no
 * standby can replay that record, and all of them would seem to lag.
 */
const flushStatement = `select pg_catalog.pg_logical_emit_message(true, 'rowhouse', '')`

export class ReplicaMonitor {
  readonly #primary: Checker
  readonly #interval: number
  readonly #samples: PositionSamples
  #identity: string | undefined
  /** The latest flush position. */
  #flushed: bigint | undefined
  #stops: (() => Promise<void>)[] = []

  /**
   * @param primary a connection to the primary
   * @param maxLag milliseconds
   * @param interval milliseconds between two checks of a server
   */
  constructor(primary: Checker, maxLag: number, interval: number) {
    this.#primary = primary
    this.#interval = interval
    this.#samples = new PositionSamples(2 * maxLag + 10 * interval)
  }

  /** What is known about the primary; undefined before the first successful check. */
  get primary(): PrimaryState | undefined {
    const identity = this.#identity
    if (identity === undefined) return undefined
    const samples = this.#samples
    return {
      identity,
      timeline: samples.timeline,
      currentAt: (position: WalPosition, now) => samples.currentAt(position, now),
    }
  }

  /** Begins to check. Called once. */
  start(replicas: readonly Replica[]): void {
    const loop = (run: () => Promise<void>): (() => Promise<void>) =>
      repeat({ run, pause: () => this.#interval, onError: () => undefined })
    // A replica is compared with what the primary had before.
    const first = this.#checkPrimary().then(() => Promise.all(replicas.map((replica) => replica.check())))
    this.#stops = [
      () => first.then(() => undefined),
      loop(() => this.#checkPrimary()),
      ...replicas.map((replica) => loop(() => replica.check())),
    ]
  }

  /** Stops checking. Resolves when no check is running. */
  async stop(): Promise<void> {
    this.#primary.close()
    await Promise.all(this.#stops.map((stop) => stop()))
  }

  async #checkPrimary(): Promise<void> {
    try {
      const isStuck = await this.#sample()
      if (!isStuck) return
      await this.#primary.ask(flushStatement)
      await this.#sample()
    } catch {
      // Requests report that the primary is unreachable. The replicas are used with what is known.
    }
  }

  /** Asks the primary for its position. Returns whether a part of the log has not been flushed since the last time. */
  async #sample(): Promise<boolean> {
    const asked = performance.now()
    const { lsn, file, identity, has_more: hasMore } = await this.#primary.ask(checkStatement)
    const position = positionOf(lsn, file)
    if (!position || typeof identity !== 'string') return false
    const isStuck = hasMore === true && (this.#flushed === undefined || this.#flushed === position.lsn)
    this.#flushed = position.lsn
    this.#samples.add(position, asked)
    this.#identity = identity
    return isStuck
  }
}
