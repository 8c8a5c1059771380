// Finds the test that an uncaught error belongs to. The bundle of tap has it in place of `async-hook-domain`, which hears of
// the end of each promise to do so, and with that takes a fifth of the processor time of tests.
import { AsyncLocalStorage } from 'node:async_hooks'

type ErrorListener = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin) => void

const innermost = new AsyncLocalStorage<Domain>()
let count = 0

/** Receives the errors of what begins after it, in the same asynchronous context, until it is destroyed. */
export class Domain {
  readonly onerror: ErrorListener
  readonly #parent: Domain | undefined
  #isDestroyed = false

  constructor(onerror: ErrorListener) {
    this.onerror = onerror
    this.#parent = Domain.current
    innermost.enterWith(this)
    if (count++ === 0) process.on('uncaughtExceptionMonitor', report)
  }

  /** That of the running code which is not destroyed. */
  static get current(): Domain | undefined {
    let domain = innermost.getStore()
    while (domain !== undefined && domain.#isDestroyed) domain = domain.#parent
    return domain
  }

  /** Leaves later errors to the domain in which it was created. */
  destroy(): void {
    if (this.#isDestroyed) return
    this.#isDestroyed = true
    if (--count === 0) process.off('uncaughtExceptionMonitor', report)
  }
}

/** Keeps an error that belongs to a test from ending the process. Errors that the process itself handles are left to it. */
function report(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return
  const domain = Domain.current
  if (domain === undefined) return
  // Node asks it next, for this error.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
  domain.onerror(error, origin)
}
