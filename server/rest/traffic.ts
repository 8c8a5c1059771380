// Tells whether there are requests, which a reload of the schema cache leaves the processors.

/** Milliseconds without a request after which there is no traffic. */
const lull = 1000

/** Shared by all callers: it knows when the last request arrived, and nothing else of it. */
export class Traffic {
  readonly #now: () => number
  #last = -Infinity

  /** @param now the time in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Counts a request that has arrived. */
  count(): void {
    this.#last = this.#now()
  }

  /** Whether no request has arrived for a second. */
  get isQuiet(): boolean {
    return this.#now() - this.#last >= lull
  }
}
