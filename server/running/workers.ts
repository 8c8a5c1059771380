// Starts and monitors several processes that serve on the same port (setting `server-workers`).
import cluster, { type Worker } from 'node:cluster'
import type { Environment } from '../config/config-sources.ts'

/** Variable with the index of a worker. The first worker runs the admin server. */
const indexVariable = 'ROWHOUSE_WORKER_INDEX'

/** Milliseconds before a worker that ended unexpectedly is replaced: the first pause, and the limit after repeated failures. */
const shortestPause = 100
const longestPause = 30_000
/** Milliseconds of serving after which a worker counts as stable, which resets the pause. */
const stableAfter = 10_000
/** Milliseconds for workers to end, in addition to the time in which they drain. */
const endLimit = 20_000

export type Workers = {
  /** Address that the workers listen on. */
  readonly address: string
  /** Rejects when a worker gives up with an error that also ends a single process. */
  readonly failed: Promise<never>
  readonly signal: (signal: NodeJS.Signals) => void
  /** Sends a message to the first worker, if it runs: it has the admin server. */
  readonly sendToFirst: (message: object) => void
  /** Stops all workers. Resolves when they have ended. */
  readonly stop: () => Promise<void>
}

/** A message from a worker to the primary process. */
export type WorkerReport =
  | { readonly kind: 'serving'; readonly address: string }
  /** The worker ends, and a replacement would end for the same reason. */
  | { readonly kind: 'gave up'; readonly message: string }
  | WorkerQuestion
  | WorkerAnswer

/** What a worker wants to know of the others. The primary process passes it on. */
export type WorkerQuestion = {
  readonly kind: 'question'
  readonly id: string
  /** Index of the worker that asks. */
  readonly from: number
  readonly topic: 'metrics' | 'function figures' | 'function log'
  readonly about: string
}

export type WorkerAnswer = Pick<WorkerQuestion, 'id' | 'from' | 'topic'> & {
  readonly kind: 'answer'
  /** Index of the worker that answers. */
  readonly worker: number
  /** Undefined if the worker cannot answer. */
  readonly answer?: unknown
}

/** The index of this worker, from 0; undefined if this process is not a worker. */
export const workerIndex = (): number | undefined =>
  cluster.isWorker ? Number(process.env[indexVariable] ?? 0) : undefined

/** Sends a report to the primary process, if this is a worker. */
export function reportToPrimary(report: WorkerReport): void {
  if (cluster.isWorker && process.connected) process.send?.(report)
}

/** Disconnects a worker from the primary process. The open channel would keep this process alive. */
export const leaveWorkers = (): void => {
  // Closing the channel directly would end this process immediately with exit code 0.
  if (process.connected) cluster.worker?.disconnect()
}

/** Connections per process, so that all processes together have at most `pool`, but each at least one. */
export const poolShare = (pool: number, workers: number): number => Math.max(1, Math.floor(pool / workers))

/** Milliseconds before the next attempt after a number of consecutive failures. */
export const pauseAfter = (failures: number): number => Math.min(longestPause, shortestPause * 2 ** failures)

const debtOf = ({ from, topic }: Pick<WorkerQuestion, 'from' | 'topic'>): string => `${from} ${topic}`

type SlotListener = {
  readonly report: (report: WorkerReport) => void
  /** The worker ended unexpectedly. Its replacement starts after `pause` milliseconds. */
  readonly end: (reason: string, pause: number) => void
}

export type WorkerOptions = {
  readonly count: number
  readonly env: Environment
  /** Milliseconds in which each worker drains before it ends. */
  readonly drainTime: number
}

/** A slot for a worker, with its current process. */
class WorkerSlot {
  readonly #index: number
  readonly #environment: Environment
  readonly #listener: SlotListener
  readonly #endLimit: number
  #worker: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #isStopping = false
  #isServing = false
  /** Who has asked the worker for what, and has no answer yet. */
  readonly #owed = new Set<string>()

  constructor(index: number, { env, drainTime }: WorkerOptions, listener: SlotListener) {
    this.#index = index
    this.#environment = env
    this.#endLimit = endLimit + drainTime
    this.#listener = listener
    this.#start()
  }

  signal(signal: NodeJS.Signals): void {
    this.#worker?.process.kill(signal)
  }

  send(message: object): void {
    const worker = this.#worker
    // The worker may end at any time. Then its replacement gets the next message.
    if (worker?.isConnected() === true) worker.send(message, undefined, () => undefined)
  }

  /**
   * Asks the worker.
   *
   * @returns false if it does not serve, or still owes an answer to such a question: those to a process that hangs would pile up
   */
  ask(question: WorkerQuestion): boolean {
    const key = debtOf(question)
    if (!this.#isServing || this.#owed.has(key)) return false
    this.#owed.add(key)
    this.send(question)
    return true
  }

  /** Stops the worker, or kills it when that takes too long. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    const worker = this.#worker
    if (!worker) return
    const late = setTimeout(() => worker.process.kill('SIGKILL'), this.#endLimit)
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
      if (report.kind === 'serving') {
        servingSince = performance.now()
        this.#isServing = true
      }
      if (report.kind === 'answer') this.#owed.delete(debtOf(report))
      this.#listener.report(report)
    })
    const ended = (reason: string, isNormal: boolean): void => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#isServing = false
      this.#owed.clear()
      const isStable = servingSince !== undefined && (isNormal || performance.now() - servingSince >= stableAfter)
      this.#replace(reason, isStable)
    }
    worker.once('exit', (code, signal) => ended(signal || `exit code ${code}`, code === 0))
    // The process could not be started.
    worker.once('error', (error) => ended(error.message, false))
  }

  #replace(reason: string, wasStable: boolean): void {
    if (this.#isStopping) return
    this.#failures = wasStable ? 0 : this.#failures + 1
    const pause = pauseAfter(this.#failures)
    this.#timer = setTimeout(() => this.#start(), pause)
    this.#listener.end(reason, pause)
  }
}

export type WorkerEvent =
  | { readonly kind: 'worker serving'; readonly index: number }
  /** The worker ended unexpectedly. Its replacement starts after `pause` milliseconds. */
  | { readonly kind: 'worker ended'; readonly index: number; readonly reason: string; readonly pause: number }

/**
 * Starts the processes and resolves when the first one serves. From then on, processes that end are replaced, after pauses
 * that grow with consecutive failures.
 *
 * @throws Error when a worker ends before the first one serves, because replacements would fail, too
 */
export async function startWorkers(options: WorkerOptions, observe: (event: WorkerEvent) => void): Promise<Workers> {
  // Workers accept connections themselves, so that those in the queue of a killed worker go to the others. With scheduling by
  // the primary process, connections that it passes to a dead worker would be lost.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  let isServing = false
  let fail: (error: Error) => void = () => undefined
  const failed = new Promise<never>((_, reject) => (fail = reject))
  failed.catch(() => undefined)
  let settleAddress: (address: string) => void = () => undefined
  const first = new Promise<string>((resolve) => (settleAddress = resolve))
  const slotAt = (index: number): WorkerSlot =>
    new WorkerSlot(index, options, {
      report: (report) => {
        switch (report.kind) {
          case 'gave up':
            return fail(new Error(report.message))
          case 'question':
            return askOthers(report)
          case 'answer':
            return slots[report.from]?.send(report)
          case 'serving':
            isServing = true
            settleAddress(report.address)
            return observe({ kind: 'worker serving', index })
        }
      },
      end: (reason, pause) => {
        if (isServing) observe({ kind: 'worker ended', index, reason, pause })
        else fail(new Error(`worker ${index} ended (${reason}) before it could serve`))
      },
    })
  const slots = Array.from({ length: options.count }, (_, index) => slotAt(index))
  const askOthers = (question: WorkerQuestion): void => {
    const { id, from, topic } = question
    for (const [worker, slot] of slots.entries()) {
      if (worker === from || slot.ask(question)) continue
      slots[from]?.send({ kind: 'answer', id, from, topic, worker } satisfies WorkerAnswer)
    }
  }
  const stop = async (): Promise<void> => {
    await Promise.all(slots.map((slot) => slot.stop()))
  }
  try {
    const address = await Promise.race([first, failed])
    return {
      address,
      failed,
      stop,
      signal: (signal) => slots.forEach((slot) => slot.signal(signal)),
      sendToFirst: (message) => slots[0]?.send(message),
    }
  } catch (error) {
    await stop()
    throw error
  }
}
