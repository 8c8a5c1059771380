// The rows of an import, as they are read from a body piece by piece.
import type { ApiError } from '../../errors.ts'

/** A row of a body. */
export type ImportRow = {
  /** Line of the body on which the row begins, from 1. */
  readonly line: number
  /** The row as a JSON object. */
  readonly json: string | Buffer
  /** The keys of the object, sorted, without duplicates. */
  readonly keys: () => readonly string[]
  /** The value of the object. */
  readonly value: () => unknown
}

/** Receives the rows in order. An error that it throws ends reading. */
export type OnRow = (row: ImportRow) => void

/** Splits a body into rows. Memory is limited to one piece and one row. */
export type RowReader = {
  /**
   * Reads a piece of the body, of any length.
   *
   * @throws ApiError with the line of the first fault; the error of `OnRow`
   */
  push(piece: Buffer): Promise<void>
  /** Reads what is left, at the end of the body. Throws as `push` does. */
  end(): Promise<void>
  /** Number of the last line that was read. */
  readonly line: number
}

export type RowReaderOptions = {
  /** Maximum size of a row in bytes. */
  readonly rowLimit: number
  /** Whether the `columns` parameter has the keys, so that the rows may have different ones. */
  readonly keysAreNamed: boolean
  readonly onRow: OnRow
  /** Creates the error of a row above the limit. */
  readonly tooLarge: (line: number) => ApiError
}
