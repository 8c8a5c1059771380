// Limits a queue by the time that requests wait in it, so that more requests than can be served do not make all of them
// late. As in CoDel, a queue may be long for a short time, but must not stay so: a queue that stood is then kept short,
// because requests that wait cost memory and garbage collections, and their clients the time.
// https://www.rfc-editor.org/rfc/rfc8289, https://queue.acm.org/detail.cfm?id=2839461

/** A queue is judged by the requests that left it in the last one or two windows of this many milliseconds. */
const window = 250
/** Milliseconds for which requests must have waited without a pause until the queue is no longer a short burst. */
const burstTime = 500
/** A burst may make requests wait this many times as long. */
const burstFactor = 3
/** Milliseconds of waiting before which the rate is not known well enough to refuse anything. */
const shortest = 100
/** A queue that emptied sooner tells the rate, too, if at least this many requests left it. */
const enough = 20
/** After a queue that was no burst was too long: milliseconds for which requests may wait only this share of the time. */
const standing = { time: 5000, share: 0.1 }
/** A queue of fewer requests per place costs little, so it may make them wait as long as before. */
const few = 10
/**
 * As long as no request gets its turn, this many per place may wait: all places may be held by statements that wait for
 * a lock, after which the queue empties quickly. They wait no longer than the timeout of the pool.
 */
const many = 100
/** Milliseconds after that in which no queue counts as a burst. */
const memory = 5000

/**
 * The expected wait of a queue: its length divided by the rate at which requests get their turn. In contrast to how long
 * others have waited, it is right at once when many requests arrive together.
 */
export class QueueLimit {
  readonly #wait: number
  readonly #now: () => number
  /** Since when there has been a request in the queue at any time. */
  #since: number | undefined
  /** When the first request of this queue got its turn. */
  #firstTurn: number | undefined
  #windowStart = 0
  #inWindow = 0
  #lastStart = 0
  #inLast = 0
  /** The last known rate, in requests per millisecond that got their turn. */
  #rate = 0
  /** When it was measured. */
  #ratedAt = -Infinity
  #standingUntil = -Infinity

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
    this.#since ??= this.#now()
  }

  /**
   * Requests get their turn.
   *
   * @param remaining places of the queue that are still taken
   * @param count requests that waited in the place that became free
   */
  leave(remaining: number, count = 1): void {
    if (this.#firstTurn === undefined) {
      this.#firstTurn = this.#windowStart = this.#lastStart = this.#now()
    }
    this.#inWindow += count
    if (remaining > 0) return
    if (this.#inWindow + this.#inLast >= enough) this.#measure(this.#now())
    this.#empty()
  }

  /**
   * A request no longer waits, because its client is gone or its time is up: this says nothing about the rate.
   *
   * @param remaining places of the queue that are still taken
   */
  abandon(remaining: number): void {
    if (remaining === 0) this.#empty()
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
    const isStanding = now < this.#standingUntil
    const busy = this.#firstTurn === undefined ? 0 : now - this.#firstTurn
    if (busy >= shortest || this.#inWindow + this.#inLast >= enough) this.#measure(now)
    else if (!isStanding || now - this.#ratedAt > 2 * window)
      return length >= many * places && now - this.#since >= shortest
    const isBurst = busy < burstTime && now >= this.#standingUntil + memory
    const isKeptShort = isStanding && length >= few * places
    const longest = this.#wait * (isKeptShort ? standing.share : isBurst ? burstFactor : 1)
    if (length / this.#rate <= longest) return false
    if (!isBurst && !isStanding) this.#standingUntil = now + standing.time
    return true
  }

  #empty(): void {
    this.#since = this.#firstTurn = undefined
    this.#inWindow = this.#inLast = 0
  }

  /** Measures the rate, unless no request got its turn in two windows: the last known rate stays the best guess. */
  #measure(now: number): void {
    if (now - this.#windowStart >= window) {
      this.#lastStart = this.#windowStart
      this.#inLast = this.#inWindow
      this.#windowStart = now
      this.#inWindow = 0
    }
    const turns = this.#inWindow + this.#inLast
    if (turns === 0) return
    this.#rate = turns / (now - this.#lastStart)
    this.#ratedAt = now
  }
}
