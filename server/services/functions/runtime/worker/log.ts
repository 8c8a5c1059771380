// What functions print, as entries of their log.
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { format, inspect } from 'node:util'
import type { LogLevel } from '../function-source.ts'
import { currentCall } from './call-scope.ts'
import { report } from './channel.ts'

/** Characters of an entry. What is longer is cut. */
const longestEntry = 10_000
// An endless loop that prints should neither fill the memory of this process nor keep the server busy.
const mostCharacters = 256 * 1024
const charactersPerMillisecond = 64

let remaining = mostCharacters
let refilledAt = performance.now()
let dropped = 0

/** Whether an entry may be sent, by a budget that grows with time. */
function isWithinBudget(characters: number): boolean {
  const now = performance.now()
  remaining = Math.min(mostCharacters, remaining + (now - refilledAt) * charactersPerMillisecond)
  refilledAt = now
  if (characters > remaining) {
    dropped++
    return false
  }
  remaining -= characters
  return true
}

/** A text within the limit of an entry. */
export const cut = (text: string): string =>
  text.length <= longestEntry ? text : `${text.slice(0, longestEntry)}… (${text.length} characters)`

const send = (level: LogLevel, message: string): void => {
  const call = currentCall()
  report({ kind: 'log', level, message, ...(call && { requestId: call.requestId }) })
}

/** Writes an entry, which belongs to the current call. */
export function writeLog(level: LogLevel, text: string): void {
  const message = cut(text)
  // The constant is what an entry costs beside its text.
  if (!isWithinBudget(message.length + 100)) return
  if (dropped > 0) send('warn', `${dropped} entries are missing: the function logs faster than 64 KiB a second`)
  dropped = 0
  send(level, message)
}

type AccessError = Error & { readonly code?: string; readonly permission?: string; readonly resource?: string }

/** An error as people read it: with its stack trace and what it was caused by, or the value that was thrown. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return `Thrown: ${inspect(error)}`
  const { code, permission, resource } = error as AccessError
  const text = inspect(error)
  return code === 'ERR_ACCESS_DENIED'
    ? `${text}\nFunctions have no permission ${permission} ${resource ?? ''}`.trim()
    : text
}

const logStream = (level: LogLevel): Writable =>
  new Writable({
    decodeStrings: false,
    write: (text: unknown, _encoding, callback) => {
      writeLog(level, String(text).replace(/\n$/, ''))
      callback()
    },
  })

/** Directs `console`, `process.stdout` and `process.stderr` to the log. */
export function captureOutput(): void {
  const streams = { stdout: logStream('info'), stderr: logStream('error') }
  for (const [name, stream] of Object.entries(streams))
    Object.defineProperty(process, name, { value: stream, configurable: true })
  const captured = new Console(streams)
  const levels = { log: 'info', info: 'info', debug: 'debug', warn: 'warn', error: 'error' } as const
  for (const [name, level] of Object.entries(levels)) {
    // The arguments may be anything, such as an object with an inspector that throws.
    captured[name as keyof typeof levels] = (...values: unknown[]) => writeLog(level, format(...values))
  }
  globalThis.console = captured
}
