// Memory for the bodies that are being received and carried out: one bound for the whole process.

/** Waits until its bytes fit. */
type Waiter = {
  readonly share: BodyShare
  readonly bytes: number
  readonly resolve: () => void
  readonly timer: NodeJS.Timeout
}

/** What one body takes of the budget. */
export type BodyShare = {
  /**
   * Takes what the body has grown by.
   *
   * @param size of the body so far
   * @returns undefined when it fits; otherwise when there is room. Rejects with the budget's error after its patience.
   */
  readonly grow: (size: number) => Promise<void> | undefined
  /** Gives everything back, and ends waiting. */
  readonly release: () => void
}

export type BodyBudgetOptions = {
  /** Bytes. */
  readonly limit: number
  /** Milliseconds that a body waits for room. */
  readonly maxWait: number
  /** The error of a body that has waited for too long. */
  readonly exhausted: () => Error
}

/**
 * Shares a number of bytes among bodies in the order in which they need them. Bytes count when they have arrived, so that
 * an announced length holds up nobody. When the budget is exhausted, the body that has waited longest may go beyond it
 * until it is released: so one always goes on, and memory is bounded by the budget and one body more.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  readonly #waiting: Waiter[] = []
  #used = 0
  #exempt: BodyShare | undefined

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /** Bytes that are taken. */
  get used(): number {
    return this.#used
  }

  /** Begins a body; it takes nothing yet. */
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
