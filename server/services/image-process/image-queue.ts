// Sends images to a child process: a bounded queue with a timeout per image. The process starts on first use and is
// replaced when it hangs or ends.
import { requestScope, type CallEnd } from '../../common/request-scope.ts'
import { ImageProcess } from './image-process.ts'
import type { ImageReply } from './message.ts'

export type ImageQueueSettings = {
  /** Images that may wait while the process works on one. */
  readonly queueLimit: number
  /** Timeout per image in milliseconds, including waiting. */
  readonly timeout: number
}

/** What the process of a queue is, for messages to people. */
export type ImageQueueTexts = {
  /** `analyser` */
  readonly process: string
  /** `analysis`: what it does with an image. */
  readonly work: string
  /** What the caller is told when the work timed out. */
  readonly timedOut: string
  /** What the caller is told when the work failed for another reason than the image. */
  readonly failed: string
}

/** Events for metrics and the log. Times are in seconds. */
export type ImageQueueObserver<State, Result> = {
  readonly waited: (seconds: number) => void
  readonly ready: (state: State) => void
  readonly done: (result: Result) => void
  readonly killed: () => void
  readonly warned: (message: string) => void
}

export type ImageQueueOptions<Options extends object, State, Result> = ImageQueueSettings & {
  /** Path of the program of the process. */
  readonly program: string
  /** What the process is told at its start. */
  readonly options: Options
  readonly texts: ImageQueueTexts
  /** Whether a process that ended is replaced at once, because its start takes long. */
  readonly restarts: boolean
  /** What traces say about a result. */
  readonly describe?: (result: Result) => Readonly<Record<string, number>>
  readonly observer: ImageQueueObserver<State, Result>
}

export type ImageQueueStatus<State> =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly state: State }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Why a task failed.
 *
 * - `refused`: the image is invalid
 * - `busy`: the queue is full, or the image waited too long
 * - `too slow`: the work timed out
 * - `unavailable`: the process is not running, or ended during the work
 * - `failed`: the work failed for another reason
 */
export type ImageTaskFailure = 'refused' | 'busy' | 'too slow' | 'unavailable' | 'failed'

export class ImageTaskError<Fault> extends Error {
  readonly failure: ImageTaskFailure
  /** Set for an image that is refused. */
  readonly fault: Fault | undefined

  constructor(failure: ImageTaskFailure, message: string, fault?: Fault) {
    super(message)
    this.name = 'ImageTaskError'
    this.failure = failure
    this.fault = fault
  }
}

type Job<Task, Result> = {
  readonly image: Uint8Array
  readonly task: Task
  readonly since: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
  /** Ends the span of the job; undefined if it is not traced. */
  readonly traced: ((end: CallEnd) => void) | undefined
  /** Seconds that it has waited; undefined while it waits. */
  waited: number | undefined
  timer: NodeJS.Timeout | undefined
}

/** Fraction of the timeout that an image may wait; the rest is for the work. */
const waitingShare = 0.5
/** Milliseconds in which the process must be ready, including its preparation. */
const startLimit = 60_000
/** Milliseconds between failed starts: the first pause, and the upper limit of the doubling pauses. */
const shortestPause = 1000
const longestPause = 30_000
const startAttempts = 3

export class ImageQueue<Options extends object, State, Task, Result, Fault> {
  readonly #settings: ImageQueueOptions<Options, State, Result>
  readonly #waiting: Job<Task, Result>[] = []
  readonly #settled: (() => void)[] = []
  #process: ImageProcess<Options, State, Task, Result, Fault> | undefined
  #status: ImageQueueStatus<State> = { kind: 'idle' }
  #current: { readonly id: number; readonly job: Job<Task, Result> } | undefined
  #startTimer: NodeJS.Timeout | undefined
  #id = 0
  #failures = 0
  #nextStart = 0
  #isReady = false
  #isStopped = false

  constructor(settings: ImageQueueOptions<Options, State, Result>) {
    this.#settings = settings
  }

  get status(): ImageQueueStatus<State> {
    return this.#status
  }

  /** Whether the next image would be rejected. */
  get isFull(): boolean {
    return this.#waiting.length >= this.#settings.queueLimit && this.#current !== undefined
  }

  /** Number of images that wait. */
  get queueLength(): number {
    return this.#waiting.length
  }

  /** Id of the process, or undefined when it is not running. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** Starts the process unless it is running. Resolves when it is ready or has failed. */
  async start(): Promise<ImageQueueStatus<State>> {
    // A process that is being replaced may have to end first.
    for (let attempt = 0; attempt < startAttempts; attempt++) {
      this.#startProcess()
      if (this.#status.kind !== 'starting') break
      await new Promise<void>((resolve) => this.#settled.push(resolve))
    }
    return this.#status
  }

  /**
   * Queues an image and has the process work on it.
   *
   * @param signal removes the image from the queue, because the client has disconnected
   * @throws ImageTaskError
   */
  run(image: Uint8Array, task: Task, signal?: AbortSignal): Promise<Result> {
    if (this.#isStopped) return Promise.reject(this.#unavailable('the server is stopping'))
    if (signal?.aborted === true) return Promise.reject(cancelled())
    // The queue has room for one more image while the process has none.
    if (this.#waiting.length >= this.#settings.queueLimit + (this.#current ? 0 : 1)) return Promise.reject(busy())
    return new Promise((resolve, reject) => {
      const leave = (): void => this.#withdraw(job, cancelled())
      const done = (error: string | undefined, result?: Result): void => {
        clearTimeout(job.timer)
        signal?.removeEventListener('abort', leave)
        const described = result === undefined ? {} : this.#settings.describe?.(result)
        job.traced?.({ attributes: { 'rowhouse.image.wait_seconds': job.waited, ...described }, error })
      }
      const job: Job<Task, Result> = {
        image,
        task,
        since: performance.now(),
        resolve: (result) => (done(undefined, result), resolve(result)),
        reject: (error) => (done(error instanceof ImageTaskError ? error.failure : error.name), reject(error)),
        traced: requestScope.getStore()?.call({
          name: `image ${this.#settings.texts.work}`,
          kind: 'internal',
          attributes: { 'rowhouse.image.bytes': image.length },
        }),
        waited: undefined,
        timer: setTimeout(() => this.#withdraw(job, busy()), this.#settings.timeout * waitingShare),
      }
      signal?.addEventListener('abort', leave)
      this.#waiting.push(job)
      this.#next()
    })
  }

  /** Ends the process and rejects all waiting images. */
  stop(): void {
    this.#isStopped = true
    for (const job of this.#waiting.splice(0)) job.reject(this.#unavailable('the server is stopping'))
    this.#process?.kill('the server is stopping')
  }

  /** Removes a job from the queue. Does not stop running work. */
  #withdraw(job: Job<Task, Result>, error: Error): void {
    const index = this.#waiting.indexOf(job)
    if (index < 0) return
    this.#waiting.splice(index, 1)
    job.reject(error)
  }

  #next(): void {
    if (this.#current || this.#waiting.length === 0) return
    if (this.#status.kind !== 'running') {
      this.#startProcess()
      return
    }
    const [job] = this.#waiting.splice(0, 1)
    if (!job || !this.#process) return
    const waited = performance.now() - job.since
    this.#settings.observer.waited(waited / 1000)
    job.waited = waited / 1000
    clearTimeout(job.timer)
    job.timer = setTimeout(() => this.#timeOut(job), this.#settings.timeout - waited)
    this.#current = { id: ++this.#id, job }
    this.#process.send(this.#id, job.image, job.task)
  }

  #timeOut(job: Job<Task, Result>): void {
    const { texts, observer, timeout } = this.#settings
    job.reject(new ImageTaskError('too slow', texts.timedOut))
    observer.killed()
    this.#status = { kind: 'starting' }
    this.#process?.kill(`an image took longer than ${timeout / 1000} s`)
  }

  #receive(reply: ImageReply<Result, Fault>): void {
    const current = this.#current
    if (current?.id !== reply.id) return
    const { texts, observer } = this.#settings
    this.#current = undefined
    switch (reply.kind) {
      case 'done':
        observer.done(reply.result)
        current.job.resolve(reply.result)
        break
      case 'refused':
        current.job.reject(new ImageTaskError('refused', reply.message, reply.fault))
        break
      case 'failed':
        observer.warned(`The ${texts.work} of an image failed: ${reply.message}`)
        current.job.reject(new ImageTaskError('failed', texts.failed))
        break
      default:
        reply satisfies never
    }
    this.#next()
  }

  #startProcess(): void {
    if (this.#process || this.#isStopped) return
    if (performance.now() < this.#nextStart) {
      this.#refuseAll()
      return
    }
    this.#status = { kind: 'starting' }
    const started = new ImageProcess<Options, State, Task, Result, Fault>(
      this.#settings.program,
      this.#settings.options,
      {
        onReady: (state) => this.#begin(state),
        onReply: (reply) => this.#receive(reply),
        onEnd: (reason) => this.#end(reason),
      },
    )
    this.#process = started
    this.#startTimer = setTimeout(() => started.kill(`it was not ready within ${startLimit / 1000} s`), startLimit)
  }

  #begin(state: State): void {
    clearTimeout(this.#startTimer)
    this.#failures = 0
    this.#isReady = true
    this.#status = { kind: 'running', state }
    this.#settings.observer.ready(state)
    this.#settle()
    this.#next()
  }

  #end(reason: string): void {
    clearTimeout(this.#startTimer)
    const wasReady = this.#isReady
    const { job } = this.#current ?? {}
    const { texts, observer, restarts } = this.#settings
    this.#process = undefined
    this.#isReady = false
    this.#current = undefined
    this.#status = { kind: 'idle' }
    if (!this.#isStopped) observer.warned(`The ${texts.process} ended: ${reason}`)
    if (!wasReady && !this.#isStopped) {
      this.#failures++
      const pause = Math.min(longestPause, shortestPause * 2 ** (this.#failures - 1))
      this.#nextStart = performance.now() + pause
      this.#status = { kind: 'failed', reason }
    }
    job?.reject(this.#unavailable(`the ${texts.process} ended during the ${texts.work}`))
    if (wasReady && restarts) this.#startProcess()
    this.#settle()
    this.#next()
  }

  /** Rejects all waiting images during the pause after a failed start. */
  #refuseAll(): void {
    const reason = `the ${this.#settings.texts.process} does not start`
    for (const job of this.#waiting.splice(0)) job.reject(this.#unavailable(reason))
  }

  #settle(): void {
    for (const resolve of this.#settled.splice(0)) resolve()
  }

  #unavailable(reason: string): ImageTaskError<Fault> {
    return new ImageTaskError<Fault>('unavailable', `No ${this.#settings.texts.work}: ${reason}.`)
  }
}

const cancelled = (): Error => new ImageTaskError('busy', 'The request was cancelled.')
const busy = (): Error => new ImageTaskError('busy', 'Too many images are waiting.')
