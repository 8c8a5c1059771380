// Rate limits for wrong passwords and registrations. The counts are in the database, so that all processes share them.
//
// Wrong passwords are counted per account and network, so that someone who guesses does not lock out the owner on
// another network. Guesses from many networks reach the higher limit of the account, and guesses for many accounts that
// of the network. The networks of IPv6 count at three sizes (`limitedNetworks`). E-mail addresses without an account are counted, too, so that limits do not reveal which accounts
// exist.
import { limitedNetworks } from '../../http/client-address.ts'
import { Failure } from '../../http/envelope.ts'
import type { Limit, Limits } from '../limits.ts'

export type AttemptLimitSettings = {
  readonly limits: Limits
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

type Counted = readonly [limit: Limit, subject: readonly string[]]

/**
 * Counts guesses of a secret of few bits. Call the function before each comparison.
 *
 * @param prefix distinguishes the counts from those of other secrets
 * @returns a function that throws Failure 429 with `Retry-After`
 */
export function guessCounter(
  limits: Limits,
  prefix: string,
  { period, pair, account: total, address }: GuessLimits,
): (account: string, network: string) => Promise<Attempt> {
  const limit = (name: string, events: number): Limit => ({ name: `${prefix}-${name}`, events, period })
  return async (account, network) => {
    const networks = limitedNetworks(network)
    // The account's own limit comes last, so that a network over its limit does not use up the attempts of the account. Of
    // networks, the smallest comes first, for the same reason.
    const counts: readonly Counted[] = [
      ...(address === undefined
        ? []
        : networks.map(({ name, share }): Counted => [limit('address', address * share), [name]])),
      ...networks.map(({ name, share }): Counted => [limit('pair', pair * share), [account, name]]),
      [limit('account', total), [account]],
    ]
    for (const counted of counts) await count(limits, counted)
    return {
      giveBack: async () => {
        await Promise.all(counts.map(([of, subject]) => limits.giveBack(of, subject)))
      },
    }
  }
}

/** The limits of one process. */
export function createAttemptLimits(settings: AttemptLimitSettings): AttemptLimits {
  const { limits, accountLimit, accountTotalLimit, addressLimit } = settings
  const registrations = (name: string, events: number): Limit => ({ name: `register-${name}`, events, period })
  return {
    register: async (email, network) => {
      await countForNetwork(limits, registrations('address', addressLimit), network)
      await count(limits, [registrations('account', addressLimit), [email]])
    },
    guess: guessCounter(limits, 'guess', {
      period,
      pair: accountLimit,
      account: accountTotalLimit,
      address: addressLimit,
    }),
  }
}

/**
 * Counts an event of a client for each of its networks, of which the larger ones may have more.
 *
 * @param network of `clientNetwork`
 * @throws Failure 429 with `Retry-After`
 */
export async function countForNetwork(limits: Limits, limit: Limit, network: string): Promise<void> {
  for (const { name, share } of limitedNetworks(network)) {
    await count(limits, [{ ...limit, events: limit.events * share }, [name]])
  }
}

async function count(limits: Limits, [limit, subject]: Counted): Promise<void> {
  const seconds = await limits.count(limit, subject)
  if (seconds === undefined) return
  throw new Failure(429, 'Too many attempts: try again later', { headers: { 'Retry-After': String(seconds) } })
}
