// How often somebody may try: signing in and registering, by account and by network address. The counts are in the
// database, so that they hold for all processes together.
import { createHash } from 'node:crypto'
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type { Query } from '../database/transaction.ts'
import { askAccounts } from './account.ts'
import { Failure } from './envelope.ts'

export type AttemptLimitSettings = {
  /** Runs statements as `authenticator`. */
  readonly query: Query
  /** Wrong passwords for one account in a quarter of an hour. */
  readonly accountLimit: number
  /** Wrong passwords from one address, and registrations from it or with one e-mail, in a quarter of an hour. */
  readonly addressLimit: number
}

/** A try that was counted. One that succeeds is no guess: it is given back. */
export type Attempt = { readonly giveBack: () => Promise<void> }

export type AttemptLimits = {
  /** @throws Failure 429 with `Retry-After` */
  readonly register: (email: string, address: string) => Promise<void>
  /** For whatever compares a password with an account's. @throws Failure 429 with `Retry-After` */
  readonly guess: (email: string, address: string) => Promise<Attempt>
}

/** Seconds. */
const period = 15 * 60

/** Keys have a bounded length, and tell nobody who reads them an address. */
const keyOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

export function createAttemptLimits({ query, accountLimit, addressLimit }: AttemptLimitSettings): AttemptLimits {
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
    account: limiter('guess-account', accountLimit),
  }
  const registrations = {
    address: limiter('register-address', addressLimit),
    account: limiter('register-account', addressLimit),
  }
  // The address first: an address that is out of tries shall not use up those of an account.
  return {
    register: async (email, address) => {
      await count(registrations.address, keyOf(address))
      await count(registrations.account, keyOf(email))
    },
    guess: async (email, address) => {
      const [addressKey, accountKey] = [keyOf(address), keyOf(email)]
      await count(guesses.address, addressKey)
      await count(guesses.account, accountKey)
      return {
        giveBack: async () => {
          await Promise.all([guesses.address.reward(addressKey), guesses.account.reward(accountKey)])
        },
      }
    },
  }
}

async function count(limiter: RateLimiterPostgres, key: string): Promise<void> {
  try {
    await limiter.consume(key)
  } catch (reason) {
    if (!(reason instanceof RateLimiterRes)) throw reason
    const seconds = Math.max(1, Math.ceil(reason.msBeforeNext / 1000))
    throw new Failure(429, 'Too many attempts: try again later', { headers: { 'Retry-After': String(seconds) } })
  }
}
