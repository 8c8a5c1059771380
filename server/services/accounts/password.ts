// Hashes and verifies passwords, in a bounded number of processes.
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { BoundedWork, type Bounds } from './bounded-work.ts'
import { HashProcesses, type PasswordHasher } from './hashing/hash-processes.ts'
import { isOutdated, placeholderHash } from './password-hash.ts'

/**
 * At most half of the CPUs: a flood of sign-ins leaves the rest to other requests. A hash takes about 30 ms, so the last in
 * the queue waits for seconds, not minutes.
 */
const defaultBounds: Bounds = { atOnce: Math.min(2, Math.max(1, availableParallelism() >> 1)), waiting: 100 }

/** Milliseconds. Rejections wait no longer than this for the duration of imported hashes. */
const maxPadding = 1000

export type Passwords = {
  /** @throws Failure 503 when too many tasks wait, as does `verify` */
  readonly hash: (password: string) => Promise<string>
  /**
   * Without a hash, takes as long as for a wrong password: timing does not reveal whether an account exists, or whether
   * its hash is an imported one.
   */
  readonly verify: (passwordHash: string | undefined, password: string) => Promise<boolean>
}

/** Hashing for one server; all calls share the bounds. */
export function createPasswords(bounds = defaultBounds, hasher: PasswordHasher = new HashProcesses()): Passwords {
  const work = new BoundedWork(bounds)
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

  return {
    hash: (password) => work.run(() => hasher.hash(password)),
    verify: async (passwordHash, password) => {
      const compared = passwordHash ?? placeholder
      const isRight = (await work.run(() => timed(compared, password))) && passwordHash !== undefined
      // Waiting costs no CPU. Databases without imported hashes never wait.
      if (!isRight && !isOutdated(compared)) {
        const padding = duration.imported - duration.own
        if (padding > 0) await delay(Math.min(padding, maxPadding))
      }
      return isRight
    },
  }
}
