// A task that never runs concurrently with itself. Calls during a run share one further run.

export class SingleFlight {
  readonly #task: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  /** @param task must not reject */
  constructor(task: () => Promise<void>) {
    this.#task = task
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Resolves after a run that starts after this call. Calls during a run share the next run. */
  run(): Promise<void> {
    if (!this.#running) return this.#start()
    return (this.#next ??= this.#running.then(() => {
      this.#next = undefined
      return this.#start()
    }))
  }

  /** Resolves when no run is active or pending. */
  async settled(): Promise<void> {
    while (this.#running) await (this.#next ?? this.#running)
  }

  #start(): Promise<void> {
    return (this.#running = this.#task().finally(() => (this.#running = undefined)))
  }
}
