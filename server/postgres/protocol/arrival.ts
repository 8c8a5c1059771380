// When data may have arrived that the event loop has just read. A process with much to do reads it late, which says nothing
// about the server that has sent it.
// https://nodejs.org/en/learn/asynchronous-work/event-loop-timers-and-nexttick
import { performance } from 'node:perf_hooks'

/** Milliseconds between two rounds of the event loop in which it has waited, with nothing else to do. */
const leastIdle = 1

/** Knows the rounds of the event loop in which it was asked: those in which responses ended. */
export class ArrivalClock {
  /** When it was first asked in this round. */
  #round = -Infinity
  #earliest = -Infinity
  #isNoted = false
  /** For how long the event loop had been idle when the last of these rounds ended. */
  #idleBefore = 0

  /**
   * @param now when data was read, as `performance.now()`
   * @returns the earliest time at which it may have arrived: it was not there in the round before, nor while the event loop waited
   *   since then; if it waited for long, the arrival ended the wait
   */
  earliest(now: number): number {
    if (this.#isNoted) return this.#earliest
    this.#isNoted = true
    const idle = performance.nodeTiming.idleTime - this.#idleBefore
    this.#earliest = idle > leastIdle ? now : this.#round + idle
    this.#round = now
    setImmediate(this.#endRound)
    return this.#earliest
  }

  readonly #endRound = (): void => {
    this.#isNoted = false
    this.#idleBefore = performance.nodeTiming.idleTime
  }
}

/** The clock of this process's event loop. */
export const arrivals = new ArrivalClock()
