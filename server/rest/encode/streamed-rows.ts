// Writes the rows of a response that is streamed: as CSV or as NDJSON.
import type { TextTypes } from '../../catalogue/schema-cache.ts'
import type { ColumnDescription } from '../row-transfer.ts'
import { mostCsvBytes, writeCsvRecord } from './csv-record.ts'
import { RowEncoder, scratch } from './row-encoder.ts'

export type RowFormat = 'csv' | 'ndjson'

const [lineFeed, space] = [0x0a, 0x20] as const

/** Bytes that are written before they are passed on: a piece that stays in the cache of the processor. */
const most = 128 * 1024

/** How a row is written. */
type Writer = {
  /** Bytes that a row of so many bytes takes at most, without its line feed. */
  readonly mostBytes: (length: number) => number
  /** Writes a row to the scratch. Returns where it ends, or a negative number if it cannot be written. */
  readonly write: (at: number, source: Buffer, start: number, end: number) => number
  /** The same for a row of any length. */
  readonly writeLong: (source: Buffer, start: number, end: number) => Buffer | undefined
}

const csv: Writer = {
  mostBytes: mostCsvBytes,
  write: (at, source, start, end) => writeCsvRecord(scratch, at, source, start, end),
  writeLong: (source, start, end) => {
    const target = Buffer.allocUnsafeSlow(mostCsvBytes(end - start))
    return target.subarray(0, writeCsvRecord(target, 0, source, start, end))
  },
}

/** Line feeds of JSON are white space between its parts: in strings they are escaped. */
function removeLineFeeds(target: Buffer, start: number, end: number): void {
  for (let at = target.indexOf(lineFeed, start); at >= 0 && at < end; at = target.indexOf(lineFeed, at + 1))
    target[at] = space
}

function ndjson(encoder: RowEncoder): Writer {
  const { hasJson } = encoder
  return {
    mostBytes: (length) => encoder.mostBytes(length),
    write: (at, source, start) => {
      const end = encoder.writeRow(at, source, start)
      if (hasJson && end > at) {
        // The search ends at this line feed at the latest.
        scratch[end] = lineFeed
        removeLineFeeds(scratch, at, end)
      }
      return end
    },
    writeLong: (source, start) => {
      const written = encoder.longRow(source, start)
      if (written) removeLineFeeds(written, 0, written.length)
      return written
    },
  }
}

/** What the columns of rows are. */
export type StreamedColumns = {
  readonly format: RowFormat
  /** Whether the only column is the value itself. */
  readonly isScalar: boolean
}

export class StreamedRows {
  /** Whether the values can be written only if dates are in the format of ISO 8601. */
  readonly needsIsoDates: boolean
  readonly #writer: Writer
  readonly #separatesBefore: boolean
  readonly #pass: (bytes: Buffer) => void
  #pending = 0

  private constructor(format: RowFormat, writer: Writer, needsIsoDates: boolean, pass: (bytes: Buffer) => void) {
    this.needsIsoDates = needsIsoDates
    this.#writer = writer
    this.#separatesBefore = format === 'csv'
    this.#pass = pass
  }

  /**
   * @param pass receives what was written: the bytes are valid during the call only
   * @returns undefined if there is a type that cannot be encoded
   */
  static of(
    { format, isScalar }: StreamedColumns,
    columns: readonly ColumnDescription[],
    types: TextTypes,
    pass: (bytes: Buffer) => void,
  ): StreamedRows | undefined {
    if (format === 'csv') return new StreamedRows(format, csv, false, pass)
    const form = { body: 'array', isScalar, pageTotal: 'rows', tableTotal: 'none', hasVersion: false } as const
    const encoder = RowEncoder.of(form, columns, types)
    return encoder && new StreamedRows(format, ndjson(encoder), encoder.needsIsoDates, pass)
  }

  /**
   * Adds a row: CSV has a line feed before each row, NDJSON after it. Call `flush` when all rows that arrived together were added.
   *
   * @param source its fields, from `start` to `end`, as in a DataRow message
   * @returns whether its values are in the format of their types
   */
  add(source: Buffer, start: number, end: number): boolean {
    const { mostBytes, write, writeLong } = this.#writer
    if (this.#pending > most) this.flush()
    if (this.#separatesBefore) scratch[this.#pending++] = lineFeed
    const longest = mostBytes(end - start) + 1
    if (this.#pending + longest > scratch.length) {
      this.flush()
      if (longest > scratch.length) {
        const written = writeLong(source, start, end)
        if (!written) return false
        this.#pass(written)
      }
    }
    if (longest <= scratch.length) {
      const next = write(this.#pending, source, start, end)
      if (next < 0) return false
      this.#pending = next
    }
    if (!this.#separatesBefore) scratch[this.#pending++] = lineFeed
    return true
  }

  /** Passes on what was written. */
  flush(): void {
    if (this.#pending === 0) return
    this.#pass(scratch.subarray(0, this.#pending))
    this.#pending = 0
  }
}
