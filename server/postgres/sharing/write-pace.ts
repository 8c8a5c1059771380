// Whether writes share connections. Commits on one connection follow each other, while those of several connections reach the
// disk together: sharing wins where commits are fast, and loses where they are slow.
import { sharingPolicy } from './policy.ts'

const { slow, window, most, pause, lasting } = sharingPolicy.commits

/** How fast the writes are that share the connections of one pool. */
export class WritePace {
  #ended = 0
  #slow = 0
  #pausedUntil = 0
  #pause: number = pause.first
  /** Writes since the last pause. */
  #shared = 0

  /**
   * Records a write that has shared a connection.
   *
   * @param milliseconds from the end of the write before to the end of its own commit, without the time for which this process
   *   may have read the response late
   * @param now as `performance.now()`
   */
  record(milliseconds: number, now: number): void {
    // Writes that were sent before the pause are not part of the next attempt.
    if (now < this.#pausedUntil) return
    this.#ended++
    this.#shared++
    if (milliseconds > slow) this.#slow++
    if (this.#slow > most) this.#stop(now)
    else if (this.#ended < window) return
    this.#ended = this.#slow = 0
  }

  #stop(now: number): void {
    if (this.#shared >= lasting) this.#pause = pause.first
    this.#pausedUntil = now + this.#pause
    this.#pause = Math.min(2 * this.#pause, pause.longest)
    this.#shared = 0
  }

  /** Whether further writes may share connections. */
  mayShare(now = performance.now()): boolean {
    return now >= this.#pausedUntil
  }
}
