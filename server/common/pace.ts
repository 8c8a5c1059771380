// Rests between two pieces of work while other processes want the processor.
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Milliseconds of rest for each millisecond in which the work did not get the processor. Linux leaves a processor to a
 * thread of the lowest priority until another thread is woken there: threads that wait for another processor are rarely
 * moved to it. On two processors, the 99th percentile of reads during uploads was 1.4 to 1.7 times that without when images
 * were analysed without a rest, and 1.1 to 1.4 with it; a fifth fewer images were analysed. During a flood of sign-ins it
 * was 1.6 to 2.1 times, and is 1.6 to 1.9 times.
 */
const share = 4

/** What it is measured with, in milliseconds: time, and processor time of all threads of this process; and how it waits. */
export type PaceClock = {
  readonly now: () => number
  readonly processor: () => number
  readonly pause: (milliseconds: number) => Promise<unknown>
}

const systemClock: PaceClock = {
  now: () => performance.now(),
  processor: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
  pause,
}

export class Pace {
  readonly #longestRest: number
  readonly #clock: PaceClock
  #restUntil = -Infinity

  /** @param longestRest in milliseconds */
  constructor(longestRest: number, clock: PaceClock = systemClock) {
    this.#longestRest = longestRest
    this.#clock = clock
  }

  /**
   * Waits until the rest after the last work is over, and works. On a processor that is not busy there is no rest.
   *
   * @param work waits for nothing but the processor
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const rest = this.#restUntil - this.#clock.now()
    if (rest > 0) await this.#clock.pause(rest)
    const [began, used] = [this.#clock.now(), this.#clock.processor()]
    try {
      return await work()
    } finally {
      const ended = this.#clock.now()
      const waited = ended - began - (this.#clock.processor() - used)
      this.#restUntil = ended + Math.min(this.#longestRest, share * Math.max(0, waited))
    }
  }
}
