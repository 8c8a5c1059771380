// Limits a queue by the time that requests wait in it, so that more requests than can be served do not make all of them
// late. As in CoDel, a queue may be long for a short time, but must not stay so.
// https://www.rfc-editor.org/rfc/rfc8289, https://queue.acm.org/detail.cfm?id=2209336

/** A queue is judged by the requests that left it in the last one or two windows of this many milliseconds. */
const window = 250
/** Milliseconds for which requests must have waited without a pause until the queue is no longer a short burst. */
const burstTime = 500
/** A burst may make requests wait this many times as long. */
const burstFactor = 3
/** Milliseconds of waiting before which the rate is not known well enough to refuse anything. */
const shortest = 100

/**
 * The expected wait of a queue: its length divided by the rate at which requests get their turn. In contrast to how long
 * others have waited, it is right at once when many requests arrive together.
 */
export class QueueLimit {
  readonly #wait: number
  readonly #now: () => number
  /** Since when there has been a request in the queue at any time. */
  #since: number | undefined
  #windowStart = 0
  #inWindow = 0
  #lastStart = 0
  #inLast = 0

  /**
   * @param wait milliseconds that requests may be expected to wait; 0: the queue is not limited
   * @param now a clock in milliseconds
   */
  constructor(wait: number, now: () => number = () => performance.now()) {
    this.#wait = wait
    this.#now = now
  }

  /** A request begins to wait. */
  begin(): void {
    if (this.#since !== undefined) return
    this.#since = this.#windowStart = this.#lastStart = this.#now()
    this.#inWindow = this.#inLast = 0
  }

  /**
   * A request no longer waits.
   *
   * @param remaining requests that still wait
   */
  leave(remaining: number): void {
    this.#inWindow++
    if (remaining === 0) this.#since = undefined
  }

  /**
   * Whether a further request would have to wait too long.
   *
   * @param length requests that wait
   * @param places requests that are served at once: twice as many may always wait, however slow they are
   */
  isExceeded(length: number, places: number): boolean {
    if (this.#wait === 0 || this.#since === undefined || length < 2 * places) return false
    const now = this.#now()
    const busy = now - this.#since
    if (busy < shortest) return false
    const limit = busy < burstTime ? this.#wait * burstFactor : this.#wait
    return this.#expectedWait(length, now) > limit
  }

  #expectedWait(length: number, now: number): number {
    if (now - this.#windowStart >= window) {
      this.#lastStart = this.#windowStart
      this.#inLast = this.#inWindow
      this.#windowStart = now
      this.#inWindow = 0
    }
    return (length * (now - this.#lastStart)) / (this.#inWindow + this.#inLast)
  }
}
