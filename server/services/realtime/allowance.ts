// How much a client may send.

/** Seconds whose allowance may be used at once. */
const burst = 10

/** A rate. What is not used accumulates, up to that of some seconds. */
export class Allowance {
  #used = 0
  #at = 0

  /**
   * @param perSecond read each time, because settings can be reloaded
   * @param now milliseconds, from any moment
   * @returns whether there was enough of it
   */
  take(amount: number, perSecond: number, now: number): boolean {
    this.#used = Math.max(0, this.#used - ((now - this.#at) / 1000) * perSecond)
    this.#at = now
    if (this.#used + amount > perSecond * burst) return false
    this.#used += amount
    return true
  }
}
