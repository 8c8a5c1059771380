// The events of the log. Only mails of the development mode contain credentials; no event has fields for cookies, bodies, or
// values of a query string.
import type { ArchiveEvent } from '../../postgres/backup/wal-receiver.ts'
import type { RequestLine } from '../../http/request-log.ts'
import type { ImportEvent } from '../../rest/extensions/imports/import-progress.ts'
import type { FunctionLogEntry } from '../../services/functions/runtime/function-source.ts'
import type { RequestSummary } from './request-record.ts'

export type LogEvent =
  | RequestLine
  | { readonly kind: 'starting'; readonly version: string }
  | { readonly kind: 'listening'; readonly address: string }
  | { readonly kind: 'stopping'; readonly signal: string }
  /** `/ready` is 503 for these seconds, while the server goes on serving. */
  | { readonly kind: 'draining'; readonly seconds: number }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'worker-serving'; readonly worker: number }
  /** A worker ended unexpectedly. Its replacement starts after `pause` milliseconds. */
  | { readonly kind: 'worker-ended'; readonly worker: number; readonly reason: string; readonly pause: number }
  /** A message of the embedded database. */
  | { readonly kind: 'embedded-database'; readonly message: string }
  /** The archive of the embedded database's write-ahead log has begun, fails, or has a gap. */
  | { readonly kind: 'wal-archive'; readonly folder: string; readonly change: ArchiveEvent }
  | { readonly kind: 'migrated'; readonly applied: readonly string[] }
  /** A message of the database while the project's migrations run, or of watching them. */
  | { readonly kind: 'migration-notice'; readonly message: string }
  | { readonly kind: 'sample-data'; readonly message: string }
  | { readonly kind: 'database-connected'; readonly version: string }
  | { readonly kind: 'database-lost'; readonly error: unknown; readonly retryInSeconds: number | null }
  | { readonly kind: 'pool-created'; readonly size: number }
  | { readonly kind: 'pool-flushed' }
  /** A replica is used from now on; or it is not, for a reason. */
  | { readonly kind: 'replica'; readonly replica: string; readonly reason: string | undefined }
  | { readonly kind: 'pool-timeout' }
  /** Requests were refused, so many since the last such event. */
  | { readonly kind: 'overloaded'; readonly reason: 'pool' | 'processor'; readonly refused: number }
  | { readonly kind: 'pool-activity'; readonly message: string }
  | { readonly kind: 'schema-cache-loaded'; readonly duration: number; readonly summary: string }
  | { readonly kind: 'schema-cache-failed'; readonly error: unknown }
  | { readonly kind: 'config-reloaded' }
  | { readonly kind: 'config-invalid'; readonly error: unknown }
  | { readonly kind: 'channel-listening'; readonly channel: string }
  | {
      readonly kind: 'channel-lost'
      readonly channel: string
      readonly error: unknown
      readonly retryInSeconds: number
    }
  | { readonly kind: 'channel-message'; readonly channel: string; readonly reload: 'schema' | 'config' }
  /** A check of `db-reload-interval` found changes in these system catalogs. */
  | { readonly kind: 'catalog-changed'; readonly catalogs: readonly string[] }
  | { readonly kind: 'catalog-check-failed'; readonly error: unknown }
  /** Setting `log-query`: the statements of a request, without their values. */
  | { readonly kind: 'query'; readonly status: number; readonly requestId: string; readonly text: string }
  /** A slow statement, or slow statements that ran together; the duration is in milliseconds. The plan is JSON, or undefined. */
  | {
      readonly kind: 'slow-query'
      readonly duration: number
      readonly text: string
      readonly request: RequestSummary | undefined
      readonly plan: unknown
    }
  /** Traces could not be sent. */
  | { readonly kind: 'traces-not-sent'; readonly error: Error }
  /** How far an import has come, or how it ended. */
  | ({ readonly kind: 'import' } & ImportEvent)
  | { readonly kind: 'jwt-cache'; readonly message: string }
  /** The end of a response that was streamed row by row; `error` says why it was broken off. */
  | {
      readonly kind: 'export-ended'
      readonly path: string
      readonly rows: number
      readonly bytes: number
      readonly duration: number
      readonly error?: unknown
      readonly requestId: string
    }
  /** What a function has logged, or why it could not answer. */
  | ({ readonly kind: 'function' } & FunctionLogEntry)
  | { readonly kind: 'warning'; readonly message: string }
  /** A mail of the development mode, with its code and link: a block of several lines. */
  | { readonly kind: 'mail'; readonly message: string }
  /** A 5xx response caused by an error of the database or of its connection. */
  | { readonly kind: 'database-error'; readonly error: unknown; readonly requestId: string }
  /** The program ends, because retrying does not help. */
  | { readonly kind: 'gave-up'; readonly error: unknown }
  /** An unexpected error. The client got 500 without its message. */
  | { readonly kind: 'failure'; readonly error: unknown; readonly requestId: string | null }
