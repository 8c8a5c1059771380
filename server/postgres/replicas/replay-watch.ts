// Waits until a replica has replayed a position.

type Waiter = { readonly isDone: () => boolean; readonly resolve: (isReached: boolean) => void }

/** Milliseconds between two questions. */
const pauses = { first: 1, longest: 10 }

/** Asks a replica again and again for its position, while reads wait for it. All waiting reads share the questions. */
export class ReplayWatch {
  readonly #refresh: () => Promise<void>
  readonly #waiters = new Set<Waiter>()
  #isAsking = false

  /** @param refresh asks the replica for its position */
  constructor(refresh: () => Promise<void>) {
    this.#refresh = refresh
  }

  /**
   * @param isDone whether the position is reached; evaluated after each question
   * @returns false after the timeout, or as soon as the replica cannot be asked
   */
  wait(isDone: () => boolean, milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(false), milliseconds)
      const settle = (isReached: boolean): void => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
        resolve(isReached)
      }
      const waiter: Waiter = { isDone, resolve: settle }
      this.#waiters.add(waiter)
      if (!this.#isAsking) void this.#ask()
    })
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    let pause = pauses.first
    try {
      while (this.#waiters.size > 0) {
        await this.#refresh()
        for (const waiter of [...this.#waiters]) if (waiter.isDone()) waiter.resolve(true)
        if (this.#waiters.size === 0) break
        const length = pause
        await new Promise((resolve) => setTimeout(resolve, length))
        pause = Math.min(pause * 2, pauses.longest)
      }
    } catch {
      for (const waiter of [...this.#waiters]) waiter.resolve(false)
    } finally {
      this.#isAsking = false
    }
  }
}
