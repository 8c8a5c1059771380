// A replica: a pool of connections to it, what is known about its state, and the reads that run on it.
import { SingleFlight } from '../../common/single-flight.ts'
import { hasReached, parseLsn, type WalPosition } from '../../common/wal-position.ts'
import type { RestTransaction, TransactionOptions, TransactionResult } from '../../rest/database.ts'
import { ConnectionError } from '../connection-error.ts'
import { isUnreachable, sqlState } from '../database-error.ts'
import { Attempt } from './attempt.ts'
import { ReplayWatch } from './replay-watch.ts'

type Row = Readonly<Record<string, unknown>>

/** The database of a replica, with its own connections. */
export type ReplicaDatabase = {
  run(transaction: RestTransaction, options: TransactionOptions): Promise<TransactionResult>
  readonly query: (text: string, values: unknown[]) => Promise<readonly Row[]>
  renewConnections(time: number, signal?: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** A connection for checks; see `Probe`. */
export type Checker = { readonly ask: (text: string) => Promise<Row>; readonly close: () => void }

export type ReplicaOptions = {
  /** Host and port, for logs and metrics. */
  readonly name: string
  /** Creates a pool, which connects on first use. */
  readonly open: () => ReplicaDatabase
  readonly checker: Checker
  /** What the latest check of the primary found; undefined before the first one. */
  readonly primary: () => PrimaryState | undefined
  /** Milliseconds. */
  readonly maxLag: number
  /** Called when the replica becomes usable, and when it no longer is. Must not throw. */
  readonly onChange: (event: ReplicaEvent) => void
}

export type PrimaryState = {
  readonly timeline: number | undefined
  /** Identifies the cluster and the database. */
  readonly identity: string
  /** See `PositionSamples.currentAt`. */
  readonly currentAt: (position: WalPosition, now: number) => number | undefined
}

/** `reason` says why the replica is not used; undefined when it is. */
export type ReplicaEvent = { readonly replica: string; readonly reason: string | undefined }

export type ReplicaStatistics = {
  readonly name: string
  readonly isUsable: boolean
  /** Infinity when it is not known. */
  readonly lagSeconds: number
  /** Transactions that the replica has answered, or failed to. */
  readonly reads: number
  /** Of these, the ones that ran again on the primary. */
  readonly reruns: number
}

/** The columns that identify a cluster and a database. */
export const identityColumns = `(select system_identifier from pg_catalog.pg_control_system())::text
  || ' ' || pg_catalog.current_database() as identity`

/**
 * The timeline is the greatest one that is known: the receiver's is visible to `pg_read_all_stats` only; the control file
 * has the others, and is updated from time to time.
 */
const checkStatement = `select pg_catalog.pg_is_in_recovery() as standby, ${identityColumns},
  pg_catalog.pg_last_wal_replay_lsn()::text as lsn,
  greatest(
    (select timeline_id from pg_catalog.pg_control_checkpoint()),
    (select min_recovery_end_timeline from pg_catalog.pg_control_recovery()),
    (select received_tli from pg_catalog.pg_stat_wal_receiver)
  )::text as timeline`

const replayStatement = `select pg_catalog.pg_is_in_recovery() as standby, pg_catalog.pg_last_wal_replay_lsn()::text as lsn`

const nothing: WalPosition = { timeline: 0, lsn: 0n }

/** The replica does not respond to its check. */
class Abandoned extends Error {}

type Running = { readonly attempt: Attempt; readonly reject: (error: Error) => void }

export class Replica {
  readonly name: string
  readonly #options: ReplicaOptions
  readonly #checks = new SingleFlight(() => this.#check())
  readonly #watch = new ReplayWatch(() => this.#refresh())
  readonly #running = new Set<Running>()
  #database: ReplicaDatabase
  /** Whether the pool may have connections. */
  #isOpen = false
  #isClosed = false
  #replayed: WalPosition = nothing
  /** When it was last known to have all that the primary had; undefined if it is not known. */
  #currentAt: number | undefined
  /** Why it cannot be used, apart from its lag. */
  #fault: string | undefined = 'it has not been checked yet'
  /** The reason that was reported last. */
  #reported: string | undefined = this.#fault
  #reads = 0
  #reruns = 0

  constructor(options: ReplicaOptions) {
    this.name = options.name
    this.#options = options
    this.#database = options.open()
  }

  /** Whether reads may run on it now. */
  get isUsable(): boolean {
    return this.#fault === undefined && this.#lag <= this.#options.maxLag
  }

  /** Number of reads that run on it. */
  get outstanding(): number {
    return this.#running.size
  }

  /** The position up to which it is known to have replayed the log. */
  get replayed(): WalPosition {
    return this.#replayed
  }

  get statistics(): ReplicaStatistics {
    const { name, isUsable } = this
    return { name, isUsable, lagSeconds: this.#lag / 1000, reads: this.#reads, reruns: this.#reruns }
  }

  /**
   * Runs a transaction.
   *
   * @throws the errors of `Database.run`; Abandoned when the replica is found not to respond before the first row
   */
  run(transaction: RestTransaction, options: TransactionOptions): Promise<TransactionResult> {
    this.#reads++
    this.#isOpen = true
    return new Promise((resolve, reject) => {
      const attempt = new Attempt(transaction)
      const running: Running = { attempt, reject }
      this.#running.add(running)
      this.#database.run(attempt.transaction, options).then(
        (result) => {
          if (this.#running.delete(running)) resolve(result)
          else result.arriving?.drop()
        },
        (error: Error) => {
          if (!this.#running.delete(running)) return
          if (error !== attempt.refusal) this.#notice(error)
          reject(attempt.refusal === error ? new Refused(error) : error)
        },
      )
    })
  }

  /** Counts a read that runs again on the primary. */
  countRerun(): void {
    this.#reruns++
  }

  /**
   * Waits until it has replayed a position, for some milliseconds at most.
   *
   * @param isPointless whether waiting may end without success
   */
  async reach(position: WalPosition, milliseconds: number, isPointless: () => boolean): Promise<boolean> {
    const hasIt = (): boolean => this.isUsable && hasReached(this.#replayed, position)
    await this.#watch.wait(() => hasIt() || isPointless(), milliseconds)
    return hasIt()
  }

  /** Checks it now. Never rejects. */
  check(): Promise<void> {
    return this.#checks.run()
  }

  /** Replaces all open connections; running reads finish first. */
  renewConnections(time: number, signal?: AbortSignal): Promise<void> {
    return this.#database.renewConnections(time, signal)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#options.checker.close()
    await this.#database.close()
  }

  get #lag(): number {
    return this.#currentAt === undefined ? Infinity : performance.now() - this.#currentAt
  }

  /** Stops using it until the next successful check, if an error means that it cannot be reached. */
  #notice(error: Error): void {
    const isBusy = error instanceof ConnectionError && error.kind !== 'not connected'
    // A recovery conflict may end the connection of a single query.
    if (isBusy || sqlState(error) === conflict || !isUnreachable(error)) return
    this.#setFault(error.message)
    void this.check()
  }

  async #refresh(): Promise<void> {
    const [row] = await this.#database.query(replayStatement, [])
    this.#isOpen = true
    if (row?.standby !== true) this.#setFault(notStandby)
    else this.#advance(this.#replayed.timeline, row.lsn)
  }

  async #check(): Promise<void> {
    const { checker, primary } = this.#options
    try {
      const row = await checker.ask(checkStatement)
      if (this.#isClosed) return
      const state = primary()
      this.#advance(Number(row.timeline), row.lsn)
      if (row.standby !== true) this.#setFault(notStandby)
      else if (!state) this.#setFault('the primary has not been checked yet')
      else if (state.identity !== row.identity) this.#setFault('it is not a replica of the same database')
      else if (state.timeline !== this.#replayed.timeline) {
        this.#setFault(`it is not known to follow the primary on timeline ${state.timeline}`)
      } else {
        this.#currentAt = state.currentAt(this.#replayed, performance.now())
        this.#setFault(undefined)
      }
    } catch (error) {
      if (this.#isClosed) return
      this.#setFault(error instanceof Error ? error.message : String(error))
      this.#abandonAll()
    }
  }

  #advance(timeline: number, lsn: unknown): void {
    const parsed = typeof lsn === 'string' ? parseLsn(lsn) : undefined
    if (parsed === undefined || Number.isNaN(timeline)) return
    // Answers of several connections may arrive out of order. A server that was set up again may be behind.
    const isOlder = timeline === this.#replayed.timeline && parsed < this.#replayed.lsn
    if (!isOlder || this.#fault !== undefined) this.#replayed = { timeline, lsn: parsed }
  }

  #setFault(fault: string | undefined): void {
    this.#fault = fault
    const { maxLag, onChange } = this.#options
    const isCurrent = this.#lag <= maxLag
    const reason = fault ?? (isCurrent ? undefined : `it lags by more than ${maxLag / 1000} seconds`)
    if (reason === this.#reported) return
    this.#reported = reason
    onChange({ replica: this.name, reason })
  }

  /**
   * Runs the reads that wait for it on the primary, and leaves its connections to themselves: they may stay open for
   * many minutes without a response.
   */
  #abandonAll(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const abandoned = this.#database
    this.#database = this.#options.open()
    for (const running of [...this.#running]) {
      if (running.attempt.hasBegun) continue
      this.#running.delete(running)
      running.attempt.abandon()
      running.reject(new Abandoned('the replica does not respond'))
    }
    void abandoned.close().catch(() => undefined)
  }
}

const notStandby = 'it is not a standby'
/** serialization_failure, also of a conflict with recovery. */
const conflict = '40001'

/** The error of a check of the request itself, which would be the same on the primary. */
export class Refused extends Error {
  readonly error: Error

  constructor(error: Error) {
    super(error.message)
    this.error = error
  }
}
