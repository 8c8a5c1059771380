// Rate limits that are counted in the table `auth.rate_limits`, so that all processes share them.
import { createHash } from 'node:crypto'
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type { RunQuery } from '../../postgres/run-query.ts'
import { askAccounts } from './account.ts'

export type RateLimit = {
  /** Distinguishes the keys of this limit from those of others. */
  readonly keyPrefix: string
  /** Maximum number of points in a period. */
  readonly points: number
  /** The period in seconds. */
  readonly duration: number
  /** Whether the limiter deletes expired rows. One limiter does so for all, which share the table. */
  readonly clearsExpired?: boolean
}

/**
 * A function that creates limiters. A limiter caches rejections, so that a flood of requests does not query the database
 * each time.
 *
 * @param query runs statements as `authenticator`
 */
export function rateLimiters(query: RunQuery): (limit: RateLimit) => RateLimiterPostgres {
  const storeClient = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => ({
      rows: await askAccounts(query, text, values),
    }),
  }
  return ({ keyPrefix, points, duration, clearsExpired = false }) =>
    new RateLimiterPostgres({
      storeClient,
      storeType: 'client',
      schemaName: 'auth',
      tableName: 'rate_limits',
      tableCreated: true,
      clearExpiredByTimeout: clearsExpired,
      keyPrefix,
      points,
      duration,
      // Beyond this, attempts are rejected without querying the database.
      inMemoryBlockOnConsumed: 3 * points,
    })
}

/**
 * A key of fixed length that reveals no address. Hashes the parts as JSON, so that different lists have different keys.
 */
export const limitKey = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url')

/**
 * Consumes points of a key.
 *
 * @returns seconds until the next attempt; undefined below the limit
 */
export async function secondsOver(limiter: RateLimiterPostgres, key: string, points = 1): Promise<number | undefined> {
  try {
    await limiter.consume(key, points)
    return undefined
  } catch (reason) {
    if (!(reason instanceof RateLimiterRes)) throw reason
    return reason.msBeforeNext / 1000
  }
}
