// Several processes that serve on the same port (setting `server-workers`): this one starts and watches them.
import cluster, { type Worker } from 'node:cluster'
import type { Environment } from '../config/load.ts'

/** Tells a worker which of them it is: the first one has the admin server. */
const indexVariable = 'ROWHOUSE_WORKER_INDEX'

/** Milliseconds before a worker that has ended unasked is replaced: at first, and at most when replacements fail, too. */
const shortestPause = 100
const longestPause = 30_000
/** Milliseconds of serving after which a worker counts as sound: the next pause is the shortest one again. */
const soundAfter = 10_000
/** Milliseconds that workers have to end, beyond the time that they give to requests in flight. */
const endLimit = 20_000

export type Workers = {
  /** Address that they listen on. */
  readonly address: string
  /** Rejects when a worker that served has given up, as the only process would. */
  readonly failed: Promise<never>
  readonly signal: (signal: NodeJS.Signals) => void
  /** Resolves when all have ended. */
  readonly stop: () => Promise<void>
}

/** What a worker tells the primary process. */
export type WorkerReport =
  | { readonly kind: 'serving'; readonly address: string }
  /** It ends, and another one in its place would end as well. */
  | { readonly kind: 'gave up'; readonly message: string }

/** The number of this process among the workers, from 0; undefined when it is none. */
export const workerIndex = (): number | undefined =>
  cluster.isWorker ? Number(process.env[indexVariable] ?? 0) : undefined

/** Tells the primary process, if this is a worker. */
export function reportToPrimary(report: WorkerReport): void {
  if (cluster.isWorker && process.connected) process.send?.(report)
}

/** Lets this process end, if it is a worker: the channel to the one that started it would keep it alive. */
export const leaveWorkers = (): void => {
  // Closing the channel itself would end this process at once, with the exit code 0.
  if (process.connected) cluster.worker?.disconnect()
}

/** Connections that each of some processes may have, so that all together have no more than `pool` (but one each). */
export const poolShare = (pool: number, workers: number): number => Math.max(1, Math.floor(pool / workers))

/** Milliseconds before the next attempt, after so many that have failed in a row. */
export const pauseAfter = (failures: number): number => Math.min(longestPause, shortestPause * 2 ** failures)

type SlotListener = {
  readonly report: (report: WorkerReport) => void
  /** The worker has ended unasked; `pause` milliseconds later another one starts. */
  readonly end: (reason: string, pause: number) => void
}

/** One of the places for a worker, with the process that is in it at the moment. */
class WorkerSlot {
  readonly #index: number
  readonly #environment: Environment
  readonly #listener: SlotListener
  #worker: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #isStopping = false

  constructor(index: number, environment: Environment, listener: SlotListener) {
    this.#index = index
    this.#environment = environment
    this.#listener = listener
    this.#start()
  }

  signal(signal: NodeJS.Signals): void {
    this.#worker?.process.kill(signal)
  }

  /** Resolves when the worker has ended; it is killed when it takes too long. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    const worker = this.#worker
    if (!worker) return
    const late = setTimeout(() => worker.process.kill('SIGKILL'), endLimit)
    await new Promise<void>((resolve) => {
      worker.once('exit', () => resolve())
      worker.process.kill('SIGTERM')
    })
    clearTimeout(late)
  }

  #start(): void {
    const worker = cluster.fork({ ...this.#environment, [indexVariable]: String(this.#index) })
    this.#worker = worker
    let servingSince: number | undefined
    worker.on('message', (report: WorkerReport) => {
      if (report.kind === 'serving') servingSince = performance.now()
      this.#listener.report(report)
    })
    const ended = (reason: string, inOrder: boolean): void => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      const isSound = servingSince !== undefined && (inOrder || performance.now() - servingSince >= soundAfter)
      this.#replace(reason, isSound)
    }
    worker.once('exit', (code, signal) => ended(signal || `exit code ${code}`, code === 0))
    // It could not even be started.
    worker.once('error', (error) => ended(error.message, false))
  }

  #replace(reason: string, wasSound: boolean): void {
    if (this.#isStopping) return
    this.#failures = wasSound ? 0 : this.#failures + 1
    const pause = pauseAfter(this.#failures)
    this.#timer = setTimeout(() => this.#start(), pause)
    this.#listener.end(reason, pause)
  }
}

export type WorkerEvent =
  | { readonly kind: 'worker serving'; readonly index: number }
  /** It has ended unasked; `pause` milliseconds later another one is started in its place. */
  | { readonly kind: 'worker ended'; readonly index: number; readonly reason: string; readonly pause: number }

/**
 * Starts the processes, and resolves when the first one serves. From then on, one that ends is replaced, after pauses that
 * grow as long as replacements do not last.
 *
 * @throws Error when a worker ends before the first one serves: those after it would fare no better
 */
export async function startWorkers(
  count: number,
  env: Environment,
  observe: (event: WorkerEvent) => void,
): Promise<Workers> {
  // Workers accept connections themselves: one that is killed leaves those that are waiting to the others. The primary
  // process would hand connections over to it until it hears of its end, and nobody would answer them.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  let isServing = false
  let fail: (error: Error) => void = () => undefined
  const failed = new Promise<never>((_, reject) => (fail = reject))
  failed.catch(() => undefined)
  let settleAddress: (address: string) => void = () => undefined
  const first = new Promise<string>((resolve) => (settleAddress = resolve))
  const slotAt = (index: number): WorkerSlot =>
    new WorkerSlot(index, env, {
      report: (report) => {
        if (report.kind === 'gave up') return fail(new Error(report.message))
        isServing = true
        settleAddress(report.address)
        observe({ kind: 'worker serving', index })
      },
      end: (reason, pause) => {
        if (isServing) observe({ kind: 'worker ended', index, reason, pause })
        else fail(new Error(`worker ${index} has ended (${reason}) before it could serve`))
      },
    })
  const slots = Array.from({ length: count }, (_, index) => slotAt(index))
  const stop = async (): Promise<void> => {
    await Promise.all(slots.map((slot) => slot.stop()))
  }
  try {
    const address = await Promise.race([first, failed])
    return { address, failed, stop, signal: (signal) => slots.forEach((slot) => slot.signal(signal)) }
  } catch (error) {
    await stop()
    throw error
  }
}
