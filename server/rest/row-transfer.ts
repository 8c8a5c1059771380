// How rows come from the database: as they are, encoded while they arrive, received one by one, or as the body of a response.
import type { Writable } from 'node:stream'

/** A row in the server's encoding: the bytes of each field, null for NULL. */
export type RawRow = readonly (Buffer | null)[]

/** The name of a column, and the oid of its type: that of a domain is the type that it is based on. */
export type ColumnDescription = { readonly name: Buffer; readonly type: number }

/** The form of a statement that returns the rows of which the statement makes one. Its encoder makes them here. */
export type RowsPlan = {
  readonly text: string
  /** Whether an error may be of a row or column that the statement does not return. Then the statement decides. */
  readonly mayFailAlone: boolean
  /**
   * Whether the rows are those of the statement itself, which cannot run again because it writes. All of them are encoded then,
   * if necessary by `addLong`.
   */
  readonly isOnlyForm: boolean
  /** Whether `settingsStatement` follows the rows, because what runs may set headers and status. */
  readonly isLoud: boolean
  /** Whether the statement itself has to run, because of the columns or their values. */
  readonly isRefused: boolean
  /** Undefined if there is a type that cannot be encoded. */
  encoderOf(columns: readonly ColumnDescription[]): { begin(): EncodedRows } | undefined
  refuse(): void
}

/** A run of a `RowsPlan`. */
export type RowsRequest = {
  readonly plan: RowsPlan
  readonly values: readonly (string | Buffer | null)[]
  /** Whether the statement itself has to run, because the rows are too large to be kept in memory. */
  isGivenUp: boolean
}

/** The rows of one run, which are encoded while they arrive. */
export type EncodedRows = {
  /** Bytes so far. */
  readonly bytes: number
  /**
   * Adds a row: the body of a DataRow message. Its bytes are valid during the call only.
   *
   * @returns whether it could be encoded: its values are in the format of their types, and not too long
   */
  add(buffer: Buffer, start: number, end: number): boolean
  /** Adds a row that `add` could not encode. What was encoded before must have been taken. Returns what it becomes. */
  addLong(buffer: Buffer, start: number): Buffer
  /** What was encoded since the last call. Call it when all rows that arrived together were added: the bytes are valid until then. */
  take(): Buffer
  /** Ends the body. Returns the fields before it of the row that the statement would have returned. */
  end(): RawRow
}

/** Pauses and resumes the arrival of rows. */
export type Flow = { readonly pause: () => void; readonly resume: () => void }

/** Receives the rows of a statement while they arrive, instead of all of them at the end. */
export type RowReceiver = {
  /** A statement whose column names the receiver gets before the first row. It is never executed. */
  readonly namesOf: { readonly text: string } | undefined
  /** Whether the first row has arrived: the transaction must not run again. */
  readonly hasBegun: boolean
  /** Called with the columns of `namesOf`. */
  names(columns: readonly ColumnDescription[]): void
  /**
   * Called with the columns of the rows before the first one.
   *
   * @returns whether it can receive such rows; otherwise the statement is cancelled, and the transaction fails
   */
  columns(columns: readonly ColumnDescription[]): boolean
  /**
   * Called for each row: the body of a DataRow message from `start` to `end`, which is valid during the call only.
   *
   * @returns whether it can receive further rows; otherwise the statement is cancelled, and the transaction fails
   */
  row(buffer: Buffer, start: number, end: number, flow: Flow): boolean
  /** Called when all rows that arrived together were passed. */
  flush(): void
  /**
   * Bytes per second that the reader takes, measured since the first call. Infinite unless the arrival is paused for a slow
   * reader, and in the first second.
   */
  measureRate(): number
  /** Disconnects a reader that is too slow. */
  giveUp(): void
}

/** A body that is still being received. It occupies a connection until it is sent or dropped. */
export type StreamedBody = {
  /** Total length in bytes; undefined when it is not known in advance. */
  readonly length: number | undefined
  /** Writes it to a stream, respecting backpressure, and ends the stream; destroys the stream when the body fails. */
  sendTo(writable: Writable): void
  /** Discards it. */
  drop(): void
  /** Calls `listener` once the body was sent, dropped or has failed. Bodies of unknown length have it. */
  onEnd?(listener: (end: StreamEnd) => void): void
}

/** How a body of unknown length ended. */
export type StreamEnd = {
  /** Rows that arrived from the database. */
  readonly rows: number
  /** Bytes of the body before compression. */
  readonly bytes: number
  /** Milliseconds since the first row. */
  readonly milliseconds: number
  /** Why it was broken off; undefined when all of it was sent. */
  readonly error: Error | undefined
}
