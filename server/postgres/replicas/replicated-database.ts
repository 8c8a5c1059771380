// A primary with replicas as one database: reads run on replicas, everything else on the primary.
import { hasReached, unreachable, type WalPosition } from '../../common/wal-position.ts'
import type {
  BatchTransaction,
  Caller,
  ChannelEvent,
  Consistency,
  EngineDatabase,
  RestTransaction,
  RunSteps,
  StagedRows,
  TransactionOptions,
  TransactionResult,
} from '../../rest/database.ts'
import { ConnectionError } from '../connection-error.ts'
import { isUnreachable } from '../database-error.ts'
import { StatementError } from '../protocol/statement-error.ts'
import { PrimaryPositions } from './primary-positions.ts'
import { ReplicaMonitor } from './replica-monitor.ts'
import {
  Refused,
  Replica,
  type Checker,
  type ReplicaDatabase,
  type ReplicaEvent,
  type ReplicaStatistics,
} from './replica.ts'
import { isOfReplica, runsAgain } from './rerun.ts'

export type ReplicatedOptions = {
  /** A connection to the primary for checks. */
  readonly checker: Checker
  readonly replicas: readonly {
    readonly name: string
    readonly open: () => ReplicaDatabase
    readonly checker: Checker
  }[]
  /** Maximum lag of a replica that is used, in seconds. */
  readonly maxLag: number
  /** Milliseconds that a read waits for a replica to replay the position of its client's last write. */
  readonly wait: number
  /** Milliseconds between two checks of a server; by default 500. */
  readonly checkInterval?: number
  /** Called when a replica becomes usable, and when it no longer is. Must not throw. */
  readonly onChange?: (event: ReplicaEvent) => void
}

const defaultCheckInterval = 500
/** Number of replicas, the furthest ones, that are asked whether they have replayed a position. */
const mostAsked = 2
/** Number of reads that wait for replicas at the same time. Further ones run on the primary, which limits them as well. */
export const mostWaiting = 1000
/** Seconds beyond the maximum lag for which the position of a write is valid. */
const margin = 60

export class ReplicatedDatabase implements EngineDatabase {
  readonly settlingTime: number
  readonly #primary: EngineDatabase
  readonly #replicas: readonly Replica[]
  readonly #monitor: ReplicaMonitor
  readonly #positions: PrimaryPositions
  readonly #wait: number
  #isStarted = false
  /** Number of reads that wait for a replica to replay a position. */
  #waiting = 0
  /** Where the search for an idle replica begins, so that equally busy ones take turns. */
  #turn = 0

  /** @param primary is not closed by `close` */
  constructor(primary: EngineDatabase, options: ReplicatedOptions) {
    const {
      checker,
      replicas,
      maxLag,
      wait,
      checkInterval = defaultCheckInterval,
      onChange = () => undefined,
    } = options
    this.settlingTime = Math.ceil(maxLag) + margin
    this.#primary = primary
    this.#wait = wait
    this.#positions = new PrimaryPositions(primary.query)
    const monitor = new ReplicaMonitor(checker, maxLag * 1000, checkInterval)
    this.#monitor = monitor
    this.#replicas = replicas.map(
      (replica) => new Replica({ ...replica, primary: () => monitor.primary, maxLag: maxLag * 1000, onChange }),
    )
  }

  /** Begins to check the replicas, which are not used before. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#monitor.start(this.#replicas)
    void this.#positions.inspect()
  }

  get statistics(): readonly ReplicaStatistics[] {
    return this.#replicas.map((replica) => replica.statistics)
  }

  run(transaction: RestTransaction, options: TransactionOptions): Promise<TransactionResult> {
    if (mayRunOnReplica(transaction)) return this.#read(transaction, options)
    return this.#write(transaction, () => this.#primary.run(transaction, options))
  }

  batch<T>(transaction: BatchTransaction, use: (run: RunSteps) => Promise<T>, options: TransactionOptions): Promise<T> {
    return this.#write(transaction, () => this.#primary.batch(transaction, use, options))
  }

  get importRows(): EngineDatabase['importRows'] {
    const primary = this.#primary
    if (!primary.importRows) return undefined
    return (transaction: RestTransaction, rows: StagedRows) =>
      this.#write(transaction, () => primary.importRows?.(transaction, rows) ?? notReached())
  }

  read: EngineDatabase['read'] = (use) => {
    this.start()
    return this.#primary.read(use)
  }

  get query(): EngineDatabase['query'] {
    return this.#primary.query
  }

  listen(channel: string, onEvent: (event: ChannelEvent) => void): Promise<() => Promise<void>> {
    return this.#primary.listen(channel, onEvent)
  }

  async renewConnections(time: number, signal?: AbortSignal): Promise<void> {
    void this.#positions.inspect()
    await Promise.all([this.#primary, ...this.#replicas].map((database) => database.renewConnections(time, signal)))
  }

  /** Stops checking, and closes the connections to the replicas. */
  async close(): Promise<void> {
    await Promise.all([this.#monitor.stop(), ...this.#replicas.map((replica) => replica.close())])
  }

  async #read(transaction: RestTransaction, options: TransactionOptions): Promise<TransactionResult> {
    const chosen = this.#choose(transaction)
    const replica = chosen instanceof Promise ? await chosen : chosen
    if (!replica) return this.#primary.run(transaction, options)
    try {
      return await replica.run(transaction, options)
    } catch (error) {
      if (error instanceof Refused) throw error.error
      if (transaction.receiver?.hasBegun === true || !runsAgain(error)) throw error
      replica.countRerun()
      return this.#primary.run(transaction, options).catch((second: unknown) => {
        // Without the primary, the answer of the replica is the best one.
        throw isUnreachable(second) && !isOfReplica(error) ? error : second
      })
    }
  }

  /** Runs what may write, and reports its position. */
  async #write<T>({ readOnly, rollback, consistency, ...rest }: WriteParts, run: () => Promise<T>): Promise<T> {
    if (!consistency || readOnly || rollback || rest.hasNoEffect === true) return run()
    try {
      const result = await run()
      consistency.written(await this.#positions.next())
      return result
    } catch (error) {
      // When the connection was lost, the commit may still take effect.
      if (isOfLostCommit(error)) consistency.written(unreachable)
      throw error
    }
  }

  /** The replica for a read; undefined for the primary. */
  #choose({ consistency, caller }: RestTransaction): Replica | undefined | Promise<Replica | undefined> {
    const after = consistency?.after
    const usable = this.#replicas.filter((replica) => replica.isUsable)
    if (after === undefined) return this.#leastBusy(usable)
    const fresh = this.#leastBusy(usable.filter(({ replayed }) => hasReached(replayed, after)))
    if (fresh || this.#wait === 0 || this.#waiting >= mostWaiting) return fresh
    const candidates = usable
      .filter(({ replayed }) => replayed.timeline >= after.timeline)
      .sort((a, b) => (a.replayed.lsn < b.replayed.lsn ? 1 : a.replayed.lsn > b.replayed.lsn ? -1 : 0))
      .slice(0, mostAsked)
    return candidates.length === 0 ? undefined : this.#firstToReach(candidates, after, caller)
  }

  /** The first replica that has replayed a position; undefined if none does in time, or when the caller has left. */
  #firstToReach(candidates: readonly Replica[], after: WalPosition, caller: Caller): Promise<Replica | undefined> {
    this.#waiting++
    return new Promise<Replica | undefined>((resolve) => {
      let isFound = false
      const isPointless = (): boolean => isFound || caller.isGone
      let left = candidates.length
      for (const replica of candidates) {
        void replica.reach(after, this.#wait, isPointless).then((hasReached) => {
          left--
          if (hasReached) {
            isFound = true
            resolve(replica)
          } else if (left === 0) resolve(undefined)
        })
      }
    }).finally(() => this.#waiting--)
  }

  #leastBusy(replicas: readonly Replica[]): Replica | undefined {
    let best: Replica | undefined
    this.#turn++
    for (let index = 0; index < replicas.length; index++) {
      const replica = replicas[(this.#turn + index) % replicas.length]
      if (replica && (!best || replica.outstanding < best.outstanding)) best = replica
    }
    return best
  }
}

type WriteParts = Pick<RestTransaction, 'readOnly' | 'rollback'> & {
  readonly consistency?: Consistency | undefined
  readonly hasNoEffect?: boolean
}

/** A standby has no serializable transactions. What may have an effect must not run again on the primary. */
const mayRunOnReplica = ({ mayUseReplica, readOnly, hasNoEffect, claim, isolation }: RestTransaction): boolean =>
  mayUseReplica === true && readOnly && hasNoEffect && claim === undefined && isolation !== 'serializable'

/** Whether an error leaves open if the transaction was committed. */
const isOfLostCommit = (error: unknown): boolean =>
  isUnreachable(error) && !(error instanceof ConnectionError) && !(error instanceof StatementError && !isFatal(error))

const isFatal = ({ server }: StatementError): boolean => server.severity === 'FATAL' || server.severity === 'PANIC'

const notReached = (): never => {
  throw new Error('the primary has no imports')
}
