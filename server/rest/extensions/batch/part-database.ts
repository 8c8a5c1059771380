// The database as one request of a batch sees it: what it runs waits until the batch sends it.
import { errors } from '../../errors.ts'
import type { Database, RestTransaction, TransactionResult } from '../../database.ts'

/** A transaction of a request that waits to be sent as a step of the batch. */
export type WaitingStep = {
  readonly transaction: RestTransaction
  readonly resolve: (result: TransactionResult) => void
  readonly reject: (error: Error) => void
}

export class PartDatabase implements Database {
  #waiting: WaitingStep | undefined
  #wake: (() => void) | undefined
  #hasFailed = false
  #isRepetitionWanted = false

  run(transaction: RestTransaction): Promise<TransactionResult> {
    if (this.#hasFailed) {
      this.#isRepetitionWanted = true
      return Promise.reject(errors.failedTransaction())
    }
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        this.#hasFailed = true
        reject(error)
      }
      this.#waiting = { transaction, resolve, reject: fail }
      this.#wake?.()
    })
  }

  /** What waits to be sent. */
  get waiting(): WaitingStep | undefined {
    return this.#waiting
  }

  /** Whether the request has failed, and would run again with another plan, which needs a new transaction. */
  get isRepetitionWanted(): boolean {
    return this.#isRepetitionWanted
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
