// Hashes and verifies passwords, in a bounded number of processes.
import { setTimeout as delay } from 'node:timers/promises'
import { BoundedWork, type Bounds } from './bounded-work.ts'
import { HashProcesses, hashesAtOnce, type PasswordHasher } from './hash-processes.ts'
import { isOutdated, placeholderHash } from './password-hash.ts'
import type { WorkClient } from './work-client.ts'

/** A hash takes about 30 ms, so the last in the queue waits for seconds, not minutes. */
const defaultBounds: Bounds = {
  atOnce: hashesAtOnce,
  waiting: 100,
  waitingOfNetwork: 16,
}

/** Milliseconds. Rejections wait no longer than this for the duration of imported hashes. */
const maxPadding = 1000

/** Hashing for one client. */
export type ClientPasswords = {
  /**
   * @throws Failure 429 or 503 when too many tasks of the network, or in total, wait; 499 when the client leaves while the
   *   task waits. `verify` does, too
   */
  readonly hash: (password: string) => Promise<string>
  /**
   * Without a hash, takes as long as for a wrong password: timing does not reveal whether an account exists, or whether
   * its hash is an imported one.
   */
  readonly verify: (passwordHash: string | undefined, password: string) => Promise<boolean>
}

export type Passwords = { readonly for: (client: WorkClient) => ClientPasswords }

/**
 * Hashing for one server; all calls share the bounds.
 *
 * @param bounds those that differ from the defaults
 */
export function createPasswords(bounds: Partial<Bounds> = {}, hasher: PasswordHasher = new HashProcesses()): Passwords {
  const work = new BoundedWork({ ...defaultBounds, ...bounds })
  const placeholder = placeholderHash()
  // Milliseconds by which an imported hash takes longer to compare than our own; a moving average of each.
  const duration = { own: 0, imported: 0 }

  async function timed(passwordHash: string, password: string): Promise<boolean> {
    const startedAt = performance.now()
    const isRight = await hasher.verify(passwordHash, password)
    const kind = isOutdated(passwordHash) ? 'imported' : 'own'
    const taken = performance.now() - startedAt
    duration[kind] = duration[kind] === 0 ? taken : (3 * duration[kind] + taken) / 4
    return isRight
  }

  const forClient = (client: WorkClient): ClientPasswords => ({
    hash: (password) => work.run(() => hasher.hash(password), client),
    verify: async (passwordHash, password) => {
      const compared = passwordHash ?? placeholder
      const isRight = (await work.run(() => timed(compared, password), client)) && passwordHash !== undefined
      // Waiting costs no CPU. Databases without imported hashes never wait.
      if (!isRight && !isOutdated(compared)) {
        const padding = duration.imported - duration.own
        if (padding > 0) await delay(Math.min(padding, maxPadding))
      }
      return isRight
    },
  })
  return { for: forClient }
}
