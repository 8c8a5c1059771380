// Rate limits for wrong passwords and registrations. The counts are in the database, so that all processes share them.
//
// Wrong passwords are counted per account and network, so that someone who guesses does not lock out the owner on
// another network. Guesses from many networks reach the higher limit of the account, and guesses for many accounts that
// of the network. E-mail addresses without an account are counted, too, so that limits do not reveal which accounts
// exist.
import type { RateLimiterPostgres } from 'rate-limiter-flexible'
import { Failure } from '../../http/envelope.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import { limitKey, rateLimiters, secondsOver } from './rate-limiter.ts'

export type AttemptLimitSettings = {
  /** Runs statements as `authenticator`. */
  readonly query: RunQuery
  /** Maximum number of wrong passwords for one account from one network in 15 minutes. */
  readonly accountLimit: number
  /** The same from all networks together. */
  readonly accountTotalLimit: number
  /** Maximum number of wrong passwords from one network, and of registrations from it or with one e-mail address. */
  readonly addressLimit: number
}

/** An attempt that was counted. Call `giveBack` when it succeeds, so that it no longer counts. */
export type Attempt = { readonly giveBack: () => Promise<void> }

export type AttemptLimits = {
  /** @throws Failure 429 with `Retry-After` */
  readonly register: (email: string, network: string) => Promise<void>
  /** Call this before each comparison of a password. @throws Failure 429 with `Retry-After` */
  readonly guess: (email: string, network: string) => Promise<Attempt>
}

/** Seconds. */
const period = 15 * 60

type Count = { readonly limiter: RateLimiterPostgres; readonly key: string }

/** The limits of one process. */
export function createAttemptLimits(settings: AttemptLimitSettings): AttemptLimits {
  const { query, accountLimit, accountTotalLimit, addressLimit } = settings
  const create = rateLimiters(query)
  const limiter = (keyPrefix: string, points: number, clearsExpired = false): RateLimiterPostgres =>
    create({ keyPrefix, points, duration: period, clearsExpired })
  const guesses = {
    address: limiter('guess-address', addressLimit, true),
    pair: limiter('guess-pair', accountLimit),
    account: limiter('guess-account', accountTotalLimit),
  }
  const registrations = {
    address: limiter('register-address', addressLimit),
    account: limiter('register-account', addressLimit),
  }
  // The account's own limit comes last, so that a network over its limit does not use up the attempts of the account.
  return {
    register: async (email, network) => {
      await count({ limiter: registrations.address, key: limitKey(network) })
      await count({ limiter: registrations.account, key: limitKey(email) })
    },
    guess: async (email, network) => {
      const counts: readonly Count[] = [
        { limiter: guesses.address, key: limitKey(network) },
        { limiter: guesses.pair, key: limitKey(email, network) },
        { limiter: guesses.account, key: limitKey(email) },
      ]
      for (const each of counts) await count(each)
      return {
        giveBack: async () => {
          await Promise.all(counts.map(({ limiter, key }) => limiter.reward(key)))
        },
      }
    },
  }
}

async function count({ limiter, key }: Count): Promise<void> {
  const seconds = await secondsOver(limiter, key)
  if (seconds === undefined) return
  const wait = Math.max(1, Math.ceil(seconds))
  throw new Failure(429, 'Too many attempts: try again later', { headers: { 'Retry-After': String(wait) } })
}
