// Processes that hash passwords. Requests have a higher priority, and do not wait for memory that a hash maps and unmaps.
import type { HashTask } from './hash-task.ts'
import { HashWorker, type HashTimes } from './hash-worker.ts'

/** Both throw Error if the password cannot be hashed. */
export type PasswordHasher = {
  /** See `verifyHash`. */
  readonly verify: (passwordHash: string, password: string) => Promise<boolean>
  /** See `hashPassword`. */
  readonly hash: (password: string) => Promise<string>
}

/**
 * An idle process has some 10 MiB of its own, besides what it shares with the server. On two busy CPUs, hashes take 40 to
 * 80 ms.
 */
const defaultTimes: HashTimes = { longestIdle: 60_000, patience: 500 }

export class HashProcesses implements PasswordHasher {
  readonly #times: HashTimes
  /** The one that was used last is the last: the processes of the others end after a while. */
  readonly #idle: HashWorker[] = []

  constructor(times: Partial<HashTimes> = {}) {
    this.#times = { ...defaultTimes, ...times }
  }

  /** Whether a password belongs to a hash; see `verifyHash`. Starts a process if none is idle: callers bound their number. */
  async verify(passwordHash: string, password: string): Promise<boolean> {
    return (await this.#run({ kind: 'verify', passwordHash, password })) === true
  }

  /** The hash of a password; see `hashPassword`. */
  async hash(password: string): Promise<string> {
    return String(await this.#run({ kind: 'hash', password }))
  }

  async #run(task: HashTask): Promise<string | boolean> {
    const worker = this.#idle.pop() ?? new HashWorker(this.#times)
    try {
      return await worker.run(task)
    } finally {
      this.#idle.push(worker)
    }
  }
}
