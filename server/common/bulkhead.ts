// A bulkhead between kinds of work: keeps one kind from taking the processors from others.

/** Tasks after which the number of places is decided anew. */
const sample = 50

/**
 * Runs few tasks of one kind at once, so that tasks of other kinds get their share of the processors: a database gives
 * each of its sessions one. One place is enough to keep a session busy; tasks that mostly wait for a distant database
 * get a place more for every millisecond that the fastest of them takes.
 */
export class Bulkhead {
  readonly #longestWait: number
  readonly #waiting = new Set<() => void>()
  #places = 1
  #running = 0
  #measured = 0
  #fastest = Infinity

  /** @param longestWait milliseconds after which a task no longer waits for others, which may take long */
  constructor(longestWait: number) {
    this.#longestWait = longestWait
  }

  /** Runs a task when there is a place for it. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#places) this.#running++
    else await this.#turn()
    const start = performance.now()
    try {
      const result = await task()
      this.#measure(performance.now() - start)
      return result
    } finally {
      this.#running--
      if (this.#running < this.#places) this.#next()
    }
  }

  /** Resolves with a place. */
  #turn(): Promise<void> {
    return new Promise((resolve) => {
      const begin = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(begin)
        this.#running++
        resolve()
      }
      const timer = setTimeout(begin, this.#longestWait)
      this.#waiting.add(begin)
    })
  }

  /** Gives a place to the task that has waited longest. */
  #next(): void {
    const [begin] = this.#waiting
    begin?.()
  }

  #measure(milliseconds: number): void {
    this.#fastest = Math.min(this.#fastest, milliseconds)
    if (++this.#measured < sample) return
    this.#places = 1 + Math.floor(this.#fastest)
    this.#measured = 0
    this.#fastest = Infinity
  }
}
