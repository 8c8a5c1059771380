// Limits how many imports run at once in the process: each occupies a connection for as long as its body arrives.
import type { Caller } from './database.ts'
import { errors } from './errors.ts'

export type ImportSlotsOptions = {
  /** Maximum number of imports at once. */
  readonly slots: number
  /** Maximum time in milliseconds that an import waits for another one to end. */
  readonly maxWait: number
}

/** Admits imports, first come, first served. */
export class ImportSlots {
  readonly #options: ImportSlotsOptions
  readonly #waiting = new Set<() => void>()
  #used = 0

  constructor(options: ImportSlotsOptions) {
    this.#options = options
  }

  /** Imports that run now. */
  get used(): number {
    return this.#used
  }

  /**
   * Waits for a slot.
   *
   * @returns a function that releases it
   * @throws ApiError PGRSTX70 after the maximum wait; PGRSTX01 when the caller is gone
   */
  async take(caller: Caller): Promise<() => void> {
    if (this.#used >= this.#options.slots) await this.#wait(caller)
    else this.#used++
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      const [next] = this.#waiting
      // The slot passes to the next import without becoming free.
      if (next) next()
      else this.#used--
    }
  }

  #wait(caller: Caller): Promise<void> {
    const { slots, maxWait } = this.#options
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer)
        forget()
        this.#waiting.delete(proceed)
      }
      const fail = (error: Error): void => {
        stop()
        reject(error)
      }
      const proceed = (): void => {
        stop()
        resolve()
      }
      const timer = setTimeout(() => fail(errors.importSlots(slots)), maxWait)
      const forget = caller.onGone(() => fail(errors.callerGone()))
      this.#waiting.add(proceed)
    })
  }
}
