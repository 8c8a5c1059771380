// Formats the JSON lines of `log.ts` as short lines for a terminal.
import pc from 'picocolors'
import type { LogEvent } from './log-event.ts'

type Colors = ReturnType<typeof pc.createColors>

/** A log line with the fields that are shown. */
type LogLine = {
  readonly level: string
  readonly time: string
  readonly event: LogEvent['kind']
  readonly msg?: string
  readonly duration?: number
  readonly method?: string
  readonly path?: string
  readonly status?: number
  readonly role?: string | null
  readonly aborted?: true
  readonly query?: string
  readonly error?: {
    readonly name?: string
    readonly message?: string
    readonly code?: string
    readonly details?: string
    readonly stack?: string
  }
}

/** Events that are only useful for troubleshooting, with the JSON log. */
const details: ReadonlySet<LogEvent['kind']> = new Set(['pool-created', 'channel-listening', 'config-reloaded'])

export type ConsoleOptions = {
  readonly write: (text: string) => void
  /** Whether to use colours. By default, if the terminal supports them and neither `NO_COLOR` nor `--no-color` is set. */
  readonly colors?: boolean
  /** Events to leave out because other output has the same information. */
  readonly hidden?: readonly LogEvent['kind'][]
}

/** A destination for `createLog`. */
export function consoleLines({ write, colors = pc.isColorSupported, hidden = [] }: ConsoleOptions): {
  readonly write: (text: string) => void
} {
  const paint = pc.createColors(colors)
  return {
    write: (text) => {
      const line = JSON.parse(text) as LogLine
      if (!details.has(line.event) && !hidden.includes(line.event)) write(`${consoleLine(line, paint)}\n`)
    },
  }
}

function consoleLine(line: LogLine, paint: Colors): string {
  const time = paint.dim(new Date(line.time).toLocaleTimeString('en-GB'))
  const words = line.event === 'request' ? requestWords(line, paint) : eventWords(line, paint)
  return `${time}  ${words}`
}

function requestWords(
  { method = '', path = '', status = 0, duration = 0, role, aborted }: LogLine,
  paint: Colors,
): string {
  const color = status >= 500 ? paint.red : status >= 400 ? paint.yellow : paint.green
  const notes = [milliseconds(duration), ...(role ? [role] : []), ...(aborted ? ['client disconnected'] : [])]
  return `${method} ${printable(path)} ${color(String(status))} ${paint.dim(notes.join(', '))}`
}

function eventWords({ level, msg = '', duration, query, error }: LogLine, paint: Colors): string {
  const color = level === 'error' || level === 'fatal' ? paint.red : level === 'warn' ? paint.yellow : String
  const head = color(printable(msg)) + (duration === undefined ? '' : paint.dim(` (${milliseconds(duration)})`))
  const more = [...(query === undefined ? [] : [query]), ...(error ? errorLines(error) : [])]
  return [head, ...more.map((text) => printable(text).replaceAll(/^/gm, '          '))].join('\n')
}

function errorLines({ message = '', code, details, stack }: NonNullable<LogLine['error']>): string[] {
  if (stack !== undefined) return [stack]
  return [`${message}${code === undefined ? '' : ` (${code})`}`, ...(details === undefined ? [] : [details])]
}

/** Formats a duration with three significant digits: `0.35 ms`, `12.3 ms`, `1,250 ms`. */
export function milliseconds(duration: number): string {
  const digits = duration >= 100 ? 0 : duration >= 10 ? 1 : 2
  return `${Number(duration.toFixed(digits)).toLocaleString('en-US')} ms`
}

/** Replaces control characters, which paths and error messages may contain and terminals would interpret. */
const printable = (text: string): string => text.replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, '\ufffd')
