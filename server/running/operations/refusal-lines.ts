// Limits the lines of single refusals in the log, which a flood must not fill.

/** Lines per second. */
const maxLines = 10
const second = 1000

export class RefusalLines {
  readonly #now: () => number
  #since = -Infinity
  #lines = 0

  /** @param now a clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether a refusal may have a line of its own; counts it. */
  next(): boolean {
    const time = this.#now()
    if (time - this.#since >= second) {
      this.#since = time
      this.#lines = 0
    }
    return this.#lines++ < maxLines
  }
}
