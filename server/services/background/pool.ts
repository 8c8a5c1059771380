// A pool of background processes: a bounded queue in front of a bounded number of processes, with a deadline per task. A
// process starts at first use, ends when it is idle, and is replaced when it hangs or ends.
//
// `tinypool` does not fit: it copies the bytes of an image as a message while no request is served, kills a child with SIGTERM
// first, does not report what it has prepared, and starts one that crashes at its start again without a pause.
import { requestScope, type CallEnd } from '../../common/request-scope.ts'
import type { ProcessMessage, TaskReply } from './message.ts'
import { TaskError, type PoolObserver, type PoolOptions, type PoolStatus } from './pool-options.ts'
import { BackgroundProcess } from './process.ts'

type Job<Task, Result> = {
  readonly task: Task
  readonly bytes: Uint8Array
  readonly since: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
  /** Processes that ended during it. */
  ended: number
  /** Seconds that it has waited; undefined while it waits. */
  waited: number | undefined
  /** Until it must be in work, and then until it must be done. */
  timer: NodeJS.Timeout | undefined
}

type Member<State, Task, Result> = {
  readonly process: Pick<BackgroundProcess<Task, never>, 'pid' | 'send' | 'setNeeded' | 'end' | 'kill'>
  phase: 'starting' | 'idle' | 'working' | 'leaving' | 'killed'
  /** What it has prepared. */
  state: State | undefined
  current: { readonly id: number; readonly job: Job<Task, Result> } | undefined
  /** Until it must be ready, or until it ends because it is idle. */
  timer: NodeJS.Timeout | undefined
}

/** Fraction of the timeout that a task may wait; the rest is for the work. */
const waitingShare = 0.5
/** Milliseconds in which a process must be ready, including its preparation. */
const startLimit = 60_000
/** Milliseconds between failed starts: the first pause, and the upper limit of the doubling pauses. */
const shortestPause = 1000
const longestPause = 30_000
const startAttempts = 3
const noBytes = new Uint8Array()

export class BackgroundPool<Options extends object, State, Task, Result, Fault = never> {
  readonly #options: PoolOptions<Options, State, Result>
  readonly #observer: Partial<PoolObserver<State, Result>>
  readonly #waiting: Job<Task, Result>[] = []
  readonly #settled: (() => void)[] = []
  readonly #members = new Set<Member<State, Task, Result>>()
  #id = 0
  #failures = 0
  #failure: string | undefined
  #nextStart = 0
  #isStopped = false

  constructor(options: PoolOptions<Options, State, Result>) {
    this.#options = options
    this.#observer = options.observer ?? {}
  }

  get status(): PoolStatus<State> {
    const [ready] = this.#inPhase('idle', 'working')
    if (ready) return { kind: 'running', state: ready.state as State }
    if (this.#members.size > 0) return { kind: 'starting' }
    return this.#failure === undefined ? { kind: 'idle' } : { kind: 'failed', reason: this.#failure }
  }

  /** Whether the next task would be rejected. */
  get isFull(): boolean {
    // The queue has room for one more task for each process that has none.
    return this.#waiting.length >= this.#options.queueLimit + this.#options.size - this.#inPhase('working').length
  }

  /** Number of tasks that wait. */
  get queueLength(): number {
    return this.#waiting.length
  }

  /** Id of the first process, or undefined when none is running. */
  get pid(): number | undefined {
    const [member] = this.#members
    return member?.process.pid
  }

  /** Starts a process unless one is running. Resolves when it is ready or has failed. */
  async start(): Promise<PoolStatus<State>> {
    // A process that is being replaced may have to end first.
    for (let attempt = 0; attempt < startAttempts; attempt++) {
      if (this.#members.size === 0) this.#startProcess()
      if (this.status.kind !== 'starting') break
      await new Promise<void>((resolve) => this.#settled.push(resolve))
    }
    return this.status
  }

  /**
   * Queues a task and has a process work on it.
   *
   * @param bytes of the task, which are not copied
   * @param signal removes the task from the queue, because the client has disconnected
   * @throws TaskError
   */
  run(task: Task, bytes: Uint8Array = noBytes, signal?: AbortSignal): Promise<Result> {
    if (this.#isStopped) return Promise.reject(this.#unavailable('the server is stopping'))
    if (signal?.aborted === true) return Promise.reject(cancelled())
    if (this.isFull) return Promise.reject(busy())
    return new Promise((resolve, reject) => {
      const { tracedAs, describe, timeout } = this.#options
      const traced = tracedAs === undefined ? undefined : this.#trace(tracedAs, bytes.length)
      const leave = (): void => this.#withdraw(job, cancelled())
      const done = (error: string | undefined, result?: Result): void => {
        clearTimeout(job.timer)
        signal?.removeEventListener('abort', leave)
        const described = result === undefined ? {} : describe?.(result)
        traced?.({ attributes: { [`rowhouse.${tracedAs}.wait_seconds`]: job.waited, ...described }, error })
      }
      const job: Job<Task, Result> = {
        task,
        bytes,
        since: performance.now(),
        resolve: (result) => (done(undefined, result), resolve(result)),
        reject: (error) => (done(error instanceof TaskError ? error.failure : error.name), reject(error)),
        ended: 0,
        waited: undefined,
        timer: setTimeout(() => this.#withdraw(job, busy()), timeout * waitingShare),
      }
      signal?.addEventListener('abort', leave)
      this.#waiting.push(job)
      this.#next()
    })
  }

  /** Ends all processes and rejects all waiting tasks. */
  stop(): void {
    this.#isStopped = true
    for (const job of this.#waiting.splice(0)) job.reject(this.#unavailable('the server is stopping'))
    for (const { process } of this.#members) process.kill('the server is stopping')
  }

  #trace(subject: string, bytes: number): ((end: CallEnd) => void) | undefined {
    return requestScope.getStore()?.call({
      name: `${subject} ${this.#options.texts.work}`,
      kind: 'internal',
      attributes: { [`rowhouse.${subject}.bytes`]: bytes },
    })
  }

  #inPhase(...phases: readonly Member<State, Task, Result>['phase'][]): Member<State, Task, Result>[] {
    return [...this.#members].filter(({ phase }) => phases.includes(phase))
  }

  /** Removes a job from the queue. Does not stop running work. */
  #withdraw(job: Job<Task, Result>, error: Error): void {
    const index = this.#waiting.indexOf(job)
    if (index < 0) return
    this.#waiting.splice(index, 1)
    job.reject(error)
  }

  #next(): void {
    // The process that was started first is preferred, so that the others end after a while.
    for (const member of this.#inPhase('idle')) {
      const job = this.#waiting.shift()
      if (!job) return
      this.#begin(member, job)
    }
    const starting = this.#inPhase('starting').length
    if (this.#waiting.length > starting && this.#members.size < this.#options.size) this.#startProcess()
  }

  #begin(member: Member<State, Task, Result>, job: Job<Task, Result>): void {
    const waited = performance.now() - job.since
    if (job.waited === undefined) this.#observer.waited?.(waited / 1000)
    job.waited = waited / 1000
    clearTimeout(job.timer)
    job.timer = setTimeout(() => this.#timeOut(member, job), this.#options.timeout - waited)
    clearTimeout(member.timer)
    member.phase = 'working'
    member.current = { id: ++this.#id, job }
    member.process.setNeeded(true)
    member.process.send(member.current.id, job.task, job.bytes)
  }

  #timeOut(member: Member<State, Task, Result>, job: Job<Task, Result>): void {
    const { texts, timeout } = this.#options
    job.reject(new TaskError('too slow', texts.timedOut))
    this.#observer.killed?.()
    member.phase = 'killed'
    member.current = undefined
    member.process.kill(`${texts.task} took longer than ${timeout / 1000} s`)
  }

  #receive(member: Member<State, Task, Result>, reply: TaskReply<Result, Fault>): void {
    const { id, job } = member.current ?? {}
    if (!job || id !== reply.id) return
    const { texts } = this.#options
    this.#rest(member)
    switch (reply.kind) {
      case 'done':
        this.#observer.done?.(reply.result)
        job.resolve(reply.result)
        break
      case 'refused':
        job.reject(new TaskError('refused', reply.message, reply.fault))
        break
      case 'failed':
        this.#observer.warned?.(`The ${texts.work} of ${texts.task} failed: ${reply.message}`)
        job.reject(new TaskError('failed', texts.failed))
        break
      default:
        reply satisfies never
    }
    this.#next()
  }

  /** The process has no task, until the next one. */
  #rest(member: Member<State, Task, Result>): void {
    const { longestIdle } = this.#options
    member.phase = 'idle'
    member.current = undefined
    member.process.setNeeded(false)
    if (longestIdle === 'never') return
    member.timer = setTimeout(() => {
      member.phase = 'leaving'
      member.process.end()
    }, longestIdle).unref()
  }

  #startProcess(): void {
    if (this.#isStopped) return
    if (performance.now() < this.#nextStart) {
      this.#refuseAll()
      return
    }
    const { program, options } = this.#options
    const process = new BackgroundProcess<Task, ProcessMessage<State, Result, Fault>>(program, options, {
      onMessage: (message) => {
        if (message.kind === 'ready') this.#onReady(member, message.state)
        else this.#receive(member, message)
      },
      onEnd: (reason) => this.#onEnd(member, reason),
    })
    const member: Member<State, Task, Result> = {
      process,
      phase: 'starting',
      state: undefined,
      current: undefined,
      timer: setTimeout(() => process.kill(`it was not ready within ${startLimit / 1000} s`), startLimit),
    }
    this.#members.add(member)
  }

  #onReady(member: Member<State, Task, Result>, state: State): void {
    clearTimeout(member.timer)
    this.#failures = 0
    this.#failure = undefined
    member.state = state
    this.#rest(member)
    this.#observer.ready?.(state)
    this.#settle()
    this.#next()
  }

  #onEnd(member: Member<State, Task, Result>, reason: string): void {
    const { texts, longestIdle } = this.#options
    const { phase, current } = member
    clearTimeout(member.timer)
    this.#members.delete(member)
    if (!this.#isStopped && phase !== 'leaving') this.#observer.warned?.(`The ${texts.process} ended: ${reason}`)
    if (phase === 'starting') {
      if (!this.#isStopped) this.#countFailedStart(reason)
      this.#tryAgain(this.#waiting.shift(), `the ${texts.process} does not start`)
    } else {
      this.#tryAgain(current?.job, `the ${texts.process} ended during the ${texts.work}`)
      if (longestIdle === 'never') this.#startProcess()
    }
    this.#settle()
    this.#next()
  }

  #countFailedStart(reason: string): void {
    this.#failure = reason
    const pauses = ++this.#failures - this.#options.attempts
    if (pauses >= 0) this.#nextStart = performance.now() + Math.min(longestPause, shortestPause * 2 ** pauses)
  }

  /** A task has no effects, so that it can be repeated. */
  #tryAgain(job: Job<Task, Result> | undefined, reason: string): void {
    if (!job) return
    if (++job.ended >= this.#options.attempts || this.#isStopped) {
      job.reject(this.#unavailable(reason))
      return
    }
    clearTimeout(job.timer)
    const rest = this.#options.timeout - (performance.now() - job.since)
    job.timer = setTimeout(() => this.#withdraw(job, busy()), rest)
    this.#waiting.unshift(job)
  }

  /** Rejects all waiting tasks during the pause after a failed start. */
  #refuseAll(): void {
    const reason = `the ${this.#options.texts.process} does not start`
    for (const job of this.#waiting.splice(0)) job.reject(this.#unavailable(reason))
  }

  #settle(): void {
    for (const resolve of this.#settled.splice(0)) resolve()
  }

  #unavailable(reason: string): TaskError<Fault> {
    return new TaskError<Fault>('unavailable', `No ${this.#options.texts.work}: ${reason}.`)
  }
}

const cancelled = (): Error => new TaskError('busy', 'The request was cancelled.')
const busy = (): Error => new TaskError('busy', 'Too many tasks are waiting.')
