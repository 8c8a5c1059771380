// Sends images to the analyser process: a bounded queue with a timeout per image. The process starts on first use and is
// replaced when it hangs or ends.
import { AnalyserProcess } from './analyser-process.ts'
import type { AnalyserOptions, AnalyserReply, Analysis, ImageFault, ModelStates } from './analyser/message.ts'

export type AnalyserSettings = AnalyserOptions & {
  /** Images that may wait while one is analysed. */
  readonly queueLimit: number
  /** Timeout per image in milliseconds, including waiting. */
  readonly timeout: number
}

/** Events for metrics and the log. Times are in seconds. */
export type AnalyserObserver = {
  readonly waited: (seconds: number) => void
  readonly decoded: (seconds: number) => void
  readonly inferred: (seconds: number) => void
  readonly killed: () => void
  readonly warned: (message: string) => void
}

export type AnalyserStatus =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly models: ModelStates }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Why an analysis failed.
 *
 * - `refused`: the image is invalid
 * - `busy`: the queue is full, or the image waited too long
 * - `too slow`: the analysis timed out
 * - `unavailable`: the analyser is not running, or ended during the analysis
 * - `failed`: a model failed
 */
export type AnalysisFailure = 'refused' | 'busy' | 'too slow' | 'unavailable' | 'failed'

export class AnalysisError extends Error {
  readonly failure: AnalysisFailure
  /** Set for an image that is refused. */
  readonly fault: ImageFault | undefined

  constructor(failure: AnalysisFailure, message: string, fault?: ImageFault) {
    super(message)
    this.name = 'AnalysisError'
    this.failure = failure
    this.fault = fault
  }
}

type Job = {
  readonly image: Uint8Array
  readonly since: number
  readonly resolve: (analysis: Analysis) => void
  readonly reject: (error: AnalysisError) => void
  timer: NodeJS.Timeout | undefined
}

/** Fraction of the timeout that an image may wait; the rest is for its analysis. */
const waitingShare = 0.5
/** Milliseconds in which the process must be ready, including loading the models. */
const startLimit = 60_000
/** Milliseconds between failed starts: the first pause, and the upper limit of the doubling pauses. */
const shortestPause = 1000
const longestPause = 30_000
const startAttempts = 3

const busy = (): AnalysisError => new AnalysisError('busy', 'Too many images are waiting.')

export class Analyser {
  readonly #settings: AnalyserSettings
  readonly #observer: AnalyserObserver
  readonly #waiting: Job[] = []
  readonly #settled: (() => void)[] = []
  #process: AnalyserProcess | undefined
  #status: AnalyserStatus = { kind: 'idle' }
  #current: { readonly id: number; readonly job: Job } | undefined
  #startTimer: NodeJS.Timeout | undefined
  #id = 0
  #failures = 0
  #nextStart = 0
  #isReady = false
  #isStopped = false

  constructor(settings: AnalyserSettings, observer: AnalyserObserver) {
    this.#settings = settings
    this.#observer = observer
  }

  get status(): AnalyserStatus {
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

  /** Id of the process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** Starts the process if there is none. Resolves when it is ready or has failed. */
  async start(): Promise<AnalyserStatus> {
    // A process that is being replaced may have to end first.
    for (let attempt = 0; attempt < startAttempts; attempt++) {
      this.#startProcess()
      if (this.#status.kind !== 'starting') break
      await new Promise<void>((resolve) => this.#settled.push(resolve))
    }
    return this.#status
  }

  /**
   * Queues an image and analyses it.
   *
   * @param signal removes the image from the queue, because the client has disconnected
   * @throws AnalysisError
   */
  analyse(image: Uint8Array, signal?: AbortSignal): Promise<Analysis> {
    if (this.#isStopped) return Promise.reject(unavailable('the server is stopping'))
    // The queue has room for one more image while the process has none.
    if (this.#waiting.length >= this.#settings.queueLimit + (this.#current ? 0 : 1)) return Promise.reject(busy())
    return new Promise((resolve, reject) => {
      const leave = (): void => this.#withdraw(job, new AnalysisError('busy', 'The request was cancelled.'))
      const done = (): void => {
        clearTimeout(job.timer)
        signal?.removeEventListener('abort', leave)
      }
      const job: Job = {
        image,
        since: performance.now(),
        resolve: (analysis) => (done(), resolve(analysis)),
        reject: (error) => (done(), reject(error)),
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
    for (const job of this.#waiting.splice(0)) job.reject(unavailable('the server is stopping'))
    this.#process?.kill('the server is stopping')
  }

  /** Removes a job from the queue. Does not stop a running analysis. */
  #withdraw(job: Job, error: AnalysisError): void {
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
    this.#observer.waited(waited / 1000)
    clearTimeout(job.timer)
    job.timer = setTimeout(() => this.#timeOut(job), this.#settings.timeout - waited)
    this.#current = { id: ++this.#id, job }
    this.#process.send(this.#id, job.image)
  }

  #timeOut(job: Job): void {
    job.reject(new AnalysisError('too slow', 'Inference timed out.'))
    this.#observer.killed()
    this.#status = { kind: 'starting' }
    this.#process?.kill(`an image took longer than ${this.#settings.timeout / 1000} s`)
  }

  #receive(reply: Exclude<AnalyserReply, { kind: 'ready' }>): void {
    const current = this.#current
    if (current?.id !== reply.id) return
    this.#current = undefined
    switch (reply.kind) {
      case 'analysed':
        this.#observer.decoded(reply.analysis.decodeMilliseconds / 1000)
        this.#observer.inferred(reply.analysis.inferenceMilliseconds / 1000)
        current.job.resolve(reply.analysis)
        break
      case 'refused':
        current.job.reject(new AnalysisError('refused', reply.message, reply.fault))
        break
      case 'failed':
        this.#observer.warned(`The analysis of an image failed: ${reply.message}`)
        current.job.reject(new AnalysisError('failed', 'Inference failed.'))
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
    const started = new AnalyserProcess(this.#settings, {
      onReady: (models) => this.#begin(models),
      onReply: (reply) => this.#receive(reply),
      onEnd: (reason) => this.#end(reason),
    })
    this.#process = started
    this.#startTimer = setTimeout(() => started.kill(`it was not ready within ${startLimit / 1000} s`), startLimit)
  }

  #begin(models: ModelStates): void {
    clearTimeout(this.#startTimer)
    this.#failures = 0
    this.#isReady = true
    this.#status = { kind: 'running', models }
    for (const [name, state] of Object.entries(models)) {
      if (state.kind === 'failed') {
        this.#observer.warned(`The ${name} ${state.file} was not loaded: ${state.reason}`)
      }
    }
    this.#settle()
    this.#next()
  }

  #end(reason: string): void {
    clearTimeout(this.#startTimer)
    const wasReady = this.#isReady
    const { job } = this.#current ?? {}
    this.#process = undefined
    this.#isReady = false
    this.#current = undefined
    this.#status = { kind: 'idle' }
    if (!this.#isStopped) this.#observer.warned(`The analyser ended: ${reason}`)
    if (!wasReady && !this.#isStopped) {
      this.#failures++
      const pause = Math.min(longestPause, shortestPause * 2 ** (this.#failures - 1))
      this.#nextStart = performance.now() + pause
      this.#status = { kind: 'failed', reason }
    }
    job?.reject(unavailable('the analyser ended during the analysis'))
    // Loading models takes time, so the next process starts right away.
    const { classifier, detector } = this.#settings
    if (wasReady && (classifier !== null || detector !== null)) this.#startProcess()
    this.#settle()
    this.#next()
  }

  /** Rejects all waiting images during the pause after a failed start. */
  #refuseAll(): void {
    for (const job of this.#waiting.splice(0)) job.reject(unavailable('the analyser does not start'))
  }

  #settle(): void {
    for (const resolve of this.#settled.splice(0)) resolve()
  }
}

const unavailable = (reason: string): AnalysisError => new AnalysisError('unavailable', `No analysis: ${reason}.`)
