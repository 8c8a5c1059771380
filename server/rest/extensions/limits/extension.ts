import type { Extension } from '../../extension.ts'
import { costCheck } from './cost-check.ts'
import type { RunQuery } from '../../../catalogue/introspection.ts'
import { DatabaseCounts } from './counts.ts'
import { RateLimiter } from './rate-limiter.ts'

export type LimitsOptions = {
  /** How requests per second are counted; undefined if they are not limited. */
  readonly counting?: {
    /** Runs a statement as the role that connects. */
    readonly query: RunQuery
    /** Receives the reason when requests are counted per process, once. Must not throw. */
    readonly onWarning: (message: string) => void
  }
}

/** Limits of requests per second, and of the cost of statements. */
export function limits({ counting }: LimitsOptions): Extension {
  const limiter = counting && new RateLimiter(new DatabaseCounts(counting.query, counting.onWarning))
  return {
    countRequests: (limits, identity, count) => limiter?.take(limits, identity, count),
    precheck: (main, nested = [], { dbMaxCost }) =>
      dbMaxCost === null ? undefined : costCheck([...nested, main], dbMaxCost),
  }
}
