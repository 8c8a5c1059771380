// Limits the memory for request bodies in the whole process.

/** A body that waits for memory. */
type Waiter = {
  readonly share: BodyShare
  readonly bytes: number
  readonly resolve: () => void
  readonly timer: NodeJS.Timeout
}

/** The share of one body in the budget. */
export type BodyShare = {
  /**
   * Reserves the bytes that the body has grown by.
   *
   * @param size bytes received so far
   * @returns undefined when they fit; otherwise a promise that resolves when there is room, and rejects with the error
   *   of the budget after the maximum wait
   */
  readonly grow: (size: number) => Promise<void> | undefined
  /** Releases all bytes, and stops waiting. */
  readonly release: () => void
}

export type BodyBudgetOptions = {
  /** Bytes. */
  readonly limit: number
  /** Maximum time in milliseconds that a body waits for memory. */
  readonly maxWait: number
  /** Creates the error for a body that has waited too long. */
  readonly exhausted: () => Error
}

/**
 * Distributes a number of bytes among bodies, first come, first served. Bytes count when they have arrived, so that a
 * declared length blocks no other request. When the budget is exhausted, the body that has waited longest may exceed it
 * until it is released. This prevents deadlocks, and limits memory to the budget plus one body.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  readonly #waiting: Waiter[] = []
  #used = 0
  #exempt: BodyShare | undefined

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /** Bytes in use. */
  get used(): number {
    return this.#used
  }

  /** Registers a body. It uses no memory yet. */
  open(): BodyShare {
    let taken = 0
    const share: BodyShare = {
      grow: (size) => {
        const bytes = size - taken
        taken = size
        if (share === this.#exempt || (this.#waiting.length === 0 && this.#used + bytes <= this.#options.limit)) {
          this.#used += bytes
          return undefined
        }
        return this.#wait(share, bytes).catch((error: unknown) => {
          taken -= bytes
          throw error
        })
      },
      release: () => {
        const index = this.#waiting.findIndex((waiter) => waiter.share === share)
        const [waiter] = index < 0 ? [] : this.#waiting.splice(index, 1)
        if (waiter) clearTimeout(waiter.timer)
        this.#used -= taken - (waiter?.bytes ?? 0)
        taken = 0
        if (this.#exempt === share) this.#exempt = undefined
        this.#serve()
      },
    }
    return share
  }

  #wait(share: BodyShare, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(this.#options.exhausted())
      }, this.#options.maxWait)
      const waiter = { share, bytes, resolve, timer }
      this.#waiting.push(waiter)
      this.#serve()
    })
  }

  #serve(): void {
    for (let front = this.#waiting[0]; front; front = this.#waiting[0]) {
      if (this.#used + front.bytes > this.#options.limit) {
        if (this.#exempt) return
        this.#exempt = front.share
      }
      this.#waiting.shift()
      clearTimeout(front.timer)
      this.#used += front.bytes
      front.resolve()
    }
  }
}
