// How the events of the log become lines: level, message and fields.
import type { Level } from 'pino'
import type { LogLevel } from '../../config/config.ts'
import type { ArchiveEvent } from '../../postgres/backup/wal-receiver.ts'
import type { RequestLine } from '../../http/request-log.ts'
import type { ImportEvent } from '../../rest/extensions/imports/import-progress.ts'
import { withCode } from '../../rest/sql-errors.ts'
import type { LogEvent } from './log-event.ts'

export type Line = {
  /** The lowest `log-level` at which the event is written. */
  readonly from: LogLevel
  readonly severity: Level
  readonly message: string
}

const overloads = {
  pool: 'too many wait for a connection of the pool',
  processor: 'the process has more to do than its processor can',
} as const

/**
 * The level of a response. At `crit` none is logged, at `error` those with 5xx, at `warn` also 4xx, above that all.
 * https://docs.postgrest.org/en/stable/references/configuration.html#log-level
 */
export const responseLevel = (status: number): 'error' | 'warn' | 'info' =>
  status >= 500 ? 'error' : status >= 400 ? 'warn' : 'info'

/**
 * The level and message of each event except requests, which have no message. Events that PostgREST logs, too, have its
 * message, so that log monitoring for PostgREST works here.
 */
export function lineOf(event: Exclude<LogEvent, RequestLine>): Line {
  const always = (severity: Level, message: string): Line => ({ from: 'crit', severity, message })
  switch (event.kind) {
    case 'starting':
      return always('info', `Starting rowhouse ${event.version}`)
    case 'listening':
      return always('info', `Listening on ${event.address}`)
    case 'stopping':
      return always('info', `Received termination unix signal ${event.signal}`)
    case 'draining':
      return always('info', `Serving ${event.seconds} s longer, while /ready is 503`)
    case 'stopped':
      return always('info', 'Stopped')
    case 'worker-serving':
      return always('info', `Worker ${event.worker} is serving`)
    case 'worker-ended':
      return always(
        'error',
        `Worker ${event.worker} ended (${event.reason}); starting another in ${event.pause / 1000} s`,
      )
    case 'embedded-database':
    case 'sample-data':
    case 'migration-notice':
    case 'mail':
      return always('info', event.message)
    case 'migrated':
      return always('info', `Applied ${event.applied.length} migrations`)
    case 'wal-archive':
      return archiveLine(event.folder, event.change)
    case 'database-connected':
      return always('info', `Successfully connected to ${event.version}`)
    case 'database-lost':
      return always('error', `No connection to the database${retry(event.retryInSeconds)}`)
    case 'pool-created':
      return always('info', `Connection Pool initialized with a maximum size of ${event.size} connections`)
    case 'replica':
      return event.reason === undefined
        ? always('info', `Reading from the replica ${event.replica}`)
        : always('warn', `Not reading from the replica ${event.replica}: ${scrub(event.reason)}`)
    case 'pool-flushed':
      return { from: 'debug', severity: 'debug', message: 'Database connection pool flushed' }
    case 'pool-timeout':
      return { from: 'error', severity: 'error', message: 'Timed out acquiring connection from connection pool.' }
    case 'overloaded':
      return {
        from: 'error',
        severity: 'warn',
        message: `Overloaded: ${event.refused} requests were refused, because ${overloads[event.reason]}`,
      }
    case 'pool-activity':
      return { from: 'debug', severity: 'debug', message: event.message }
    case 'schema-cache-loaded':
      return always('info', `Schema cache loaded ${event.summary}`)
    case 'schema-cache-failed':
      return always('error', 'Failed to load the schema cache')
    case 'config-reloaded':
      return always('info', 'Config reloaded')
    case 'config-invalid':
      return always('error', 'Failed reloading config')
    case 'channel-listening':
      return always('info', `Listening for database notifications on the "${event.channel}" channel`)
    case 'channel-lost':
      return always(
        'error',
        `Failed listening for database notifications on the "${event.channel}" channel${retry(event.retryInSeconds)}`,
      )
    case 'channel-message':
      return always('info', `Received a ${reloads[event.reload]} reload message on the "${event.channel}" channel`)
    case 'catalog-changed':
      return always('info', `Reloading, because the database has changed: ${event.catalogs.join(', ')}`)
    case 'catalog-check-failed':
      return always('warn', 'Failed to check whether the database has changed')
    case 'query':
      return { from: responseLevel(event.status), severity: responseLevel(event.status), message: 'Query' }
    case 'slow-query':
      return { from: 'warn', severity: 'warn', message: 'Slow query' }
    case 'traces-not-sent':
      return { from: 'error', severity: 'error', message: 'Traces could not be sent to the collector' }
    case 'import':
      return { from: 'info', severity: 'info', message: importText(event) }
    case 'export-ended':
      return event.error === undefined
        ? { from: 'info', severity: 'info', message: 'Streamed a response' }
        : { from: 'warn', severity: 'warn', message: 'A streamed response was broken off' }
    case 'jwt-cache':
      return { from: 'debug', severity: 'debug', message: event.message }
    case 'function':
      // What its author logs is always wanted, apart from details.
      return {
        from: event.level === 'debug' ? 'debug' : 'error',
        severity: event.level,
        message: `[${event.function}] ${event.message}`,
      }
    case 'warning':
      return always('warn', event.message)
    case 'database-error':
      return { from: 'error', severity: 'error', message: 'Database error' }
    case 'gave-up':
      return always('fatal', 'Database unavailable; shutting down')
    case 'failure':
      return { from: 'error', severity: 'error', message: 'Unexpected error' }
    default:
      return event satisfies never
  }
}

const reloads = { schema: 'schema cache', config: 'config' } as const

function archiveLine(folder: string, change: ArchiveEvent): Line {
  const from = 'crit'
  switch (change.kind) {
    case 'archiving':
      return { from, severity: 'info', message: `Archiving the write-ahead log to ${folder}` }
    case 'failing': {
      const kept = change.retained === null ? '' : `; the database keeps ${Math.ceil(change.retained / 1024 ** 2)} MiB`
      const next = change.retries ? 'retrying' : 'the next start continues'
      return { from, severity: 'error', message: `The write-ahead log is not archived to ${folder}${kept}; ${next}` }
    }
    case 'gap': {
      const lost = `lacks the write-ahead log from ${change.from} to ${change.to}`
      return { from, severity: 'warn', message: `The archive in ${folder} ${lost}: run rowhouse backup` }
    }
  }
}

const importText = ({ state, relation, rows, bytes, milliseconds }: ImportEvent): string => {
  const start = { running: 'Importing into', done: 'Imported into', failed: 'Import failed into' }[state]
  const seconds = Math.max(milliseconds, 1) / 1000
  const mebibytes = (bytes / 1024 / 1024).toFixed(1)
  return `${start} ${relation}: ${rows} rows, ${mebibytes} MiB, ${Math.round(rows / seconds)} rows/s`
}

const retry = (seconds: number | null): string => (seconds === null ? '' : `; retrying in ${seconds} s`)

/** The fields of a line in addition to its message: those of the event, with errors as plain data. */
export function fieldsOf(event: Exclude<LogEvent, RequestLine>): Record<string, unknown> {
  switch (event.kind) {
    case 'worker-serving':
    case 'worker-ended':
      return { worker: event.worker }
    case 'migrated':
      return { migrations: event.applied }
    case 'schema-cache-loaded':
      return { duration: event.duration }
    case 'wal-archive':
      return event.change.kind === 'failing' ? { error: describeError(event.change.error, false) } : {}
    case 'database-lost':
    case 'schema-cache-failed':
    case 'config-invalid':
    case 'channel-lost':
    case 'catalog-check-failed':
    case 'gave-up':
      return { error: describeError(event.error, false) }
    case 'database-error':
      return { requestId: event.requestId, error: describeError(event.error, false) }
    case 'overloaded':
      return { reason: event.reason, refused: event.refused }
    case 'query':
      return { requestId: event.requestId, query: event.text }
    case 'slow-query': {
      const { duration, text, request, plan } = event
      return { duration, query: text, ...request, ...(plan === undefined ? {} : { plan }) }
    }
    case 'traces-not-sent':
      return { error: describeError(event.error, false) }
    case 'import': {
      const { relation, state, rows, bytes, milliseconds } = event
      return { relation, state, rows, bytes, duration: milliseconds }
    }
    case 'export-ended': {
      const { path, rows, bytes, duration, requestId, error } = event
      const failure = error === undefined ? {} : { error: describeError(error, false) }
      return { path, rows, bytes, duration, requestId, ...failure }
    }
    case 'function':
      return { function: event.function, requestId: event.requestId ?? null }
    case 'failure':
      return { requestId: event.requestId, error: describeError(event.error, true) }
    default:
      return {}
  }
}

function describeError(thrown: unknown, withStack: boolean): Record<string, unknown> {
  const error = withCode(thrown)
  if (!(error instanceof Error)) return { message: scrub(String(error)) }
  // node:net throws an AggregateError when all addresses of a host refuse the connection.
  const parts = error instanceof AggregateError ? (error.errors as unknown[]).map(String).join('; ') : ''
  const code: { code?: string } = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  // Only details of connection errors: those of Postgres may contain a row of a table.
  const details =
    'details' in error && typeof error.details === 'string' && code.code?.startsWith('PGRST0') === true
      ? { details: scrub(error.details) }
      : {}
  const stack = withStack && error.stack !== undefined ? { stack: scrub(error.stack) } : {}
  return { name: error.name, message: scrub(error.message || parts), ...code, ...details, ...stack }
}

/** Redacts what errors of drivers and parsers may quote: passwords in URLs, API keys, JWTs. */
export function scrub(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/@]{0,200}):[^\s/@]{1,500}@/gi, '$1:***@')
    .replace(/\bsb_(publishable|secret)_[\w-]+/g, 'sb_$1_***')
    .replace(/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '***')
}
