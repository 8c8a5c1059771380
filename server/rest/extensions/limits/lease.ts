// The requests of one subject (a role, a user, an API key) that this process may let through.
import type { Rate } from '../../../identity/limits.ts'
import type { Counts } from './counts.ts'

/** The state of a limit after a request, for its headers. */
export type LeaseState = {
  readonly isGranted: boolean
  /** Requests that are left: what this process has leased, and an estimate of what all processes share. */
  readonly remaining: number
  /** Seconds, rounded up: until there is one more request; for a refused request, until it may succeed. */
  readonly seconds: number
}

type Waiter = {
  readonly wanted: number
  readonly resolve: (state: LeaseState) => void
  readonly reject: (error: unknown) => void
}

/** Part of a second whose requests a process may lease ahead of need. */
const leaseAhead = 0.1
/** Minimum milliseconds between a refusal and the next statement. */
const minRefusal = 10

/**
 * Lets requests through that were taken from the shared counts. A process that is busy takes more than it needs at the
 * moment, up to the requests of a tenth of a second, so that few requests wait for a statement. Every request is deducted
 * before it is let through. So in any interval, all processes together let through at most the burst, the rate times the
 * interval, and a tenth of a second's requests for each process.
 */
export class Lease {
  readonly #subject: string
  readonly #counts: Counts
  readonly #now: () => number
  readonly #longestRefusal: number
  #rate: Rate
  #held = 0
  /** What was left for all processes after the last statement, and when. */
  #left: number
  #leftAt: number
  #refusedUntil = -Infinity
  #spent = 0
  #waiting: Waiter[] = []
  #isTaking = false

  /**
   * @param now milliseconds
   * @param longestRefusal maximum milliseconds between a refusal and the next statement, where other processes may give back
   *   much of what they have taken
   */
  constructor(subject: string, rate: Rate, counts: Counts, now: () => number, longestRefusal = Infinity) {
    this.#longestRefusal = longestRefusal
    this.#subject = subject
    this.#rate = rate
    this.#counts = counts
    this.#now = now
    this.#left = rate.burst
    this.#leftAt = now()
  }

  /** Whether a statement is running. */
  get isBusy(): boolean {
    return this.#isTaking
  }

  /** Changes the rate when the settings have changed. */
  setRate(rate: Rate): void {
    if (rate.perSecond === this.#rate.perSecond && rate.burst === this.#rate.burst) return
    this.#rate = rate
    this.#held = Math.min(this.#held, this.#mostAhead)
    this.#refusedUntil = -Infinity
  }

  /**
   * Takes requests: synchronously if they are leased or certain to be refused.
   *
   * @param wanted a whole number from 1 to the burst
   * @throws the error of the database, as a rejection
   */
  take(wanted: number): LeaseState | Promise<LeaseState> {
    if (this.#waiting.length === 0 && this.#held >= wanted) return this.#spend(wanted)
    if (this.refuses(wanted)) return this.refuse(wanted)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ wanted, resolve, reject })
      if (!this.#isTaking) void this.#refill()
    })
  }

  /** Whether requests are certain to be refused: the last statement has said so. */
  refuses(wanted: number): boolean {
    return this.#now() < this.#refusedUntil && wanted > this.#most
  }

  /** The state for requests that are refused. */
  refuse(wanted: number): LeaseState {
    return this.#state(false, Math.max(1, this.#secondsUntil(wanted)))
  }

  /** Gives back requests that were taken but not let through. Those that the process may not lease go to all processes. */
  async giveBack(count: number): Promise<void> {
    this.#held += count
    const excess = this.#held - this.#mostAhead
    if (excess <= 0) return
    this.#held -= excess
    this.#left += excess
    // Requests that cannot be put back are lost, which errs on the side of the limit.
    await this.#counts.putBack(this.#subject, this.#rate, excess).catch(() => undefined)
  }

  /** Greatest number of requests that can succeed before more accrue. */
  get #most(): number {
    return this.#held + Math.floor(this.#left)
  }

  get #mostAhead(): number {
    return Math.floor(this.#rate.perSecond * leaseAhead)
  }

  /** How many requests to lease ahead of need, by the number since the last statement. */
  get #ahead(): number {
    const since = this.#now() - this.#leftAt
    return since > 1000 ? 0 : Math.min(2 * this.#spent, this.#mostAhead)
  }

  #spend(count: number): LeaseState {
    this.#held -= count
    this.#spent += count
    const ahead = this.#ahead
    if (this.#held < ahead / 2 && !this.#isTaking && this.#now() >= this.#refusedUntil) void this.#refill()
    return this.#granted()
  }

  #granted(): LeaseState {
    return this.#state(true, this.#secondsUntil(Math.floor(this.#available()) + 1))
  }

  #state(isGranted: boolean, seconds: number): LeaseState {
    return { isGranted, remaining: Math.floor(this.#available()), seconds }
  }

  #available(): number {
    const accrued = ((this.#now() - this.#leftAt) / 1000) * this.#rate.perSecond
    return Math.min(this.#rate.burst, this.#held + this.#left + accrued)
  }

  #secondsUntil(count: number): number {
    return Math.max(0, Math.ceil((count - this.#available()) / this.#rate.perSecond))
  }

  /** Takes requests from the shared counts, until no request waits. */
  async #refill(): Promise<void> {
    this.#isTaking = true
    try {
      do {
        const needed = this.#waiting.reduce((sum, { wanted }) => sum + wanted, 0)
        // Less than what the first one needs would be of no use here, and missing in other processes.
        const minimum = Math.max(1, (this.#waiting[0]?.wanted ?? 1) - this.#held)
        const missing = Math.max(minimum, needed + this.#ahead - this.#held)
        this.#spent = 0
        const { granted, left } = await this.#counts.take(this.#subject, this.#rate, missing, minimum)
        this.#held += granted
        this.#left = left
        this.#leftAt = this.#now()
        this.#serve(granted < missing)
      } while (this.#waiting.length > 0)
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    } finally {
      this.#isTaking = false
    }
  }

  /**
   * Lets the waiting requests through, in order, as far as there are enough.
   *
   * @param isExhausted whether there were fewer than wanted: requests that need more than there are are refused
   */
  #serve(isExhausted: boolean): void {
    if (isExhausted) {
      const milliseconds = ((1 - (this.#left % 1)) / this.#rate.perSecond) * 1000
      this.#refusedUntil = this.#now() + Math.min(Math.max(milliseconds, minRefusal), this.#longestRefusal)
    }
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting
      if (!first || (first.wanted > this.#held && (!isExhausted || first.wanted <= this.#most))) return
      this.#waiting.shift()
      if (first.wanted <= this.#held) {
        this.#held -= first.wanted
        this.#spent += first.wanted
        first.resolve(this.#granted())
      } else first.resolve(this.refuse(first.wanted))
    }
  }
}
