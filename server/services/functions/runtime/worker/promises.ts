// `EdgeRuntime.waitUntil`: what a function does after its response.
import { NotSupported } from './deno-errors.ts'
import { report } from './channel.ts'
import { describeError, writeLog } from './log.ts'

let pending = 0

const count = (change: number): void => {
  pending += change
  report({ kind: 'waiting', promises: pending })
}

/** Keeps the worker until the promise is settled, within the limit on time. An error is logged. */
export function waitUntil<T>(promise: Promise<T>): Promise<T> {
  count(1)
  Promise.resolve(promise).then(
    () => count(-1),
    (error: unknown) => {
      writeLog('error', `A promise of EdgeRuntime.waitUntil failed: ${describeError(error)}`)
      count(-1)
    },
  )
  return promise
}

const unavailable = (): never => {
  throw new NotSupported('Only EdgeRuntime.waitUntil is available in functions of this server')
}

/** The global `EdgeRuntime`. */
export const edgeRuntime = { waitUntil, userWorkers: { create: unavailable }, getRuntimeMetrics: unavailable }
