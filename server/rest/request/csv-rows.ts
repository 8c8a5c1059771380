// Reads CSV bodies of any size, row by row, with the rules of `csv.ts`.
import { isUtf8 } from 'node:buffer'
import { CsvError, parse, type Parser } from 'csv-parse'
import { sortedTexts } from '../../text/code-point-order.ts'
import { ApiError, errors, withLine } from '../errors.ts'
import {
  columnsOf,
  csvObject,
  csvOptions,
  isBlank,
  parseError,
  unclosedQuote,
  unequalFields,
  type CsvColumn,
} from './csv.ts'
import type { RowReader, RowReaderOptions } from './import-rows.ts'

const lineFeed = 0x0a
const lineEnd = /\r\n|\n|\r/g

/** Number of lines that a record takes: its fields may contain line ends. */
const linesOf = (record: readonly string[]): number =>
  record.reduce((lines, field) => lines + (field.match(lineEnd)?.length ?? 0), 1)

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

/** Reads the lines of CSV after the header as objects. Line numbers count all line ends, those in quotes as well. */
export class CsvReader implements RowReader {
  readonly #options: RowReaderOptions
  readonly #parser: Parser
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
  #parserLine = 0
  #isCounting = false
  #error: Error | undefined

  constructor(options: RowReaderOptions) {
    this.#options = options
    this.#parser = parse({
      ...csvOptions,
      max_record_size: options.rowLimit,
      on_record: (record: readonly string[], { lines }) => {
        if (!this.#isCounting) this.#readRecord(record, this.#line + 1)
        this.#previousLine = this.#line
        // The parser counts `\r\n` in a field twice.
        this.#line += lines === this.#parserLine + 1 ? 1 : linesOf(record)
        this.#parserLine = lines
        // Nothing is passed on to the readable side of the parser.
        return null
      },
    })
    this.#parser.on('error', (error) => (this.#error ??= error))
    this.#parser.resume()
  }

  get line(): number {
    return this.#line
  }

  push(piece: Buffer): Promise<void> {
    this.#last = (this.#last + piece.subarray(-2).toString('latin1')).slice(-2)
    const bytes = this.#partial.length > 0 ? Buffer.concat([this.#partial, piece]) : piece
    const end = bytes.length - partialLength(bytes)
    const whole = bytes.subarray(0, end)
    if (!isUtf8(whole)) return this.#rejectBytes(whole)
    this.#partial = Buffer.from(bytes.subarray(end))
    return this.#write(whole)
  }

  async end(): Promise<void> {
    if (this.#partial.length > 0) return this.#rejectBytes(this.#partial)
    await this.#close().catch((error: unknown) => {
      throw this.#faultOf(error)
    })
    if (!this.#header || (this.#rows === 0 && !/[\r\n]$/.test(this.#last))) {
      throw withLine(parseError('not enough input', ''), 1)
    }
  }

  /** Finds the line of the record that is not UTF-8. Records that the parser has not passed on are only counted. */
  async #rejectBytes(bytes: Buffer): Promise<never> {
    let start = 0
    let end = bytes.indexOf(lineFeed) + 1
    while (end > 0 && isUtf8(bytes.subarray(start, end))) {
      start = end
      end = bytes.indexOf(lineFeed, start) + 1
    }
    this.#isCounting = true
    // The letter stands for the bytes that are invalid, so that the last record is theirs.
    await this.#write(Buffer.concat([bytes.subarray(0, start), Buffer.from('x')]))
    const line = await this.#close().then(
      () => this.#previousLine + 1,
      () => this.#line + 1,
    )
    throw withLine(errors.invalidBody('The CSV is not valid UTF-8'), line)
  }

  #close(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#parser.once('close', resolve).once('error', reject).end()
    })
  }

  #write(piece: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => reject(this.#faultOf(error))
      if (this.#error) fail(this.#error)
      else this.#parser.write(piece, (error) => (error ? fail(error) : resolve()))
    })
  }

  #faultOf(error: unknown): Error {
    if (!(error instanceof CsvError)) return error instanceof Error ? error : new Error(String(error))
    const line = this.#line + 1
    if (error.code === 'CSV_MAX_RECORD_SIZE') return this.#options.tooLarge(line)
    if (error.code === 'CSV_QUOTE_NOT_CLOSED') return withLine(unclosedQuote(this.#last, !this.#header), line)
    // A small body's message contains the text from the fault on, which has not arrived here.
    return withLine(errors.invalidBody('parse error (Failed reading: satisfy)'), line)
  }

  #readRecord(record: readonly string[], line: number): void {
    if (!this.#header) {
      this.#header = record
      return
    }
    this.#rows++
    if (isBlank(record)) return
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
    this.#columns = columnsOf(header, width)
    if (this.#count === -1) this.#count = this.#columns.length
    else if (this.#columns.length !== this.#count) {
      throw withLine(unequalFields(), line)
    }
  }
}
