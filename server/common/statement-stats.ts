// Execution statistics of one statement, which predict the next execution.

/** When a statement counts as fast. Part of `sharingPolicy`. */
export const trustPolicy = {
  /**
   * Consecutive fast executions with small results after which a statement counts as fast. PostgreSQL plans a statement
   * with the parameters of each execution first, and settles on a plan after five.
   */
  probation: 20,
  /** Milliseconds above which an execution is not fast: as many as a read may delay others. */
  longRun: 25,
  /** Bytes of a result above which an execution is not fast: as many as a socket reads at once. */
  largeResult: 64 * 1024,
  /**
   * Executions per window in which the fastest one is searched. Of 16 executions on a loaded machine all may be delayed:
   * 2 to 10 % of inserts counted as long and ran on separate connections, which delayed the others (4,700 or 2,500
   * requests a second from one measurement to the next). Of 100 executions at least one is not delayed (c01d8e1).
   */
  window: 100,
  /**
   * Milliseconds that a window has at least. When this process has more to do than it can, all of 100 executions in a row may seem
   * to take longer than they do, because it reads the responses late.
   */
  windowTime: 1000,
} as const

const { probation, longRun, largeResult, window, windowTime } = trustPolicy

/** What is left of the size of the largest result after a smaller one: a tenth after 230 of them. */
const forgetting = 0.99

export class StatementStats {
  #fastRuns = 0
  #inWindow = 0
  #windowStart = 0
  /** The shortest execution of the current window. */
  #quickest = Infinity
  /** The least that the shortest execution of the current window, and of the last one, took. */
  #least = Infinity
  #lastLeast = Infinity
  #estimate = Infinity
  #largest = Infinity

  /**
   * Records an execution.
   *
   * @param milliseconds its duration without queueing
   * @param bytes of its result
   * @param least milliseconds that it took at least: less than its duration if this process may have read the result late
   * @param now a clock in milliseconds
   */
  record(milliseconds: number, bytes: number, least = milliseconds, now = performance.now()): void {
    this.#fastRuns = least > longRun || bytes > largeResult ? 0 : this.#fastRuns + 1
    this.#largest = this.#largest === Infinity ? bytes : Math.max(bytes, this.#largest * forgetting)
    this.#quickest = Math.min(this.#quickest, milliseconds)
    this.#least = Math.min(this.#least, least)
    if (this.#inWindow++ === 0) this.#windowStart = now
    if (this.#inWindow < window || now - this.#windowStart < windowTime) return
    // When a process with too much to do reads all results late, that must not make statements look slow: they would no longer
    // share connections, and it would have even more to do.
    this.#estimate = Math.max(this.expected, this.#least)
    this.#lastLeast = this.#least
    this.#quickest = this.#least = Infinity
    this.#inWindow = 0
  }

  /** Whether all recent executions were fast and had small results. */
  get isFast(): boolean {
    return this.#fastRuns >= probation
  }

  /** Bytes of the largest recent result, which counts less with each run; infinite before the first. */
  get largest(): number {
    return this.#largest
  }

  /**
   * Expected milliseconds of an undisturbed execution: the minimum, because all others include waiting for CPU, for this
   * process or for each other. It grows only when a whole window shows that executions take longer.
   */
  get expected(): number {
    return Math.min(this.#estimate, this.#quickest)
  }

  /** Milliseconds that an undisturbed execution takes at least: fewer than expected, if this process reads the results late. */
  get least(): number {
    return Math.min(this.#lastLeast, this.#least)
  }
}
