// The rate limit of images per caller, which all processes count together in the database.
import { isUnreachable } from '../../postgres/database-error.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import { DatabaseCounts, LocalCounts, type Counts } from '../../rest/extensions/limits/counts.ts'
import { Limits } from '../limits.ts'
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
/**
 * The limit of one process. A caller may have the images of a minute analysed at once, and then as many as accrue. While the
 * database is unreachable, each process counts on its own.
 */
export function imageLimit(options: ImageLimitOptions): CountImages {
  const { imagesPerMinute, query, onWarning, now } = options
  const limits = new Limits(reachable(new DatabaseCounts(query, onWarning), new LocalCounts(now)), now)
  const limit = { name: 'images', events: imagesPerMinute, period }
  return async ({ counted }, images) => {
    const seconds = await limits.count(limit, [counted.kind, counted.name], images)
    if (seconds !== undefined) throw problems.tooManyRequests(seconds)
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
