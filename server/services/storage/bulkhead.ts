// A bulkhead between kinds of work: keeps one kind from taking the processors from others.

/** Tasks after which the number of places is decided again. */
const sample = 50

export type BulkheadOptions = {
  /** Whether there is work of other kinds, which tasks would delay. Without it, they never wait. */
  readonly isShared: () => boolean
  /** Milliseconds after which a task no longer waits for others, which may take long. */
  readonly longestWait: number
}

/**
 * Runs few tasks of one kind at once while there is other work, so that it gets its share of the processors: a database
 * gives each of its sessions one. One place is enough to keep a session busy; tasks that mostly wait for a distant
 * database get a place more for every millisecond that the fastest of them takes.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions
  readonly #waiting = new Set<() => void>()
  #places = 1
  #running = 0
  #measured = 0
  #fastest = Infinity

  constructor(options: BulkheadOptions) {
    this.#options = options
  }

  /** Runs a task when there is a place for it. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#hasPlace()) this.#running++
    else await this.#turn()
    const start = performance.now()
    try {
      const result = await task()
      this.#measure(performance.now() - start)
      return result
    } finally {
      this.#running--
      for (const begin of this.#waiting) {
        if (!this.#hasPlace()) break
        begin()
      }
    }
  }

  #hasPlace(): boolean {
    return this.#running < this.#places || !this.#options.isShared()
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
      const timer = setTimeout(begin, this.#options.longestWait)
      this.#waiting.add(begin)
    })
  }

  #measure(milliseconds: number): void {
    this.#fastest = Math.min(this.#fastest, milliseconds)
    if (++this.#measured < sample) return
    this.#places = 1 + Math.floor(this.#fastest)
    this.#measured = 0
    this.#fastest = Infinity
  }
}
