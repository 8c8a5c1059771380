// The port to the database. The engine runs its transactions through the type `Database`.
import type { Writable } from 'node:stream'
import type { StatementStats } from '../common/statement-stats.ts'
import type { RunQuery } from '../schema-cache/introspection.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'

/** A row in the server's encoding: the bytes of each field, null for NULL. */
export type RawRow = readonly (Buffer | null)[]

/** An error or notice of the server. https://www.postgresql.org/docs/current/protocol-error-fields.html */
export type ServerError = {
  readonly severity: string
  /** SQLSTATE. */
  readonly code: string
  readonly message: string
  readonly detail?: string
  readonly hint?: string
  readonly where?: string
  /** Function of the server's source code that raised it. */
  readonly routine?: string
}

export type PipelineStatement = {
  readonly text: string
  readonly values: readonly (string | Buffer | null)[]
  /** Format of each result column, text (0) or binary (1). Defaults to text for all columns. */
  readonly resultFormats?: readonly (0 | 1)[]
  /** Whether the statement is never prepared: transaction commands must work even if a prepared statement is lost. */
  readonly isUnprepared?: boolean
  /** Whether it changes nothing outside its transaction, so that it may run again after a rollback. */
  readonly hasNoEffect?: boolean
  /** Whether it fails unless the transaction may begin; see `SettingsStatement.texts`. */
  readonly isGuard?: boolean
}

/**
 * Writes an SQL expression that fails unless a transaction on a shared connection may begin.
 *
 * @param gate placeholder of the gate's number
 * @param turn placeholder of the transaction's number in the queue of the connection
 */
export type WriteGuard = (gate: string, turn: string) => string

/** The statement that sets role, claims and other settings for a transaction. It has no effect outside of it. */
export type SettingsStatement = PipelineStatement & {
  readonly hasNoEffect: true
  /** Whether it fails if the session of the token has ended. */
  readonly checksSession: boolean
  /** Names of the settings that only this request has: those of its function, and the time zone that it prefers. */
  readonly ofRequest?: readonly string[]
  /**
   * The same statement with a guard, for a transaction on a shared connection that must not run twice. Its values are
   * the guard's two numbers, followed by the values of the statement.
   */
  readonly texts: { guarded(guard: WriteGuard): string }
}

/** A large field that is still being received. It occupies a connection until it is sent or dropped. */
export type StreamedBody = {
  /** Total length in bytes. */
  readonly length: number
  /** Writes it to a stream, respecting backpressure, and ends the stream. */
  sendTo(writable: Writable): void
  /** Discards it. */
  drop(): void
}

/** Who waits for a result. */
export type Caller = {
  /** Whether the caller no longer waits. */
  readonly isGone: boolean
  /** Calls `listener` when the caller stops waiting. Returns a function that removes the listener. */
  readonly onGone: (listener: () => void) => () => void
}

/** Makes a transaction take effect at most once. */
export type Claim = {
  /**
   * Runs before the settings, as the login role. With SQLSTATE RH409 it says that another transaction is about to take
   * the same effect, with RH208 that one has taken it.
   */
  readonly statement: PipelineStatement & { readonly hasNoEffect: true }
  /**
   * Writes the statements that record the effect, from the rows of the transaction's statements. They run before the
   * commit, as the login role. An error rolls back.
   */
  readonly record: (results: readonly (readonly RawRow[])[]) => readonly PipelineStatement[]
}

export type RestTransaction = {
  /** Sets the role, the claims and the request's data. Also makes a read-only transaction read-only. */
  readonly settings: SettingsStatement
  readonly preRequest: PipelineStatement | undefined
  readonly statements: readonly PipelineStatement[]
  /** Null: read committed. */
  readonly isolation: IsolationLevel | null
  readonly readOnly: boolean
  /** Whether it certainly has no effect outside the transaction, so that it may run twice. */
  readonly hasNoEffect: boolean
  /** Whether to roll back at the end (`Prefer: tx=rollback`). */
  readonly rollback: boolean
  /** Checks the statements' rows before a write is committed; an error rolls it back. Costs a second round trip. */
  readonly checkResult: ((results: readonly (readonly RawRow[])[]) => Error | undefined) | undefined
  /** Undefined for a transaction that may run as often as it is requested. */
  readonly claim?: Claim | undefined
  /** Statistics of earlier runs of the statement; undefined when there are none, or it must not share a connection. */
  readonly stats: StatementStats | undefined
  /** Who waits for the result. The transaction is cancelled when the caller is gone, unless it shares a connection. */
  readonly caller: Caller
}

/** Which statements share connections: all brief ones, reads only, or none. */
export type Sharing = 'all' | 'reads' | 'none'

/** How transactions use connections. */
export type TransactionOptions = {
  /** Whether statements are prepared. */
  readonly prepare: boolean
  readonly sharing: Sharing
}

export type TransactionResult = {
  /** The rows of each statement. */
  readonly rows: readonly (readonly RawRow[])[]
  /** The last field of the only row, if it is streamed; the row then has only the fields before it. */
  readonly arriving?: StreamedBody
}

/** Rejections of `Database.run`, apart from errors of `checkResult`. Any other error means a lost connection. */
export type DatabaseFailure = Error &
  (
    | { readonly kind: 'statement failed'; readonly server: ServerError }
    /** Connecting failed; the message says why. */
    | { readonly kind: 'not connected' }
    /** No connection became free in time. */
    | { readonly kind: 'timed out' }
    | { readonly kind: 'caller gone' }
  )

/** The rejection of `Database.run` for a transaction whose claim was refused. Nothing was changed. */
export type ClaimRefusal = Error & {
  readonly kind: 'claim refused'
  /** Whether another transaction still runs, or has recorded its effect. */
  readonly reason: 'running' | 'recorded'
}

export type Database = {
  /**
   * Runs a transaction as the role in its settings.
   *
   * @throws DatabaseFailure; ClaimRefusal; the error of `checkResult`; any other error when the connection was lost
   */
  run(transaction: RestTransaction, options: TransactionOptions): Promise<TransactionResult>
}

/** What runs for one request of a batch. */
export type BatchStep = Pick<RestTransaction, 'settings' | 'preRequest' | 'statements' | 'readOnly'>

/** The rows of each statement of a step, or the error that ended the batch. */
export type BatchStepResult = { readonly rows: TransactionResult['rows'] } | { readonly error: Error }

export type BatchTransaction = Pick<RestTransaction, 'isolation' | 'readOnly' | 'rollback' | 'caller' | 'claim'>

/**
 * Runs steps in order, in one round trip. After an error only the end of the transaction is possible.
 *
 * @returns the results up to that of the first step that failed
 * @throws any error when the connection was lost
 */
export type RunSteps = (steps: readonly BatchStep[]) => Promise<readonly BatchStepResult[]>

export type BatchDatabase = Database & {
  /**
   * Runs the requests of a batch in one transaction on one connection, and commits it when `use` resolves.
   *
   * @param use its error rolls the transaction back
   * @throws DatabaseFailure; ClaimRefusal; the error of `use`; any other error when the connection was lost
   */
  batch<T>(transaction: BatchTransaction, use: (run: RunSteps) => Promise<T>, options: TransactionOptions): Promise<T>
}

/** An event of a channel (`LISTEN`). */
export type ChannelEvent =
  /** Listening has begun. After `lost`, notifications may have been missed. */
  | { readonly kind: 'listening' }
  /** The connection was lost. Reconnects after a delay. */
  | { readonly kind: 'lost'; readonly error: string; readonly retrySeconds: number }
  | { readonly kind: 'notified'; readonly payload: string }

/** A database from which the engine can also load its schema cache: the result of `connect`. */
export type EngineDatabase = BatchDatabase & {
  /**
   * Runs statements in one read-only transaction of `repeatable read`, as the role that connects.
   *
   * @throws the database's error, or that of the connection
   */
  read<T>(use: (query: RunQuery) => Promise<T>): Promise<T>
  /**
   * Listens on a channel (`LISTEN`), and reconnects when the connection is lost. Resolves after the first attempt.
   *
   * @returns a function that stops listening
   */
  listen(channel: string, onEvent: (event: ChannelEvent) => void): Promise<() => Promise<void>>
  /** Replaces all connections that are open now, because they cache catalog data. Running requests finish first. */
  renewConnections(): void
}
