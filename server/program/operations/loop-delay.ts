// Detects that this process has more to do than its processor can: the event loop then takes so long for a round that all
// requests wait. As in CoDel, one long round is no overload: a large body or a garbage collection takes a while, too.
// https://www.rfc-editor.org/rfc/rfc8289

/** Milliseconds between two samples. */
const tick = 20
/** Rounds that take longer than this share of the wait are too long: a request needs several, until its response. */
const share = 0.4
/** Number of consecutive late samples, and their milliseconds, that make an overload. */
const lateSamples = 3
const lateTime = 300
/** With fewer requests than this since the last sample, something else makes the event loop late: refusing them is no help. */
const fewRequests = 5
/** After an overload has begun: milliseconds for which rounds may take only this share of the time, and a single late sample counts. */
const standing = { time: 5000, share: 0.1 }
/** Milliseconds after that in which a single late sample makes another overload. */
const memory = 5000

export class LoopDelay {
  readonly #limit: number
  #requests = 0
  #late = 0
  #lateSince = 0
  #standingUntil = -Infinity
  #isOverloaded = false

  /** @param wait milliseconds that requests may wait */
  constructor(wait: number) {
    this.#limit = wait * share
  }

  get isOverloaded(): boolean {
    return this.#isOverloaded
  }

  /** Counts a request, refused ones included. */
  countRequest(): void {
    this.#requests++
  }

  /**
   * Records a sample.
   *
   * @param delay milliseconds by which the event loop was late
   * @param now the time in milliseconds
   */
  record(delay: number, now: number): void {
    const requests = this.#requests
    this.#requests = 0
    const isStanding = now < this.#standingUntil
    if (delay <= this.#limit * (isStanding ? standing.share : 1) || requests < fewRequests) {
      this.#late = 0
      this.#isOverloaded = false
      return
    }
    if (this.#late++ === 0) this.#lateSince = now - delay
    const isLasting = this.#late >= lateSamples && now - this.#lateSince >= lateTime
    if (!isLasting && now >= this.#standingUntil + memory) return
    this.#isOverloaded = true
    if (!isStanding) this.#standingUntil = now + standing.time
  }

  /**
   * Takes samples until the returned function is called.
   *
   * @returns stops it
   */
  start(): () => void {
    let expected = performance.now() + tick
    const timer = setInterval(() => {
      const now = performance.now()
      this.record(now - expected, now)
      expected = now + tick
    }, tick)
    timer.unref()
    return () => clearInterval(timer)
  }
}
