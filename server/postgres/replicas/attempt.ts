// An attempt to run a transaction on a replica, which can be abandoned so that the transaction runs on the primary.
import type { Caller, PipelineStatement, RestTransaction } from '../../rest/database.ts'
import type { Flow, ColumnDescription, RowReceiver } from '../../rest/row-transfer.ts'

/**
 * A statement that fails unless the server has replayed a position. The connections to a replica may lead to several
 * servers, so the check before the attempt may have been on another one.
 */
const requirePosition = (lsn: bigint): PipelineStatement => ({
  text: `select (case when pg_catalog.pg_last_wal_replay_lsn() >= $1::pg_catalog.pg_lsn then '1' else 'not replayed' end)::int`,
  values: [`${(lsn >> 32n).toString(16)}/${(lsn & 0xffffffffn).toString(16)}`],
  hasNoEffect: true,
})

/** Who waits for the result of an attempt: the caller of the transaction, until the attempt is abandoned. */
export class Attempt implements Caller {
  /** The transaction as the replica runs it. */
  readonly transaction: RestTransaction
  readonly #caller: Caller
  readonly #receiver: AttemptReceiver | undefined
  #refusal: Error | undefined
  #listeners: Set<() => void> | undefined
  #isAbandoned = false

  constructor(transaction: RestTransaction) {
    const { caller, receiver, precheck, consistency } = transaction
    const before = consistency?.after
      ? [requirePosition(consistency.after.lsn), ...transaction.before]
      : transaction.before
    this.#caller = caller
    this.#receiver = receiver && new AttemptReceiver(receiver)
    this.transaction = {
      ...transaction,
      before,
      caller: this,
      receiver: this.#receiver,
      precheck: precheck && {
        statements: precheck.statements,
        check: (results) => (this.#refusal = precheck.check(results)),
      },
    }
  }

  /** The error with which the precheck has refused the transaction. */
  get refusal(): Error | undefined {
    return this.#refusal
  }

  get isGone(): boolean {
    return this.#isAbandoned || this.#caller.isGone
  }

  readonly onGone = (listener: () => void): (() => void) => {
    const remove = this.#caller.onGone(listener)
    const listeners = (this.#listeners ??= new Set())
    listeners.add(listener)
    return () => {
      remove()
      listeners.delete(listener)
    }
  }

  /** Whether rows have been passed on, so that the transaction must not run again. */
  get hasBegun(): boolean {
    return this.#receiver?.hasBegun === true
  }

  /** Cancels what runs, and passes on no row from now on. */
  abandon(): void {
    this.#isAbandoned = true
    this.#receiver?.detach()
    for (const listener of [...(this.#listeners ?? [])]) listener()
  }
}

/** Passes rows to a receiver until it is detached. */
class AttemptReceiver implements RowReceiver {
  readonly #receiver: RowReceiver
  #isDetached = false

  constructor(receiver: RowReceiver) {
    this.#receiver = receiver
  }

  detach(): void {
    this.#isDetached = true
  }

  get namesOf(): RowReceiver['namesOf'] {
    return this.#receiver.namesOf
  }

  get hasBegun(): boolean {
    return !this.#isDetached && this.#receiver.hasBegun
  }

  names(columns: readonly ColumnDescription[]): void {
    if (!this.#isDetached) this.#receiver.names(columns)
  }

  columns(columns: readonly ColumnDescription[]): boolean {
    return this.#isDetached || this.#receiver.columns(columns)
  }

  row(buffer: Buffer, start: number, end: number, flow: Flow): boolean {
    return this.#isDetached || this.#receiver.row(buffer, start, end, flow)
  }

  flush(): void {
    if (!this.#isDetached) this.#receiver.flush()
  }

  measureRate(): number {
    return this.#isDetached ? Infinity : this.#receiver.measureRate()
  }

  giveUp(): void {
    if (!this.#isDetached) this.#receiver.giveUp()
  }
}
