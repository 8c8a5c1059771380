// Processes that hash passwords. Their priority is lower than that of requests, which share neither memory nor processor
// time with them.
import { HashProcess, HashProcessEnded } from './hash-process.ts'
import type { HashTask } from './hash-task.ts'

/** Both throw Error if the password cannot be hashed. */
export type PasswordHasher = {
  /** See `verifyHash`. */
  readonly verify: (passwordHash: string, password: string) => Promise<boolean>
  /** See `hashPassword`. */
  readonly hash: (password: string) => Promise<string>
}

/** Milliseconds. An idle process needs some 40 MiB. */
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
    const idle = this.#idle.pop() ?? new HashProcess(this.#longestIdleTime)
    try {
      return await idle.run(task).catch((error: unknown) => {
        // It may have ended before the task: the system kills idle processes, too, when it lacks memory. A task has no
        // effects, so that it can be repeated.
        if (error instanceof HashProcessEnded) return idle.run(task)
        throw error
      })
    } finally {
      this.#idle.push(idle)
    }
  }
}
