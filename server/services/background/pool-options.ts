// What a pool of background processes is created with, and what callers learn about it.

export type QueueSettings = {
  /** Tasks that may wait while all processes work. */
  readonly queueLimit: number
  /** Timeout per task in milliseconds, including waiting. */
  readonly timeout: number
}

/** What the processes are, for messages to people. */
export type PoolTexts = {
  /** `analyser` */
  readonly process: string
  /** `analysis`: what it does with a task. */
  readonly work: string
  /** `an image`: what the work is done with. */
  readonly task: string
  /** Message for the caller when the work timed out. */
  readonly timedOut: string
  /** Message for the caller when the work failed for another reason than the task. */
  readonly failed: string
}

/** Events for metrics and the log. Times are in seconds. */
export type PoolObserver<State, Result> = {
  readonly waited: (seconds: number) => void
  readonly ready: (state: State) => void
  readonly done: (result: Result) => void
  readonly killed: () => void
  readonly warned: (message: string) => void
}

export type PoolOptions<Options extends object, State, Result> = QueueSettings & {
  /** Path of the program of the processes. */
  readonly program: string
  /** What a process gets at its start. */
  readonly options: Options
  readonly texts: PoolTexts
  /** Processes at a time. */
  readonly size: number
  /** Milliseconds without a task after which a process ends. `never`: its start takes long; one that ended is replaced at once. */
  readonly longestIdle: number | 'never'
  /** How often a task is tried when processes end during it. */
  readonly attempts: number
  /** What tasks are called in traces: `image`. Without it, they are not traced. */
  readonly tracedAs?: string
  /** Further attributes of a trace, by the result. */
  readonly describe?: (result: Result) => Readonly<Record<string, number>>
  readonly observer?: Partial<PoolObserver<State, Result>>
}

export type PoolStatus<State> =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly state: State }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Why a task failed.
 *
 * - `refused`: the task is invalid
 * - `busy`: the queue is full, or the task waited too long
 * - `too slow`: the work timed out
 * - `unavailable`: the process does not start, or ended during the work
 * - `failed`: the work failed for another reason
 */
export type TaskFailure = 'refused' | 'busy' | 'too slow' | 'unavailable' | 'failed'

export class TaskError<Fault> extends Error {
  override readonly name = 'TaskError'
  readonly failure: TaskFailure
  /** Set for a task that is refused. */
  readonly fault: Fault | undefined

  constructor(failure: TaskFailure, message: string, fault?: Fault) {
    super(message)
    this.failure = failure
    this.fault = fault
  }
}
