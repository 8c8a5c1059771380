// How runs of one statement have gone, to tell what the next one will be like.

/** Runs that have to be quick and small, one after the other, before a statement is trusted to be so again. */
const probation = 20
/** Milliseconds and bytes beyond which a run breaks that trust. */
const longRun = 25
export const largeResult = 64 * 1024
/**
 * Runs over which the quickest one is looked for. Of a few all may have been disturbed; and statements that are then
 * taken for long, and run each on a connection of its own, disturb each other.
 */
const window = 100

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
