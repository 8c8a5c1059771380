// Limits how many CPU-intensive tasks run at once, and how many wait.
import { Failure } from '../../http/envelope.ts'

export type Bounds = {
  /** Maximum number of tasks that run at once. */
  readonly atOnce: number
  /** Maximum number of tasks that wait; further ones are rejected. */
  readonly waiting: number
}

export class BoundedWork {
  readonly #bounds: Bounds
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /**
   * Runs a task, now or when its turn comes, first come, first served.
   *
   * @throws Failure 503 with `Retry-After` when too many tasks wait; the error of the task
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#bounds.atOnce) this.#running++
    else {
      if (this.#waiting.length >= this.#bounds.waiting) {
        throw new Failure(503, 'Too many people are signing in at the moment', { headers: { 'Retry-After': '2' } })
      }
      // A task that ends passes its place on, so that no new task can overtake the waiting ones.
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
