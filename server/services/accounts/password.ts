// Passwords: hashed with argon2id.
import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { BoundedWork, type Bounds } from './bounded-work.ts'

/** https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id (the default algorithm) */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * Half of the processors, and half of Node's four threads for such work: a flood of sign-ins leaves the rest to other
 * requests. A hash takes some 30 ms, so whoever waits at the end of the line waits for seconds, not minutes.
 */
const defaultBounds: Bounds = { atOnce: Math.min(2, Math.max(1, availableParallelism() >> 1)), waiting: 100 }

/** The same password typed on another keyboard may come in another normal form (RFC 8265, section 4.2). */
const normalised = (password: string): string => password.normalize('NFC')

export const hashPassword = (password: string): Promise<string> => hash(normalised(password), cost)

export type Passwords = {
  /** @throws Failure 503 when too many wait, as `verify` */
  readonly hash: (password: string) => Promise<string>
  /** Takes as long for an account that does not exist (no hash: never right) as for a wrong password. */
  readonly verify: (passwordHash: string | undefined, password: string) => Promise<boolean>
}

/** Hashing for one process: all of it shares the bounds. */
export function createPasswords(bounds = defaultBounds): Passwords {
  const work = new BoundedWork(bounds)
  // Made in advance: making it for the first such request would tell that request from others.
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
