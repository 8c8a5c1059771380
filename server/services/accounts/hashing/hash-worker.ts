// Performs one task after the other in a process that all others go before; when it does not get that done in time, in a
// second process, too, which gets at least some processor time.
import { isInTime } from '../../../common/timeout.ts'
import { HashProcess } from './hash-process.ts'
import type { HashTask } from './hash-task.ts'

/** All in milliseconds. */
export type HashTimes = {
  /** Without a task for this long, a process ends. */
  readonly longestIdle: number
  /** For how long a task may be performed by the first process alone. */
  readonly patience: number
}

/**
 * On two CPUs, the 99th percentile of reads was 2.3 to 2.8 times as long during a flood of sign-ins when a process of low
 * priority hashed, and is 1.6 to 1.9 times as long with the lowest priority and rests between hashes; there are half as many
 * sign-ins then. With that process alone, a flood of reads could keep people from signing in.
 */
export class HashWorker {
  readonly #first: HashProcess
  readonly #second: HashProcess
  readonly #patience: number

  constructor({ longestIdle, patience }: HashTimes) {
    this.#first = new HashProcess('lowest', longestIdle)
    this.#second = new HashProcess('low', longestIdle)
    this.#patience = patience
  }

  /** @throws Error if the task fails */
  async run(task: HashTask): Promise<string | boolean> {
    // It still has the task that the second one has performed instead: it gets no processor time.
    if (this.#first.isBusy) return this.#second.run(task)
    const attempt = this.#first.run(task)
    if (await isInTime(this.#patience, attempt)) return attempt
    try {
      return await Promise.any([attempt, this.#second.run(task)])
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error
    } finally {
      for (const hashProcess of [this.#first, this.#second]) if (hashProcess.isBusy) hashProcess.abandon()
    }
  }
}
