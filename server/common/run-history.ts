// How runs of one statement have gone, to tell what the next one will be like.

/** When a statement is trusted to be brief. Part of `sharingPolicy`. */
export const trustPolicy = {
  /**
   * Runs that have to be quick and small, one after the other, before a statement is trusted to be so again. A statement
   * is first planned with the parameters of each run; PostgreSQL settles on a plan after five.
   */
  probation: 20,
  /** Milliseconds beyond which a run breaks that trust: as many as a read may hold up others. */
  longRun: 25,
  /** Bytes of a result beyond which a run breaks that trust: as many as a socket reads at once. */
  largeResult: 64 * 1024,
  /**
   * Runs over which the quickest one is looked for. Of 16 runs on a loaded machine all may have been disturbed: 2 to 10 %
   * of inserts were taken for long, and each, on a connection of its own, disturbed the others (4,700 or 2,500 requests a
   * second from one measurement to the next). Of 100 runs at least one is undisturbed (c01d8e1).
   */
  window: 100,
} as const

const { probation, longRun, largeResult, window } = trustPolicy

export class RunHistory {
  #trusted = 0
  #inWindow = 0
  #quickest = Infinity
  #lastQuickest = Infinity

  /** Notes a run: the milliseconds from its turn to its end, and the bytes of its result. */
  note(milliseconds: number, bytes: number): void {
    this.#trusted = milliseconds > longRun || bytes > largeResult ? 0 : this.#trusted + 1
    this.#quickest = Math.min(this.#quickest, milliseconds)
    if (++this.#inWindow < window) return
    this.#lastQuickest = this.#quickest
    this.#quickest = Infinity
    this.#inWindow = 0
  }

  /** Whether all runs of late were short and their results small. */
  get isTrusted(): boolean {
    return this.#trusted >= probation
  }

  /**
   * Milliseconds that a run takes when nothing disturbs it. The quickest run tells: the others wait for processors, for
   * this process, and for each other.
   */
  get expected(): number {
    return Math.min(this.#lastQuickest, this.#quickest)
  }
}
