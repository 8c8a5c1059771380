// Tasks that run after the response of their request.
import { setImmediate as nextTurn } from 'node:timers/promises'

export class BackgroundTasks {
  readonly #running = new Set<Promise<void>>()
  readonly #onError: (error: unknown) => void

  /** @param onError receives errors of tasks */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Starts a task in the next turn of the event loop: a response that is ready now is sent before. */
  run(task: () => Promise<void>): void {
    const running = nextTurn()
      .then(task)
      .catch(this.#onError)
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Waits for the tasks that run, at most for `timeout` milliseconds. */
  async drain(timeout: number): Promise<void> {
    await ended(this.#running, timeout)
  }
}

/**
 * Waits for tasks that never reject, and for those that are added meanwhile.
 *
 * @param running each task is removed when it ends
 * @param timeout milliseconds
 * @returns whether all have ended in time
 */
export async function ended(running: ReadonlySet<Promise<void>>, timeout: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const isLate = new Promise<true>((resolve) => {
    timer = setTimeout(resolve, timeout, true)
  })
  try {
    while (running.size > 0) {
      if ((await Promise.race([Promise.all(running), isLate])) === true) return false
    }
    return true
  } finally {
    clearTimeout(timer)
  }
}
