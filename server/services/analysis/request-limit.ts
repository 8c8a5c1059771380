// The rate limit of images per caller, counted in this process.
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Caller } from './caller.ts'
import { problems } from './problem.ts'

/** Counts images of a caller. @throws Problem 429 with `Retry-After` above the limit */
export type CountImages = (caller: Caller, images: number) => Promise<void>

/** Seconds. */
const period = 60

export function imageLimit(imagesPerMinute: number): CountImages {
  const options = { points: imagesPerMinute, duration: period }
  const limiters = { user: new RateLimiterMemory(options), network: new RateLimiterMemory(options) }
  return async ({ counted }, images) => {
    try {
      await limiters[counted.kind].consume(counted.name, images)
    } catch (reason) {
      if (!(reason instanceof RateLimiterRes)) throw reason
      throw problems.tooManyRequests(reason.msBeforeNext / 1000)
    }
  }
}
