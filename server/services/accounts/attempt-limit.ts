// Rate limits for wrong passwords and registrations. The counts are in the database, so that all processes share them.
//
// Wrong passwords are counted per account and network, so that someone who guesses does not lock out the owner on
// another network. Guesses from many networks reach the higher limit of the account, and guesses for many accounts that
// of the network. The networks of IPv6 count at three sizes (`limitedNetworks`). E-mail addresses without an account are counted, too, so that limits do not reveal which accounts
// exist.
import type { RateLimiterPostgres } from 'rate-limiter-flexible'
import { limitedNetworks } from '../../http/client-address.ts'
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

/** Maximum numbers of wrong guesses in a period of seconds. */
export type GuessLimits = {
  readonly period: number
  /** For one account from one network. */
  readonly pair: number
  /** For one account from all networks. */
  readonly account: number
  /** For all accounts from one network; undefined where another limit counts these. */
  readonly address?: number
}

type Count = { readonly limiter: RateLimiterPostgres; readonly key: string }

/**
 * Counts guesses of a secret of few bits. Call the function before each comparison.
 *
 * @param prefix distinguishes the counts from those of other secrets
 * @returns a function that throws Failure 429 with `Retry-After`
 */
export function guessCounter(
  query: RunQuery,
  prefix: string,
  limits: GuessLimits,
  clearsExpired = false,
): (account: string, network: string) => Promise<Attempt> {
  const create = rateLimiters(query)
  const { period: duration } = limits
  const limiter = (name: string, points: number): Limiter =>
    byShare((share) => create({ keyPrefix: `${prefix}-${name}`, points: points * share, duration }))
  const address = limits.address === undefined ? undefined : limiter('address', limits.address)
  const pair = limiter('pair', limits.pair)
  const total = create({ keyPrefix: `${prefix}-account`, points: limits.account, duration, clearsExpired })
  return async (account, network) => {
    const networks = limitedNetworks(network)
    // The account's own limit comes last, so that a network over its limit does not use up the attempts of the account. Of
    // networks, the smallest comes first, for the same reason.
    const counts: readonly Count[] = [
      ...(address ? networks.map(({ name, share }) => ({ limiter: address(share), key: limitKey(name) })) : []),
      ...networks.map(({ name, share }) => ({ limiter: pair(share), key: limitKey(account, name) })),
      { limiter: total, key: limitKey(account) },
    ]
    for (const each of counts) await count(each)
    return {
      giveBack: async () => {
        await Promise.all(counts.map(({ limiter: counted, key }) => counted.reward(key)))
      },
    }
  }
}

/** The limiter of networks of a size, which have a share of their own. */
type Limiter = (share: number) => RateLimiterPostgres

function byShare(create: Limiter): Limiter {
  const limiters = new Map<number, RateLimiterPostgres>()
  return (share) => {
    const known = limiters.get(share) ?? create(share)
    limiters.set(share, known)
    return known
  }
}

/** The limits of one process. */
export function createAttemptLimits(settings: AttemptLimitSettings): AttemptLimits {
  const { query, accountLimit, accountTotalLimit, addressLimit } = settings
  const create = rateLimiters(query)
  const guesses = { period, pair: accountLimit, account: accountTotalLimit, address: addressLimit }
  const registrations = {
    address: byShare((share) =>
      create({ keyPrefix: 'register-address', points: addressLimit * share, duration: period }),
    ),
    account: create({ keyPrefix: 'register-account', points: addressLimit, duration: period }),
  }
  return {
    register: async (email, network) => {
      for (const { name, share } of limitedNetworks(network)) {
        await count({ limiter: registrations.address(share), key: limitKey(name) })
      }
      await count({ limiter: registrations.account, key: limitKey(email) })
    },
    guess: guessCounter(query, 'guess', guesses, true),
  }
}

async function count({ limiter, key }: Count): Promise<void> {
  const seconds = await secondsOver(limiter, key)
  if (seconds === undefined) return
  const wait = Math.max(1, Math.ceil(seconds))
  throw new Failure(429, 'Too many attempts: try again later', { headers: { 'Retry-After': String(wait) } })
}
