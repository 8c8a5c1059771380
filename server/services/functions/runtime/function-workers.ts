// The workers of one version of a function.
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Call } from './call.ts'
import { compileTo, type CompiledFunction } from './compiled-function.ts'
import { FunctionFailure } from './function-failure.ts'
import type { FunctionLimits, FunctionRequest, FunctionResponse, FunctionSource, LogLevel } from './function-source.ts'
import { RestartPause } from './restart-pause.ts'
import type { WorkerFolder } from './worker-folder.ts'
import { WorkerProcess } from './worker-process.ts'

/** What the workers of all functions share. */
export type WorkersContext = {
  readonly limits: () => FunctionLimits
  readonly folder: () => Promise<WorkerFolder>
  /** Makes room for one more worker. Returns false if that is not possible. */
  readonly makeRoom: () => boolean
  readonly onLog: (source: FunctionSource, level: LogLevel, message: string, requestId: string | undefined) => void
  /** A worker was started, or killed for a limit. */
  readonly onCount: (event: 'started' | 'killed') => void
}

export class FunctionWorkers {
  readonly source: FunctionSource
  readonly #context: WorkersContext
  readonly #workers = new Set<WorkerProcess>()
  readonly #calls = new Set<Call>()
  readonly #assigned = new Map<Call, WorkerProcess>()
  readonly #pause = new RestartPause()
  #compiling: Promise<CompiledFunction> | undefined
  #failedStart: FunctionFailure | undefined
  #starting: Promise<void> | undefined
  #isRetired = false

  constructor(source: FunctionSource, context: WorkersContext) {
    this.source = source
    this.#context = context
  }

  get calls(): number {
    return this.#calls.size
  }

  /** Number of processes that run. */
  get workers(): number {
    return this.#workers.size
  }

  /** @throws FunctionFailure; the reason of the aborted signal */
  async call(request: FunctionRequest): Promise<FunctionResponse> {
    const limits = this.#context.limits()
    if (this.#calls.size >= limits.concurrency) {
      throw new FunctionFailure('busy', `The function has ${limits.concurrency} calls already`)
    }
    const call: Call = new Call(request, limits, {
      // What the handler waits for remains: a new worker has none of it.
      onTimeout: () => this.#assigned.get(call)?.retire('wall_clock'),
      onEnd: () => this.#onEnd(call),
    })
    this.#calls.add(call)
    call.begin()
    if (!call.hasEnded) this.#assign(call, limits).catch((error: Error) => call.fail(error))
    const response = await call.response
    this.#pause.worked()
    return response
  }

  #onEnd(call: Call): void {
    this.#calls.delete(call)
    this.#assigned.get(call)?.remove(call)
    this.#assigned.delete(call)
    if (this.#isRetired) this.#end()
  }

  /** Gives a call to the worker with the fewest calls, or to a new one if all have many or compute. */
  async #assign(call: Call, limits: FunctionLimits): Promise<void> {
    const enough = Math.ceil(limits.concurrency / limits.workers)
    while (!call.hasEnded) {
      const open = [...this.#workers].filter((worker) => worker.isOpen)
      const free = open.filter((worker) => !worker.isLate).sort((one, other) => one.calls - other.calls)[0]
      const chosen = (free?.calls ?? enough) < enough || open.length >= limits.workers ? (free ?? open[0]) : undefined
      if (chosen) {
        this.#assigned.set(call, chosen)
        chosen.add(call)
        return
      }
      // Calls that come meanwhile wait for the same new worker.
      await (this.#starting ??= this.#startAfterPause().finally(() => (this.#starting = undefined)))
    }
  }

  async #startAfterPause(): Promise<void> {
    const { remaining } = this.#pause
    // What does not start is a mistake in the code, of which the caller should learn soon.
    if (remaining > 0 && this.#failedStart) throw this.#failedStart
    if (remaining > 0) await delay(remaining, undefined, { ref: false })
    if (!this.#context.makeRoom()) {
      throw new FunctionFailure('busy', `Functions have ${this.#context.limits().totalWorkers} workers already`)
    }
    try {
      const folder = await this.#context.folder()
      // Systems remove temporary files that were not used for days.
      const wasRemoved = await folder.restore()
      if (wasRemoved || !existsSync((await this.#compiling)?.path ?? '')) this.#compiling = undefined
      this.#compiling ??= this.#compile(folder.newPath('.mjs'))
      const compiled = await this.#compiling
      // Those who called may have given up meanwhile.
      if (this.#calls.size > 0) this.#start(compiled, folder)
    } catch (error) {
      // A package may be installed before the next attempt.
      this.#compiling = undefined
      const failure = error instanceof FunctionFailure ? error : new FunctionFailure('boot', String(error))
      this.#recordFailedStart(failure)
      throw failure
    }
  }

  async #compile(path: string): Promise<CompiledFunction> {
    const compiled = await compileTo(this.source, path)
    for (const warning of compiled.warnings) this.#context.onLog(this.source, 'warn', warning, undefined)
    return compiled
  }

  #start(compiled: CompiledFunction, folder: WorkerFolder): void {
    this.#context.onCount('started')
    const worker = new WorkerProcess(compiled, folder.program, folder.newPath('.sock'), this.#context.limits(), {
      onLog: (level, message, requestId) => this.#context.onLog(this.source, level, message, requestId),
      onExit: (failure) => {
        this.#workers.delete(worker)
        if (worker.pid !== undefined) folder.removeWorker(worker.pid)
        if (failure?.kind === 'boot') this.#recordFailedStart(failure)
        else if (failure) this.#recordCrash(failure)
        if (this.#isRetired) void this.#removeCode()
      },
    })
    worker.started.then(
      () => (this.#failedStart = undefined),
      () => undefined,
    )
    this.#workers.add(worker)
    if (worker.pid !== undefined) folder.addWorker(worker.pid)
  }

  #recordFailedStart(failure: FunctionFailure): void {
    this.#failedStart = failure
    this.#pause.failed(true)
    this.#context.onLog(this.source, 'error', failure.detail, undefined)
  }

  #recordCrash(failure: FunctionFailure): void {
    this.#pause.failed(false)
    if (failure.kind !== 'crashed') this.#context.onCount('killed')
    this.#context.onLog(this.source, 'error', failure.detail, undefined)
  }

  /** Ends a worker that has nothing to do. Returns false if all are busy. */
  endIdle(): boolean {
    const idle = [...this.#workers].find((worker) => worker.isIdle)
    idle?.retire('early_drop')
    return idle !== undefined
  }

  /** Ends the workers after their calls. */
  retire(): void {
    this.#isRetired = true
    this.#end()
  }

  #end(): void {
    if (this.#calls.size > 0) return
    for (const worker of this.#workers) worker.retire('termination')
    if (this.#workers.size === 0) void this.#removeCode()
  }

  async #removeCode(): Promise<void> {
    if (this.#workers.size > 0) return
    const compiled = await this.#compiling?.catch(() => undefined)
    if (compiled && this.#workers.size === 0) await rm(compiled.path, { force: true })
  }

  /** Ends all calls and workers immediately. */
  kill(): void {
    for (const call of this.#calls) call.fail(new FunctionFailure('busy', 'The server stops'))
    for (const worker of this.#workers) worker.kill()
  }
}
