// Reads CSV bodies of any size, row by row, with the rules of `csv.ts`.
import { isUtf8 } from 'node:buffer'
import { setImmediate as yielding } from 'node:timers/promises'
import { sortedTexts } from '../../../text/code-point-order.ts'
import { ApiError, errors, withLine } from '../../errors.ts'
import {
  checkHeader,
  columnsOf,
  csvObject,
  fieldsOf,
  isBlank,
  parseError,
  tooManyFields,
  unclosedQuote,
  unequalFields,
  type CsvColumn,
} from '../../request/csv.ts'
import { noJsonColumn, type IsJsonColumn } from '../../request/csv-json.ts'
import { CsvRecords, CsvSyntaxError } from '../../request/csv-records.ts'
import type { RowReader, RowReaderOptions } from './import-rows.ts'

const lineFeed = 0x0a

/** Characters that are read at a time. */
const pieceSize = 16 * 1024
/** Maximum length of a column's name: longer ones in each row would take far more memory than the body. */
const longestName = 255

/** Number of bytes at the end that may be the beginning of a character of UTF-8. */
function partialLength(bytes: Buffer): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] ?? 0
    // A byte of the form 10… continues a character.
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return length < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? length : 0
  }
  return 0
}

function isLarger(record: readonly string[], length: number, limit: number): boolean {
  // A character has up to three bytes in UTF-8.
  if (length > limit || length * 3 <= limit) return length > limit
  return record.reduce((sum, field) => sum + Buffer.byteLength(field) + 1, 0) > limit
}

/** Reads the lines of CSV after the header as objects. Line numbers count all line ends, those in quotes as well. */
export class CsvReader implements RowReader {
  readonly #options: RowReaderOptions
  readonly #isJson: IsJsonColumn
  readonly #records: CsvRecords
  /** The bytes of a character of which the rest has not arrived. */
  #partial: Buffer = Buffer.alloc(0)
  #header: readonly string[] | undefined
  #width = -1
  #count = -1
  #columns: readonly CsvColumn[] = []
  #rows = 0
  /** The last two bytes. */
  #last = ''
  /** Number of the last line of the previous record. */
  #line = 0
  /** That of the record before it. */
  #previousLine = 0
  #isCounting = false

  /** @param isJson the columns whose fields may be JSON */
  constructor(options: RowReaderOptions, isJson: IsJsonColumn = noJsonColumn) {
    this.#options = options
    this.#isJson = isJson
    this.#records = new CsvRecords(
      (record, lines, length) => {
        const line = this.#line + 1
        this.#previousLine = this.#line
        if (!this.#isCounting) {
          if (isLarger(record, length, options.rowLimit)) throw options.tooLarge(line)
          this.#readRecord(record, line)
        }
        this.#line += lines
      },
      () => fieldsOf(this.#header),
    )
  }

  get line(): number {
    return this.#line
  }

  async push(piece: Buffer): Promise<void> {
    this.#last = (this.#last + piece.subarray(-2).toString('latin1')).slice(-2)
    const bytes = this.#partial.length > 0 ? Buffer.concat([this.#partial, piece]) : piece
    const end = bytes.length - partialLength(bytes)
    const whole = bytes.subarray(0, end)
    if (!isUtf8(whole)) this.#rejectBytes(whole)
    this.#partial = Buffer.from(bytes.subarray(end))
    const text = whole.toString('utf8')
    for (let at = 0; at < text.length; at += pieceSize) {
      if (at > 0) await yielding()
      this.#write(text.slice(at, at + pieceSize))
    }
  }

  end(): Promise<void> {
    return Promise.resolve().then(() => this.#end())
  }

  #end(): void {
    if (this.#partial.length > 0) this.#rejectBytes(this.#partial)
    try {
      this.#records.end()
    } catch (error) {
      throw this.#faultOf(error)
    }
    if (!this.#header || (this.#rows === 0 && !/[\r\n]$/.test(this.#last))) {
      throw withLine(parseError('not enough input', ''), 1)
    }
  }

  /** Finds the line of the record that is not UTF-8. Records that the parser has not passed on are only counted. */
  #rejectBytes(bytes: Buffer): never {
    let start = 0
    let end = bytes.indexOf(lineFeed) + 1
    while (end > 0 && isUtf8(bytes.subarray(start, end))) {
      start = end
      end = bytes.indexOf(lineFeed, start) + 1
    }
    this.#isCounting = true
    // The letter stands for the bytes that are invalid, so that the last record is theirs.
    this.#write(`${bytes.toString('utf8', 0, start)}x`)
    let line: number
    try {
      this.#records.end()
      line = this.#previousLine + 1
    } catch {
      line = this.#line + 1
    }
    throw withLine(errors.invalidBody('The CSV is not valid UTF-8'), line)
  }

  #write(text: string): void {
    try {
      this.#records.push(text)
    } catch (error) {
      throw this.#faultOf(error)
    }
    if (this.#records.pending > this.#options.rowLimit) throw this.#options.tooLarge(this.#line + 1)
  }

  #faultOf(error: unknown): Error {
    if (!(error instanceof CsvSyntaxError)) return error instanceof Error ? error : new Error(String(error))
    const line = this.#line + 1
    if (error.fault === 'unclosed quote') return withLine(unclosedQuote(this.#last, !this.#header), line)
    // A small body's message contains the text from the fault on, which has not arrived here.
    return withLine(errors.invalidBody('parse error (Failed reading: satisfy)'), line)
  }

  #readRecord(record: readonly string[], line: number): void {
    if (!this.#header) {
      const long = record.find((name) => name.length > longestName)
      if (long !== undefined) {
        throw withLine(errors.invalidBody(`The name of a column has more than ${longestName} characters`), line)
      }
      checkHeader(record)
      this.#header = record
      return
    }
    this.#rows++
    if (isBlank(record)) return
    if (record.length > this.#header.length) throw tooManyFields(this.#header, line)
    if (record.length !== this.#width) this.#resize(this.#header, record.length, line)
    const columns = this.#columns
    const json = csvObject(columns, record)
    try {
      this.#options.onRow({
        line,
        json,
        keys: () => sortedTexts((this.#header ?? []).slice(0, record.length)),
        value: () => JSON.parse(json) as unknown,
      })
    } catch (error) {
      throw error instanceof ApiError ? withLine(error, error.line ?? line) : error
    }
  }

  #resize(header: readonly string[], width: number, line: number): void {
    this.#width = width
    this.#columns = columnsOf(header, width, this.#isJson)
    if (this.#count === -1) this.#count = this.#columns.length
    else if (this.#columns.length !== this.#count) {
      throw withLine(unequalFields(), line)
    }
  }
}
