// Several processes that serve on the same port (setting `server-workers`): this one starts and watches them.
import cluster, { type Address, type Worker } from 'node:cluster'
import type { Environment } from './config/load.ts'

/** Tells a worker which of them it is: the first one has the admin server. */
const indexVariable = 'ROWHOUSE_WORKER_INDEX'

/** Milliseconds before a worker that has ended unasked is replaced. */
const pause = 1000

export type Workers = {
  /** Address that they listen on. */
  readonly address: string
  /** Rejects when a worker has ended before it could serve: a new one would fare no better. */
  readonly failed: Promise<never>
  readonly signal: (signal: NodeJS.Signals) => void
  /** Resolves when all have ended. */
  readonly stop: () => Promise<void>
}

/** The number of this process among the workers, from 0; undefined when it is none. */
export const workerIndex = (): number | undefined =>
  cluster.isWorker ? Number(process.env[indexVariable] ?? 0) : undefined

/** Lets this process end, if it is a worker: the channel to the one that started it would keep it alive. */
export const leaveWorkers = (): void => {
  if (cluster.isWorker) process.disconnect()
}

/** Connections that each of some processes may have, so that all together have no more than `pool` (but one each). */
export const poolShare = (pool: number, workers: number): number => Math.max(1, Math.floor(pool / workers))

const addressOf = ({ address, port }: Address): string =>
  port < 0 ? `unix:${address}` : `http://${address.includes(':') ? `[${address}]` : address || '127.0.0.1'}:${port}`

/**
 * Starts the processes, and resolves when the first one listens.
 *
 * @param onExit hears of workers that have ended unasked and are replaced
 */
export async function startWorkers(count: number, env: Environment, onExit: (what: string) => void): Promise<Workers> {
  let isStopping = false
  const listening = new Set<Worker>()
  let fail: (error: Error) => void = () => undefined
  const failed = new Promise<never>((_, reject) => (fail = reject))
  failed.catch(() => undefined)
  const start = (index: number): Worker => {
    const worker = cluster.fork({ ...env, [indexVariable]: String(index) })
    worker.once('listening', () => listening.add(worker))
    worker.once('exit', (code, signal) => {
      if (isStopping) return
      const what = `worker ${index} has ended (${signal || `exit code ${code}`})`
      if (!listening.delete(worker)) {
        fail(new Error(`${what} before it could serve`))
        return
      }
      onExit(what)
      setTimeout(() => {
        if (!isStopping) start(index)
      }, pause)
    })
    return worker
  }
  const first = new Promise<Address>((resolve) => cluster.once('listening', (_worker, address) => resolve(address)))
  for (let index = 0; index < count; index++) start(index)
  const all = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
  return {
    address: addressOf(await Promise.race([first, failed])),
    failed,
    signal: (signal) => {
      for (const worker of all()) worker.process.kill(signal)
    },
    stop: async () => {
      isStopping = true
      await Promise.all(
        all().map(async (worker) => {
          const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
          worker.process.kill('SIGTERM')
          await ended
        }),
      )
    },
  }
}
