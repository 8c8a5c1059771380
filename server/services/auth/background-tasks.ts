// Tasks that run after the response of their request.

export class BackgroundTasks {
  readonly #running = new Set<Promise<void>>()
  readonly #onError: (error: unknown) => void

  /** @param onError receives errors of tasks */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Starts a task. */
  run(task: () => Promise<void>): void {
    const running = Promise.resolve()
      .then(task)
      .catch(this.#onError)
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Waits for the tasks that run, at most for `timeout` milliseconds. */
  async drain(timeout: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeout)))
    while (this.#running.size > 0 && timer) {
      const ended = await Promise.race([Promise.all(this.#running).then(() => 'ended'), late])
      if (ended !== 'ended') break
    }
    clearTimeout(timer)
  }
}
