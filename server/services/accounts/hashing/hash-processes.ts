// Processes that hash passwords. Requests have a higher priority, and do not wait for memory that a hash maps and unmaps.
import { HashProcess, HashProcessEnded } from './hash-process.ts'
import type { HashTask } from './hash-task.ts'

/** Both throw Error if the password cannot be hashed. */
export type PasswordHasher = {
  /** See `verifyHash`. */
  readonly verify: (passwordHash: string, password: string) => Promise<boolean>
  /** See `hashPassword`. */
  readonly hash: (password: string) => Promise<string>
}

/** Milliseconds. An idle process has some 10 MiB of its own, besides what it shares with the server. */
const defaultIdleTime = 60_000

export class HashProcesses implements PasswordHasher {
  readonly #longestIdleTime: number
  /** The one that was used last is the last: the others end after a while. */
  readonly #idle: HashProcess[] = []

  /** @param longestIdleTime milliseconds without a task after which a process ends */
  constructor(longestIdleTime = defaultIdleTime) {
    this.#longestIdleTime = longestIdleTime
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
    const hashProcess = this.#idle.pop() ?? new HashProcess(this.#longestIdleTime)
    try {
      return await hashProcess.run(task).catch((error: unknown) => {
        // It may have ended before the task: the system kills idle processes, too, when it lacks memory. A task has no
        // effects, so that it can be repeated.
        if (error instanceof HashProcessEnded) return hashProcess.run(task)
        throw error
      })
    } finally {
      this.#idle.push(hashProcess)
    }
  }
}
