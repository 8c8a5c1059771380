// Errors outside of handlers, and attempts to end the process: they concern their call, and no other of the worker.
import { syncBuiltinESMExports } from 'node:module'
import { currentCall } from './call-scope.ts'
import { exit, report } from './channel.ts'
import { isRejectionHandled } from './events.ts'
import { cut, describeError, writeLog } from './log.ts'

/** While the function is loaded, an error is that of the function's start. */
let onFailedStart: ((detail: string) => void) | undefined

/** Fails the start, or the call that the error belongs to. State of the worker may be inconsistent from then on, so it is replaced. */
function recordFault(error: unknown): void {
  const detail = describeError(error)
  writeLog('error', detail)
  if (onFailedStart) onFailedStart(detail)
  else report({ kind: 'unreliable' })
  currentCall()?.fail()
}

/**
 * Deals with errors that nothing catches.
 *
 * @param onFailed receives an error during the start
 * @returns to call when the function serves
 */
export function catchFaults(onFailed: (detail: string) => void): () => void {
  onFailedStart = onFailed
  process.on('uncaughtException', recordFault)
  process.on('unhandledRejection', (reason, promise) => {
    if (!isRejectionHandled(reason, promise)) recordFault(reason)
  })
  const refuseExit = (code?: string | number | null): never => {
    throw new Error(`A function cannot end its process: exit(${code ?? ''}) was called`)
  }
  Object.defineProperty(process, 'exit', { value: refuseExit, configurable: true })
  confineKill()
  syncBuiltinESMExports()
  return () => (onFailedStart = undefined)
}

/**
 * Leaves a function only signals to itself. Others of its user, among them the server, could receive them: neither Node's permission model
 * nor Linux forbids it without a user of its own. Like the permission model, this stops mistakes.
 */
function confineKill(): void {
  const kill = process.kill.bind(process)
  const killSelf = (pid: number, signal?: string | number): true => {
    if (pid === process.pid) return kill(pid, signal)
    const message = `A function cannot signal other processes: kill(${String(pid)}) was called`
    throw Object.assign(new Error(message), { code: 'EPERM', errno: -1, syscall: 'kill' })
  }
  Object.defineProperty(process, 'kill', { value: killSelf, configurable: true })
}

/** Ends the process after a failed start. */
export const failStart = (detail: string): void => report({ kind: 'failed', detail: cut(detail) }, () => exit(1))
