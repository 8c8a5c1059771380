// The rate at which a process serves requests while more arrive than it can serve. Refusals take time, too, and nothing says
// beforehand how many there will be, so the rate follows the time that is left: it grows while the event loop has more pauses
// than it needs, and falls while it has fewer. A loop without any pause serves less than one with a few, because what waits in
// it costs memory and garbage collections.
// https://nodejs.org/docs/latest-v20.x/api/perf_hooks.html#performancenodetimingidletime

/** The share of the time in which the event loop is to be idle, as an average over the last samples. */
const idleTarget = 0.04
/** The weight of the newest sample in that average. */
const newest = 0.3
/** The share by which the rate changes with each sample, for each share of idle time above or below the target. */
const gain = 0.3
/**
 * The share by which the rate falls with each late sample, down to a share of the rate before the first of them, and the share by
 * which it falls with those after that: most of them come from requests that had arrived before. The next late sample is a first
 * one again after so many others.
 */
const fall = { step: 0.15, remaining: 0.4, further: 0.02, samples: 25 }
/** The share of the arriving requests that is served at first. Those that were served until then say nothing: too many were. */
const first = 0.5
/** Requests per millisecond that are served in any case. */
const least = 0.05
/** The rate grows to this multiple of the arriving requests, so that it is near if they become fewer and then more again. */
const headroom = 1.5

export class ServedRate {
  #rate: number
  #idle = idleTarget
  /** What the rate falls to quickly; undefined unless one of the last samples was late. */
  #floor: number | undefined
  #samplesInTime = 0

  /** @param arrived requests per millisecond that arrived when the overload began */
  constructor(arrived: number) {
    this.#rate = Math.max(least, arrived * first)
  }

  /** Requests per millisecond. */
  get perMillisecond(): number {
    return this.#rate
  }

  /**
   * Follows a sample.
   *
   * @param isLate whether requests wait too long for their turn in the event loop
   * @param idle share of the time since the last sample in which the event loop had nothing to do, 0 to 1
   * @param arrived requests per millisecond since the last sample, refused ones included
   */
  adapt(isLate: boolean, idle: number, arrived: number): void {
    this.#idle += newest * (idle - this.#idle)
    if (isLate) {
      this.#samplesInTime = 0
      this.#floor ??= this.#rate * fall.remaining
      const step = this.#rate > this.#floor ? fall.step : fall.further
      this.#rate = Math.max(this.#rate * (1 - step), least)
      return
    }
    if (++this.#samplesInTime >= fall.samples) this.#floor = undefined
    const spare = this.#idle - idleTarget
    const changed = this.#rate * (1 + spare * gain)
    if (spare <= 0) this.#rate = Math.max(changed, least)
    else this.#rate = Math.max(this.#rate, Math.min(changed, arrived * headroom))
  }
}
