// Which call code belongs to, wherever it runs.
import { AsyncLocalStorage } from 'node:async_hooks'

export type Call = {
  readonly requestId: string
  /** Ends the call with a response 500, or cuts the one that has begun. */
  readonly fail: () => void
}

const calls = new AsyncLocalStorage<Call>()

/** The call whose handler runs or has scheduled what runs. */
export const currentCall = (): Call | undefined => calls.getStore()

export const runInCall = <T>(call: Call, task: () => T): T => calls.run(call, task)
