// The log of this process: lines of JSON.
import { pino, type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from '../../config/config.ts'
import { bufferedOutput } from './buffered-output.ts'
import type { LogEvent } from './log-event.ts'
import { fieldsOf, lineOf, responseLevel, scrub } from './log-line.ts'

const ranks = { crit: 0, error: 1, warn: 2, info: 3, debug: 4 } satisfies Record<LogLevel, number>

type Destination = DestinationStream & { readonly flushSync?: () => void }

export type Log = {
  readonly write: (event: LogEvent) => void
  /** Whether a request with this response status is logged. */
  readonly wants: (status: number) => boolean
  /** Whether events of the level `debug` are logged. */
  readonly wantsDebug: () => boolean
  readonly setLevel: (level: LogLevel) => void
  /** Writes buffered lines, before the process ends. */
  readonly flush: () => void
}

/** The time in pino's format. Cached per millisecond, because formatting takes a quarter of the time of a line. */
function timestamps(): () => string {
  let last = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== last) {
      last = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}

const loggerTo = (destination: Destination): Logger =>
  pino(
    {
      base: null,
      level: 'trace',
      timestamp: timestamps(),
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )

export type LogOptions = {
  readonly level: LogLevel
  /** Receives all lines instead of standard output and standard error. */
  readonly destination?: Destination
}

/**
 * Creates the log of this process, as lines of JSON. Like in PostgREST, requests go to standard output, all other events to
 * standard error.
 */
export function createLog(options: LogOptions): Log {
  let level = ranks[options.level]
  const requests = options.destination ?? bufferedOutput(1)
  const diagnostics = options.destination ?? bufferedOutput(2)
  const requestLogger = loggerTo(requests)
  const logger = loggerTo(diagnostics)
  const write = (event: LogEvent): void => {
    if (event.kind === 'request') {
      const { kind, method, path, status, duration, role, requestId, aborted } = event
      if (level < ranks[responseLevel(status)]) return
      const line = { event: kind, method, path, status, duration, role, requestId }
      requestLogger[responseLevel(status)](aborted ? { ...line, aborted } : line)
      return
    }
    const { from, severity, message } = lineOf(event)
    if (level >= ranks[from]) logger[severity]({ event: event.kind, ...fieldsOf(event) }, scrub(message))
  }
  return {
    write,
    wants: (status) => level >= ranks[responseLevel(status)],
    wantsDebug: () => level >= ranks.debug,
    setLevel: (next) => (level = ranks[next]),
    flush: () => {
      requests.flushSync?.()
      diagnostics.flushSync?.()
    },
  }
}
