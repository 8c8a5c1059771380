// An attempt to run a transaction on a replica, which can be abandoned so that the transaction runs on the primary.
import type { Caller, Flow, RawRow, RestTransaction, RowReceiver } from '../../rest/database.ts'

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
    const { caller, receiver, precheck } = transaction
    this.#caller = caller
    this.#receiver = receiver && new AttemptReceiver(receiver)
    this.transaction = {
      ...transaction,
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

  columns(names: readonly Buffer[]): void {
    if (!this.#isDetached) this.#receiver.columns(names)
  }

  begin(fields: RawRow, flow: Flow): void {
    if (!this.#isDetached) this.#receiver.begin(fields, flow)
  }

  row(buffer: Buffer, start: number, end: number): void {
    if (!this.#isDetached) this.#receiver.row(buffer, start, end)
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
