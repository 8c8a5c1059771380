// Runs functions in processes of their own.
import { setTimeout as delay } from 'node:timers/promises'
import { compile } from './bundle/compile.ts'
import { FunctionFailure } from './function-failure.ts'
import { FunctionLog } from './function-log.ts'
import type {
  FunctionLimits,
  FunctionLogEntry,
  FunctionRequest,
  FunctionResponse,
  FunctionSource,
} from './function-source.ts'
import { FunctionWorkers, type WorkersContext } from './function-workers.ts'
import { lazy } from '../../../common/lazy.ts'
import { WorkerFolder } from './worker-folder.ts'

/** Milliseconds that calls have to end when the server stops. */
const stopWithin = 5000

export type RuntimeOptions = {
  /** Read at each call, so that changed settings take effect. */
  readonly limits: () => FunctionLimits
  readonly onLog?: (entry: FunctionLogEntry) => void
}

export type RuntimeStatistics = {
  /** Processes that run. */
  readonly workers: number
  readonly calls: number
  /** Processes started, and those killed for a limit, since the start of the server. */
  readonly started: number
  readonly killed: number
}

export class FunctionRuntime {
  readonly #log: FunctionLog
  readonly #context: WorkersContext
  readonly #limits: () => FunctionLimits
  readonly #functions = new Map<string, FunctionWorkers>()
  /** Versions before the current ones, until their workers have ended. */
  readonly #retired = new Set<FunctionWorkers>()
  readonly #folder = lazy(() => WorkerFolder.create())
  readonly #counts = { started: 0, killed: 0 }
  #isStopped = false

  constructor({ limits, onLog }: RuntimeOptions) {
    this.#limits = limits
    this.#log = new FunctionLog(onLog ?? (() => undefined))
    this.#context = {
      limits,
      folder: this.#folder,
      makeRoom: () => this.#makeRoom(),
      onLog: ({ name }, level, message, requestId) =>
        this.#log.add({
          function: name,
          time: new Date(),
          level,
          message,
          ...(requestId !== undefined && { requestId }),
        }),
      onCount: (event) => void this.#counts[event]++,
    }
  }

  /**
   * Calls a function.
   *
   * @returns the response as soon as its headers have arrived. To end the call early, destroy the body or abort the signal of the request.
   * @throws FunctionFailure; the reason of the aborted signal
   */
  invoke(source: FunctionSource, request: FunctionRequest): Promise<FunctionResponse> {
    if (this.#isStopped) return Promise.reject(new FunctionFailure('busy', 'The server stops'))
    return this.#workersOf(source).call(request)
  }

  #workersOf(source: FunctionSource): FunctionWorkers {
    const existing = this.#functions.get(source.name)
    if (existing?.source.version === source.version) return existing
    this.retire(source.name)
    const workers = new FunctionWorkers(source, this.#context)
    this.#functions.set(source.name, workers)
    return workers
  }

  /** All versions that have workers. Forgets those that have none any more. */
  get #all(): FunctionWorkers[] {
    for (const workers of this.#retired) if (workers.workers === 0 && workers.calls === 0) this.#retired.delete(workers)
    return [...this.#functions.values(), ...this.#retired]
  }

  #makeRoom(): boolean {
    const all = this.#all
    const running = all.reduce((sum, { workers }) => sum + workers, 0)
    return running < this.#limits().totalWorkers || all.some((workers) => workers.endIdle())
  }

  /**
   * Compiles a function without running it.
   *
   * @returns why it cannot be compiled
   */
  async check(source: FunctionSource): Promise<FunctionFailure | undefined> {
    try {
      await compile(source, `${source.entrypoint}.mjs`)
      return undefined
    } catch (error) {
      if (error instanceof FunctionFailure) return error
      throw error
    }
  }

  /** The latest log entries of a function, the newest last. */
  logs(name: string): readonly FunctionLogEntry[] {
    return this.#log.of(name)
  }

  statistics(): RuntimeStatistics {
    const all = this.#all
    return {
      ...this.#counts,
      workers: all.reduce((sum, { workers }) => sum + workers, 0),
      calls: all.reduce((sum, { calls }) => sum + calls, 0),
    }
  }

  /** Ends the workers of a function after their calls. The next call starts new ones. */
  retire(name: string): void {
    const workers = this.#functions.get(name)
    if (!workers) return
    this.#functions.delete(name)
    this.#retired.add(workers)
    workers.retire()
  }

  /** Refuses further calls, waits some seconds for those in progress, and ends all processes. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    for (const name of [...this.#functions.keys()]) this.retire(name)
    const until = performance.now() + stopWithin
    const isBusy = (): boolean => this.#all.some(({ workers, calls }) => workers > 0 || calls > 0)
    while (isBusy()) {
      if (performance.now() > until) for (const workers of this.#all) workers.kill()
      await delay(20)
    }
    if (this.#counts.started > 0) await (await this.#folder()).remove()
  }
}
