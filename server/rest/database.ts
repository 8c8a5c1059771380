// The port to the database. The engine runs its transactions through the type `Database`.
import type { StatementStats } from '../common/statement-stats.ts'
import type { WalPosition } from '../common/wal-position.ts'
import type { RunQuery } from '../catalogue/introspection.ts'
import type { IsolationLevel } from '../catalogue/routine.ts'
import type { SettingsText } from '../identity/settings-text.ts'
import type { RawRow, RowsRequest, RowReceiver, StreamedBody } from './row-transfer.ts'

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
  /** Line of an imported body whose row caused the error, if it was found. */
  readonly bodyLine?: number
  /** Whether the table for the rows of an import could not be created. */
  readonly isOfStaging?: boolean
  /** Whether the rows of a batch exceed its `maxBytes`. */
  readonly isTooLarge?: boolean
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
  /** Whether its rows count towards the limit of the transaction, if that has one. */
  readonly isCounted?: boolean
  /** Receives the rows while they arrive; the result of the statement then has none. See `RestTransaction.receiver`. */
  readonly receiver?: RowReceiver
  /**
   * What may run in place of the statement, if neither has an effect: with `EncodedRows.end`, its result is the same, in less
   * time. A database may always run the statement itself, unless that returns the rows (`RowsPlan.isOnlyForm`).
   */
  readonly rows?: RowsRequest | undefined
  /** Whether it is only for `rows`: it does not run if the statement before it runs itself, which returns the same. */
  readonly isOfRows?: boolean
}

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
  readonly texts: Pick<SettingsText, 'guarded'>
}

/** What a database learns of the trace that its statements belong to. */
export type TraceNote = {
  /** As a comment at the end of the statements, or as `application_name` of their transaction. */
  readonly place: 'comment' | 'application-name'
  /** The trace and the span, in the form of the header `traceparent`. */
  readonly traceparent: string
}

/**
 * Observes what runs in the database for one request. Times are as `performance.now()` returns them. The methods must not
 * throw.
 */
export type StatementObserver = {
  /** Whether the server reports the end of each statement, instead of each round trip. That costs it a write each. */
  readonly timesStatements: boolean
  readonly note: TraceNote | undefined
  /** A connection was taken from the pool after waiting for it. */
  connectionTaken(since: number, until: number): void
  /** A statement has ended; only with `timesStatements`. */
  statementEnded(statement: PipelineStatement, since: number, until: number, error: ServerError | undefined): void
  /** Statements that were sent together have ended. The error is that of a statement, or of the connection. */
  roundTripEnded(statements: readonly PipelineStatement[], since: number, until: number, error: Error | undefined): void
}

/** Who waits for a result. */
export type Caller = {
  /** Whether the caller no longer waits. */
  readonly isGone: boolean
  /** Observes what runs for the caller; undefined when nothing does. */
  readonly observer?: StatementObserver | undefined
  /** Calls `listener` when the caller stops waiting. Returns a function that removes the listener. */
  readonly onGone: (listener: () => void) => () => void
}

/** Makes a transaction take effect at most once. */
export type Claim = {
  /**
   * Runs before the settings, as the login role. With SQLSTATE RH409 it says that another transaction is about to take
   * the same effect, with RH208 that one has taken it, with RH429 that the caller may record no further one.
   */
  readonly statement: PipelineStatement & { readonly hasNoEffect: true }
  /**
   * Writes the statements that record the effect, from the rows of the transaction's statements. They run before the
   * commit, as the login role. An error rolls back.
   */
  readonly record: (results: readonly (readonly RawRow[])[]) => readonly PipelineStatement[]
}

/** What a client has written, for databases with replicas. There is one object per request. */
export type Consistency = {
  /** Position of the latest write that the client is known to have made: reads must see it. */
  readonly after: WalPosition | undefined
  /** Receives the position of a write of this request, before the promise of its transaction is settled. */
  readonly written: (position: WalPosition) => void
}

export type RestTransaction = {
  /** Sets the role, the claims and the request's data. Also makes a read-only transaction read-only. */
  readonly settings: SettingsStatement
  /** The pre-request function and checks. They run after the settings; their rows are not returned. */
  readonly before: readonly PipelineStatement[]
  readonly statements: readonly PipelineStatement[]
  /** Null: read committed. */
  readonly isolation: IsolationLevel | null
  readonly readOnly: boolean
  /** Whether it certainly has no effect outside the transaction, so that it may run twice. */
  readonly hasNoEffect: boolean
  /**
   * Whether nothing that it executes can set anything for the session, such as `default_transaction_read_only`. What another
   * transaction may have set is reset after it. By default what `hasNoEffect` is.
   */
  readonly keepsSession?: boolean
  /** Whether to roll back at the end (`Prefer: tx=rollback`). */
  readonly rollback: boolean
  /** Checks the statements' rows before a write is committed; an error rolls it back. Costs a second round trip. */
  readonly checkResult: ((results: readonly (readonly RawRow[])[]) => Error | undefined) | undefined
  /** Undefined for a transaction that may run as often as it is requested. */
  readonly claim?: Claim | undefined
  /** Runs after `before`, and before the statements. Costs a second round trip. */
  readonly precheck?: Precheck | undefined
  /** Statistics of earlier runs of the statement; undefined when there are none, or it must not share a connection. */
  readonly stats: StatementStats | undefined
  /** Receives the rows of one of the statements while they arrive. The transaction then gets its own connection. */
  readonly receiver?: RowReceiver | undefined
  /** Who waits for the result. The transaction is cancelled when the caller is gone, unless it shares a connection. */
  readonly caller: Caller
  /** Undefined unless the database has replicas (`Database.settlingTime`). */
  readonly consistency?: Consistency | undefined
  /** Whether the request and its role allow that a replica answers it, provided that it only reads. */
  readonly mayUseReplica?: boolean
}

/** Statements that decide whether the statements of a transaction run. */
export type Precheck = {
  readonly statements: readonly PipelineStatement[]
  /** An error rolls the transaction back before the other statements run. Gets the rows of each statement. */
  readonly check: (results: readonly (readonly RawRow[])[]) => Error | undefined
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
    | {
        readonly kind: 'statement failed'
        readonly server: ServerError
        /** Number of the statement in `RestTransaction.statements`; undefined for any other statement. */
        readonly statement?: number | undefined
        /** Number of the statement in those of `RestTransaction.precheck`; undefined for any other statement. */
        readonly checked?: number | undefined
      }
    /** Connecting failed; the message says why. */
    | { readonly kind: 'not connected' }
    /** No connection became free in time. */
    | { readonly kind: 'timed out' }
    /** So many requests wait for a connection that a further one would wait too long. */
    | { readonly kind: 'overloaded' }
    | { readonly kind: 'caller gone' }
  )

/** Rows of a body that are staged in a temporary table before a statement writes them. */
export type StagedRows = {
  /** Create the table. They run as the login role. */
  readonly create: readonly PipelineStatement[]
  /** `copy … from stdin`, which runs as the role of the request. */
  readonly copy: string
  /** What the COPY receives. An error that it throws rolls the transaction back. */
  readonly data: AsyncIterable<Buffer>
  /** Number of the last line in `data`, after all of it was read. */
  readonly lastLine: () => number
  /** The statement that writes the rows of the lines above `after`, up to `last`. */
  readonly write: (after: number, last: number) => PipelineStatement
  /** Collects statistics of the staged rows for `precheck`. It runs as the login role. */
  readonly analyze: PipelineStatement
  /** The check of the statement that writes all rows, which runs before it; undefined when nothing is checked. */
  readonly precheck: ((write: PipelineStatement) => Precheck | undefined) | undefined
}

/** The rejection of `Database.run` for a transaction whose claim was refused. Nothing was changed. */
export type ClaimRefusal = Error & {
  readonly kind: 'claim refused'
  /** Whether another transaction still runs, or has recorded its effect, or its caller has recorded too many. */
  readonly reason: 'running' | 'recorded' | 'too many'
}

export type Database = {
  /**
   * Seconds after which every read sees a write, whichever replica it runs on. Undefined without replicas: requests then
   * have no `Consistency`.
   */
  readonly settlingTime?: number
  /**
   * Runs a transaction as the role in its settings.
   *
   * @throws DatabaseFailure; ClaimRefusal; the error of `checkResult`; any other error when the connection was lost
   */
  run(transaction: RestTransaction, options: TransactionOptions): Promise<TransactionResult>
  /**
   * Runs a transaction that stages rows, and then writes all of them with one statement. The transaction has no statements
   * of its own. A database without this method refuses imports.
   *
   * @throws the errors of `run`, with `bodyLine` if the row that caused it was found; the error of `data`
   */
  importRows?(transaction: RestTransaction, rows: StagedRows): Promise<TransactionResult>
}

/** What runs for one request of a batch. */
export type BatchStep = Pick<RestTransaction, 'settings' | 'before' | 'precheck' | 'statements' | 'readOnly'>

/** The rows of each statement of a step, or the error that ended the batch. */
export type BatchStepResult = { readonly rows: TransactionResult['rows'] } | { readonly error: Error }

export type BatchTransaction = Pick<
  RestTransaction,
  'isolation' | 'readOnly' | 'rollback' | 'caller' | 'claim' | 'consistency'
> & {
  /** Maximum number of bytes of the rows of all steps: the step that exceeds it fails, with `ServerError.isTooLarge`. */
  readonly maxBytes: number
}

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
   * @param isLong whether it takes so long that requests should not have to do without its connection
   * @throws the database's error, or that of the connection
   */
  read<T>(use: (query: RunQuery) => Promise<T>, isLong?: boolean): Promise<T>
  /**
   * Runs one brief statement in its own transaction, as the role that connects.
   *
   * @throws the database's error, with its SQLSTATE as `code`, or that of the connection
   */
  readonly query: RunQuery
  /**
   * Listens on a channel (`LISTEN`), and reconnects when the connection is lost. Resolves after the first attempt.
   *
   * @returns a function that stops listening
   */
  listen(channel: string, onEvent: (event: ChannelEvent) => void): Promise<() => Promise<void>>
  /**
   * Replaces all connections that are open now, because they cache catalog data. Running requests finish first. Resolves
   * when no further request uses one of them.
   *
   * @param time milliseconds over which they are replaced, one after another: requests wait for a new connection while it
   *   reads what it needs of the catalog
   * @param signal ends the pauses
   */
  renewConnections(time: number, signal?: AbortSignal): Promise<void>
}
