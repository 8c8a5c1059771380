// Processes that hash passwords. Requests have a higher priority, and do not wait for memory that a hash maps and unmaps.
import { availableParallelism } from 'node:os'
import { BackgroundPool } from '../background/pool.ts'
import { childProgram } from '../background/process.ts'
import type { HashTask } from './hash-program.ts'

/** Both throw Error if the password cannot be hashed. */
export type PasswordHasher = {
  /** See `verifyHash`. */
  readonly verify: (passwordHash: string, password: string) => Promise<boolean>
  /** See `hashPassword`. */
  readonly hash: (password: string) => Promise<string>
}

const program = childProgram(import.meta.url, './hash-program')

/** At most half of the CPUs: a flood of sign-ins leaves the rest to other requests. */
export const hashesAtOnce = Math.min(2, Math.max(1, availableParallelism() >> 1))

/** Milliseconds without a hash after which a process ends. An idle process has some 10 MiB of its own. */
const defaultLongestIdle = 60_000
/** Milliseconds, for hashes with the highest cost that is accepted, on a busy machine. */
const timeout = 60_000

export class HashProcesses implements PasswordHasher {
  readonly #pool: BackgroundPool<object, null, HashTask, string | boolean>

  /** @param size processes at most. Callers bound the number of passwords that wait. */
  constructor({ size = hashesAtOnce, longestIdle = defaultLongestIdle } = {}) {
    this.#pool = new BackgroundPool({
      program,
      options: {},
      texts: {
        process: 'process that hashes passwords',
        work: 'hashing',
        task: 'a password',
        timedOut: 'Hashing a password took too long.',
        failed: 'A password could not be hashed.',
      },
      size,
      queueLimit: Infinity,
      timeout,
      longestIdle,
      // The system kills idle processes, too, when it lacks memory.
      attempts: 2,
    })
  }

  /** Whether a password belongs to a hash; see `verifyHash`. */
  async verify(passwordHash: string, password: string): Promise<boolean> {
    return (await this.#pool.run({ kind: 'verify', passwordHash, password })) === true
  }

  /** The hash of a password; see `hashPassword`. */
  async hash(password: string): Promise<string> {
    return String(await this.#pool.run({ kind: 'hash', password }))
  }
}
