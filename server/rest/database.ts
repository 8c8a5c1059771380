// The port to the database: what the engine asks for, and what it gets. Whoever runs transactions implements `Database`.
import type { Writable } from 'node:stream'
import type { StatementStats } from '../common/statement-stats.ts'
import type { RunQuery } from '../schema-cache/introspection.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'

/** A row as the server sent it: the bytes of every field, null for NULL. */
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
  /** Format of every result column, text (0) or binary (1); all are text when it is left out. */
  readonly resultFormats?: readonly (0 | 1)[]
  /** Is never prepared: transaction commands, which must work whatever has become of the prepared statements. */
  readonly isUnprepared?: boolean
  /** Changes nothing outside its transaction, so that it may be run again once that was undone. */
  readonly hasNoEffect?: boolean
  /** Fails unless the turn may begin; see `SettingsStatement.texts`. */
  readonly isGuard?: boolean
}

/**
 * Writes an SQL expression that fails unless a transaction on a shared connection may begin.
 *
 * @param gate placeholder of the gate's number
 * @param turn placeholder of the turn's number
 */
export type WriteGuard = (gate: string, turn: string) => string

/** The statement that makes the settings of a transaction. It has no effect outside its transaction. */
export type SettingsStatement = PipelineStatement & {
  readonly hasNoEffect: true
  /** Whether it also fails when the session of the token has ended. */
  readonly checksSession: boolean
  /**
   * Gives the text of the same statement with a guard, for a transaction on a shared connection that must not run twice. Its
   * values are the guard's two numbers, then those of the statement.
   */
  readonly texts: { guarded(guard: WriteGuard): string }
}

/** A large field that is passed on while it still arrives. It occupies a connection until it has been taken or dropped. */
export type StreamedBody = {
  /** Bytes in all. */
  readonly length: number
  /** Writes it to a stream at the pace of that stream, and ends the stream. */
  sendTo(writable: Writable): void
  /** Gives it up. */
  drop(): void
}

/** Who waits for a result. */
export type Caller = {
  /** Whether the caller no longer waits. */
  readonly isGone: boolean
  /** Calls `listener` when the caller stops waiting. Returns a function that removes the listener. */
  readonly onGone: (listener: () => void) => () => void
}

export type RestTransaction = {
  /** Who acts, and what the request was. They also make the transaction read-only where it is. */
  readonly settings: SettingsStatement
  readonly preRequest: PipelineStatement | undefined
  readonly statements: readonly PipelineStatement[]
  /** Null: read committed. */
  readonly isolation: IsolationLevel | null
  readonly readOnly: boolean
  /** Whether it is proved that nothing in it has an effect outside the transaction, so that it may run twice. */
  readonly hasNoEffect: boolean
  /** Undo everything at the end (`Prefer: tx=rollback`). */
  readonly rollback: boolean
  /** Decides from the statements' rows whether a write may stand; its error undoes it. Costs a second round trip. */
  readonly checkResult: ((results: readonly (readonly RawRow[])[]) => Error | undefined) | undefined
  /** How the statement went before, if that is known, and if it may share a connection. */
  readonly stats: StatementStats | undefined
  /** Whose departure ends it, unless it shares a connection. */
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
  /** The last field of the only row, while it still arrives; the row then has only the fields before it. */
  readonly arriving?: StreamedBody
}

/** What `Database.run` rejects with, beside the error of `judge`. Any other error means that the connection was lost. */
export type DatabaseFailure = Error &
  (
    | { readonly kind: 'statement failed'; readonly server: ServerError }
    /** No connection could be made; the message says why. */
    | { readonly kind: 'not connected' }
    /** No connection became free in time. */
    | { readonly kind: 'timed out' }
    | { readonly kind: 'caller gone' }
  )

export type Database = {
  /**
   * Runs a transaction. Its settings say as whom.
   *
   * @throws DatabaseFailure; the error of `judge`; any other error when the connection was lost
   */
  run(transaction: RestTransaction, options: TransactionOptions): Promise<TransactionResult>
}

/** What is heard of a channel. */
export type ChannelEvent =
  /** Notifications arrive from now on. After `lost`, some may have been missed. */
  | { readonly kind: 'listening' }
  /** The connection is gone; it is made again after a pause. */
  | { readonly kind: 'lost'; readonly error: string; readonly retrySeconds: number }
  | { readonly kind: 'notified'; readonly payload: string }

/** A database from which the engine also loads its schema cache: what `connect` gives. */
export type EngineDatabase = Database & {
  /**
   * Runs statements in one read-only transaction of `repeatable read`, as the role that connects.
   *
   * @throws the database's error, or that of the connection
   */
  read<T>(use: (query: RunQuery) => Promise<T>): Promise<T>
  /**
   * Listens on a channel (`LISTEN`), and goes on after lost connections. Resolves after the first attempt to connect.
   *
   * @returns a function that stops listening
   */
  listen(channel: string, onEvent: (event: ChannelEvent) => void): Promise<() => Promise<void>>
  /** Lets no later request use a connection that is open now: sessions keep what they have read of the catalogue. */
  renewConnections(): void
}
