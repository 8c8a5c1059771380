// Work that takes a processor for a while: a few pieces at once, some that wait their turn, and no more.
import { Failure } from '../../http/envelope.ts'

export type Bounds = {
  /** Pieces of work at once. */
  readonly atOnce: number
  /** Pieces that may wait; one more is refused. */
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
   * Does the work when its turn comes, first come, first served.
   *
   * @throws Failure 503 with `Retry-After` when too many are waiting; the error of the work
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#bounds.atOnce) this.#running++
    else {
      if (this.#waiting.length >= this.#bounds.waiting) {
        throw new Failure(503, 'Too many people are signing in at the moment', { headers: { 'Retry-After': '2' } })
      }
      // Whoever finishes hands its place on, so that nobody who comes just then gets in between.
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
