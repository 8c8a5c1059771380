// Execution statistics of one statement, which predict the next execution.

/** Consecutive fast executions with small results after which a statement counts as fast. */
const requiredFastRuns = 20
/** Milliseconds and bytes above which an execution is not fast. */
const longRun = 25
export const largeResult = 64 * 1024
/**
 * Executions per window in which the fastest one is searched. In a small window all of them may have been delayed: the
 * statement would then count as long and run on separate connections, which would delay it further.
 */
const window = 100

export class StatementStats {
  #fastRuns = 0
  #inWindow = 0
  #quickest = Infinity
  #lastQuickest = Infinity

  /** Records an execution: its milliseconds without queueing, and the bytes of its result. */
  record(milliseconds: number, bytes: number): void {
    this.#fastRuns = milliseconds > longRun || bytes > largeResult ? 0 : this.#fastRuns + 1
    this.#quickest = Math.min(this.#quickest, milliseconds)
    if (++this.#inWindow < window) return
    this.#lastQuickest = this.#quickest
    this.#quickest = Infinity
    this.#inWindow = 0
  }

  /** Whether all recent executions were fast and had small results. */
  get isFast(): boolean {
    return this.#fastRuns >= requiredFastRuns
  }

  /**
   * Expected milliseconds of an undisturbed execution: the minimum, because all others include waiting for CPU, for this
   * process or for each other.
   */
  get expected(): number {
    return Math.min(this.#lastQuickest, this.#quickest)
  }
}
