// The rate limit of images per caller, which all processes count together in the database.
import { SecondChanceCache } from '../../common/second-chance-cache.ts'
import { isUnreachable } from '../../postgres/database-error.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import { DatabaseCounts, LocalCounts, type Counts } from '../../rest/limits/counts.ts'
import { Lease } from '../../rest/limits/lease.ts'
import { limitKey } from '../accounts/rate-limiter.ts'
import type { Caller } from './caller.ts'
import { problems } from './problem.ts'

/** Counts images of a caller. @throws Problem 429 with `Retry-After` above the limit */
export type CountImages = (caller: Pick<Caller, 'counted'>, images: number) => Promise<void>

export type ImageLimitOptions = {
  readonly imagesPerMinute: number
  /** Runs statements as the role that connects. */
  readonly query: RunQuery
  /** Receives the reason when images are counted per process. */
  readonly onWarning: (message: string) => void
  /** Milliseconds. */
  readonly now?: () => number
}

/** Seconds. */
const period = 60
/** Maximum number of callers whose state is remembered between requests. */
const mostCallers = 10_000
/** Bytes that the state of a caller takes, at most. */
const bytesOfLease = 1024

/**
 * The limit of one process. A caller may have the images of a minute analysed at once, and then as many as accrue. While the
 * database is unreachable, each process counts on its own.
 */
export function imageLimit(options: ImageLimitOptions): CountImages {
  const { imagesPerMinute, query, onWarning, now = () => performance.now() } = options
  const rate = { perSecond: imagesPerMinute / period, burst: imagesPerMinute }
  const counts = reachable(new DatabaseCounts(query, onWarning), new LocalCounts(now))
  // A lease refuses a flood of further images without asking the database.
  const leases = new SecondChanceCache<Lease>({ entries: mostCallers, bytes: mostCallers * bytesOfLease })
  return async ({ counted }, images) => {
    if (images > imagesPerMinute) throw problems.tooManyRequests(period)
    // The subject reveals no address.
    const subject = JSON.stringify(['images', counted.kind, limitKey(counted.name)])
    const lease = leases.get(subject) ?? new Lease(subject, rate, counts, now)
    leases.add(subject, lease, bytesOfLease / 2)
    const { isGranted, seconds } = await lease.take(images)
    if (!isGranted) throw problems.tooManyRequests(seconds)
  }
}

/** Counts in the database, and in this process while it is unreachable: analysing an image does not need the database. */
const reachable = (shared: Counts, local: Counts): Counts => {
  const orLocally = async <T>(count: (counts: Counts) => Promise<T>): Promise<T> => {
    try {
      return await count(shared)
    } catch (error) {
      if (!isUnreachable(error)) throw error
      return count(local)
    }
  }
  return {
    take: (...wanted) => orLocally((counts) => counts.take(...wanted)),
    putBack: (...given) => orLocally((counts) => counts.putBack(...given)),
  }
}
