// The leases of one process, by subject.
import { bytesOfText, SecondChanceCache } from '../../../common/second-chance-cache.ts'
import type { Rate } from '../../../identity/limits.ts'
import type { Counts } from './counts.ts'
import { Lease } from './lease.ts'

const mostLeases = 10_000
/** Bytes of a lease besides its subject, at most. */
const bytesOfLease = 512
const bytesOfAll = mostLeases * 2 * bytesOfLease

export class Leases {
  readonly #counts: Counts
  readonly #now: () => number
  readonly #longestRefusal: number | undefined
  /** The requests of one that is evicted are lost, which errs on the side of the limit. */
  readonly #leases = new SecondChanceCache<Lease>({ entries: mostLeases, bytes: bytesOfAll })

  /**
   * @param now milliseconds, from any moment
   * @param longestRefusal see `Lease`
   */
  constructor(counts: Counts, now: () => number = () => performance.now(), longestRefusal?: number) {
    this.#counts = counts
    this.#now = now
    this.#longestRefusal = longestRefusal
  }

  /** The lease of a subject, with the rate that it has now. */
  of(subject: string, rate: Rate): Lease {
    const known = this.#leases.get(subject)
    known?.setRate(rate)
    if (known) return known
    const lease = new Lease(subject, rate, this.#counts, this.#now, this.#longestRefusal)
    this.#leases.add(subject, lease, bytesOfLease + bytesOfText(subject))
    return lease
  }
}
