// Pauses before processes of a function that keeps failing are started again.

const firstPause = 250
const longestPause = 10_000
/** Failures after which pauses begin: one that fails now and then is replaced at once. */
const freeFailures = 2

export class RestartPause {
  #failures = 0
  #until = 0

  /** Milliseconds until a process may be started. */
  get remaining(): number {
    return Math.max(0, this.#until - performance.now())
  }

  /** A process failed. Failures in a row double the pause. */
  failed(isStart: boolean): void {
    this.#failures++
    const doublings = this.#failures - (isStart ? 1 : freeFailures + 1)
    if (doublings >= 0)
      this.#until = performance.now() + Math.min(longestPause, firstPause * 2 ** Math.min(doublings, 10))
  }

  /** A call was completed, so the function works. */
  worked(): void {
    this.#failures = 0
    this.#until = 0
  }
}
