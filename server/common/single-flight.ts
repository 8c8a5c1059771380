// A task that never runs twice at once. Calls during a run share one further run.

export class SingleFlight {
  readonly #task: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  /** `task` never rejects. */
  constructor(task: () => Promise<void>) {
    this.#task = task
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Resolves after a run that began after this call. Calls during a run share one more run after it. */
  run(): Promise<void> {
    if (!this.#running) return this.#start()
    return (this.#next ??= this.#running.then(() => {
      this.#next = undefined
      return this.#start()
    }))
  }

  /** Resolves when nothing runs any more. */
  async settled(): Promise<void> {
    while (this.#running) await (this.#next ?? this.#running)
  }

  #start(): Promise<void> {
    return (this.#running = this.#task().finally(() => (this.#running = undefined)))
  }
}
