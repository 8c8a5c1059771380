// Hashes passwords with argon2id.
import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { BoundedWork, type Bounds } from './bounded-work.ts'

/**
 * Argon2id is the library's default.
 * https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id
 */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * At most half of the CPUs, and half of Node's four worker threads: a flood of sign-ins leaves the rest to other
 * requests. A hash takes about 30 ms, so the last in the queue waits for seconds, not minutes.
 */
const defaultBounds: Bounds = { atOnce: Math.min(2, Math.max(1, availableParallelism() >> 1)), waiting: 100 }

/** Other keyboards may send the same password in another normal form (RFC 8265, section 4.2). */
const normalised = (password: string): string => password.normalize('NFC')

export const hashPassword = (password: string): Promise<string> => hash(normalised(password), cost)

export type Passwords = {
  /** @throws Failure 503 when too many tasks wait, as does `verify` */
  readonly hash: (password: string) => Promise<string>
  /** Without a hash, takes as long as for a wrong password: timing does not reveal whether an account exists. */
  readonly verify: (passwordHash: string | undefined, password: string) => Promise<boolean>
}

/** Hashing for one process; all calls share the bounds. */
export function createPasswords(bounds = defaultBounds): Passwords {
  const work = new BoundedWork(bounds)
  // Computed in advance, so that the first request for an unknown account does not take longer.
  const placeholderHash = hashPassword(randomBytes(16).toString('hex'))
  return {
    hash: (password) => work.run(() => hashPassword(password)),
    verify: async (passwordHash, password) => {
      const compared = passwordHash ?? (await placeholderHash)
      const right = await work.run(() => verify(compared, normalised(password)))
      return right && passwordHash !== undefined
    },
  }
}
