// Detects that this process has more to do than its processor can: the event loop then takes so long for a round that all
// requests wait. From then on, only as many are served as leave it time. As in CoDel, one long round is no overload: a large body
// or a garbage collection takes a while, too.
// https://www.rfc-editor.org/rfc/rfc8289
import { performance } from 'node:perf_hooks'
import { ServedRate } from './served-rate.ts'

/** Milliseconds between two samples. */
const tick = 20
/** Rounds that take longer than this share of the wait are too long: a request needs several, until its response. */
const share = 0.4
/** Number of consecutive late samples, and their milliseconds, that make an overload. */
const lateSamples = 3
const lateTime = 300
/** With fewer requests than this since the last sample, something else makes the event loop late: refusing them is no help. */
const fewRequests = 5
/** In an overload, rounds may take only this share of that time. It ends after so many milliseconds without a refusal. */
const standing = { time: 5000, share: 0.5 }
/** Milliseconds after that in which a single late sample makes another overload. */
const memory = 5000

export class LoopDelay {
  readonly #limit: number
  readonly #onOverload: (isOverloaded: boolean) => void
  /** When the timer is due, and when the last sample was taken, in milliseconds. */
  #due = Infinity
  #lastSample = 0
  #idleTime = 0
  /** Requests since the last sample, and those of them that are served. */
  #requests = 0
  #served = 0
  #late = 0
  #lateSince = 0
  /** In an overload: the rate at which requests are served, and how many of them until the next sample. */
  #rate: ServedRate | undefined
  #budget = Infinity
  #overloadedUntil = -Infinity

  /**
   * @param wait milliseconds that requests may wait
   * @param onOverload called when an overload begins, and when it has ended
   */
  constructor(wait: number, onOverload: (isOverloaded: boolean) => void = () => undefined) {
    this.#limit = wait * share
    this.#onOverload = onOverload
  }

  /** Counts a request, refused ones included. */
  countRequest(now = performance.now()): void {
    this.#requests++
    // Timers do not run while more than a thousand sockets have data: libuv then reads them up to 48 times in one round.
    const longest = this.#rate ? 2 * tick : this.#limit
    if (now - this.#due > longest && now - this.#lastSample > longest) this.record(now - this.#due, now)
  }

  /** Whether a request is served. All are, unless there is an overload. */
  admit(): boolean {
    if (this.#served >= this.#budget) return false
    this.#served++
    return true
  }

  /**
   * Records a sample.
   *
   * @param delay milliseconds by which the event loop was late
   * @param now the time in milliseconds
   * @param idle milliseconds since the last sample in which the event loop had nothing to do
   */
  record(delay: number, now: number, idle = 0): void {
    const elapsed = Math.max(now - this.#lastSample, 1)
    const isLate = delay > this.#limit * (this.#rate ? standing.share : 1) && this.#requests >= fewRequests
    if (this.#rate) {
      this.#rate.adapt(isLate, Math.min(idle / elapsed, 1), this.#requests / elapsed)
      if (isLate || this.#served >= this.#budget) this.#overloadedUntil = now + standing.time
      else if (now >= this.#overloadedUntil) {
        this.#rate = undefined
        this.#onOverload(false)
      }
    } else if (!isLate) this.#late = 0
    else if (this.#isTooOften(delay, now)) {
      this.#rate = new ServedRate(this.#requests / elapsed)
      this.#overloadedUntil = now + standing.time
      this.#late = 0
      this.#onOverload(true)
    }
    this.#budget = this.#rate ? this.#rate.perMillisecond * tick : Infinity
    this.#lastSample = now
    this.#requests = this.#served = 0
  }

  /** Counts a late sample. */
  #isTooOften(delay: number, now: number): boolean {
    if (this.#late++ === 0) this.#lateSince = now - delay
    if (now < this.#overloadedUntil + memory) return true
    return this.#late >= lateSamples && now - this.#lateSince >= lateTime
  }

  /**
   * Takes samples until the returned function is called.
   *
   * @param begin the time in milliseconds
   * @returns stops it
   */
  start(begin = performance.now()): () => void {
    this.#lastSample = begin
    this.#due = this.#lastSample + tick
    this.#idleTime = performance.nodeTiming.idleTime
    const timer = setInterval(() => {
      const now = performance.now()
      const { idleTime } = performance.nodeTiming
      this.record(now - this.#due, now, idleTime - this.#idleTime)
      this.#idleTime = idleTime
      this.#due = now + tick
    }, tick)
    timer.unref()
    return () => clearInterval(timer)
  }
}
