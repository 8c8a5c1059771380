// The database as one request of a batch sees it: what it runs waits until the batch sends it.
import type { Database, RestTransaction, TransactionResult } from '../database.ts'

/** A transaction of a request that waits to be sent as a step of the batch. */
export type WaitingStep = {
  readonly transaction: RestTransaction
  readonly resolve: (result: TransactionResult) => void
  readonly reject: (error: Error) => void
}

export class PartDatabase implements Database {
  #waiting: WaitingStep | undefined
  #wake: (() => void) | undefined

  run(transaction: RestTransaction): Promise<TransactionResult> {
    return new Promise((resolve, reject) => {
      this.#waiting = { transaction, resolve, reject }
      this.#wake?.()
    })
  }

  /** What waits to be sent. */
  get waiting(): WaitingStep | undefined {
    return this.#waiting
  }

  /** Takes what waits to be sent. */
  take(): WaitingStep | undefined {
    const waiting = this.#waiting
    this.#waiting = undefined
    return waiting
  }

  /** Resolves when something waits to be sent. */
  whenWaiting(): Promise<void> {
    return this.#waiting ? Promise.resolve() : new Promise((resolve) => (this.#wake = resolve))
  }
}
