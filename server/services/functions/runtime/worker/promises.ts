// `EdgeRuntime.waitUntil`: what a function does after its response.
import { NotSupported } from './deno-errors.ts'
import { report } from './channel.ts'
import { describeError, writeLog } from './log.ts'

let pending = 0

/** The server learns whether there are any, and not of each: there may be many. */
function count(change: 1 | -1): void {
  const before = pending
  pending += change
  if ((before === 0) !== (pending === 0)) report({ kind: 'waiting', isWaiting: pending > 0 })
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
