// Limits of wrong passwords and registrations. Counts are in the database, so that all processes share them.
//
// Wrong passwords are counted by account and network together: a stranger who guesses is refused, and the owner, on
// another network, is not. Guesses from many networks reach the higher limit of the account alone, and guesses at many
// accounts that of the network. An address without an account is counted like any other, so counts tell nothing.
import { createHash } from 'node:crypto'
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type { RunQuery } from '../../postgres/database.ts'
import { askAccounts } from './account.ts'
import { Failure } from '../../http/envelope.ts'

export type AttemptLimitSettings = {
  /** Runs statements as `authenticator`. */
  readonly query: RunQuery
  /** Wrong passwords for one account from one network in a quarter of an hour. */
  readonly accountLimit: number
  /** Wrong passwords for one account from all networks together. */
  readonly accountTotalLimit: number
  /** Wrong passwords from one network, and registrations from it or with one e-mail address. */
  readonly addressLimit: number
}

/** A try that was counted. One that succeeds is no guess: it is given back. */
export type Attempt = { readonly giveBack: () => Promise<void> }

export type AttemptLimits = {
  /** @throws Failure 429 with `Retry-After` */
  readonly register: (email: string, network: string) => Promise<void>
  /** For whatever compares a password with an account's. @throws Failure 429 with `Retry-After` */
  readonly guess: (email: string, network: string) => Promise<Attempt>
}

/** Seconds. */
const period = 15 * 60

/** Keys have a bounded length, and reveal no address. The parts are hashed as JSON, so that no two lists are the same text. */
const keyOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url')

type Count = { readonly limiter: RateLimiterPostgres; readonly key: string }

/** The limits of one process. Its refusals are remembered, so that a flood does not ask the database each time. */
export function createAttemptLimits(settings: AttemptLimitSettings): AttemptLimits {
  const { query, accountLimit, accountTotalLimit, addressLimit } = settings
  const storeClient = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => ({
      rows: await askAccounts(query, text, values),
    }),
  }
  const limiter = (keyPrefix: string, points: number, clears = false): RateLimiterPostgres =>
    new RateLimiterPostgres({
      storeClient,
      storeType: 'client',
      schemaName: 'auth',
      tableName: 'rate_limits',
      tableCreated: true,
      // One of them for all: what is over lies in the same table.
      clearExpiredByTimeout: clears,
      keyPrefix,
      points,
      duration: period,
      // A flood is told from a burst, and refused without asking the database each time.
      inMemoryBlockOnConsumed: 3 * points,
    })
  const guesses = {
    address: limiter('guess-address', addressLimit, true),
    pair: limiter('guess-pair', accountLimit),
    account: limiter('guess-account', accountTotalLimit),
  }
  const registrations = {
    address: limiter('register-address', addressLimit),
    account: limiter('register-account', addressLimit),
  }
  // The account alone comes last: a network that is refused cannot use up the attempts that the account has left.
  return {
    register: async (email, network) => {
      await count({ limiter: registrations.address, key: keyOf(network) })
      await count({ limiter: registrations.account, key: keyOf(email) })
    },
    guess: async (email, network) => {
      const counts: readonly Count[] = [
        { limiter: guesses.address, key: keyOf(network) },
        { limiter: guesses.pair, key: keyOf(email, network) },
        { limiter: guesses.account, key: keyOf(email) },
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
  try {
    await limiter.consume(key)
  } catch (reason) {
    if (!(reason instanceof RateLimiterRes)) throw reason
    const seconds = Math.max(1, Math.ceil(reason.msBeforeNext / 1000))
    throw new Failure(429, 'Too many attempts: try again later', { headers: { 'Retry-After': String(seconds) } })
  }
}
