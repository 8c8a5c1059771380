// Reads CSV bodies of any size, row by row, with the rules of `csv.ts`.
import { CsvError, parse, type Parser } from 'csv-parse'
import { sortedTexts } from '../../text/code-point-order.ts'
import { ApiError, errors, withLine } from '../errors.ts'
import { columnsOf, csvObject, csvOptions, isBlank, unequalFields, type CsvColumn } from './csv.ts'
import type { RowReader, RowReaderOptions } from './import-rows.ts'

const faults: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'parse error (Failed reading: insufficient input)',
}
const otherFault = 'parse error (Failed reading: satisfy)'

/** Reads the lines of CSV after the header as objects. Line numbers count all line ends, those in quotes as well. */
export class CsvReader implements RowReader {
  readonly #options: RowReaderOptions
  readonly #parser: Parser
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #header: readonly string[] | undefined
  #width = -1
  #count = -1
  #columns: readonly CsvColumn[] = []
  #rows = 0
  #lastByte: number | undefined
  /** Number of the last line of the previous record. */
  #line = 0
  #error: Error | undefined

  constructor(options: RowReaderOptions) {
    this.#options = options
    this.#parser = parse({
      ...csvOptions,
      max_record_size: options.rowLimit,
      on_record: (record: readonly string[], { lines }) => {
        this.#readRecord(record, this.#line + 1)
        this.#line = lines
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
    this.#lastByte = piece.at(-1) ?? this.#lastByte
    return this.#check(() => this.#decoder.decode(piece, { stream: true })).then(() => this.#write(piece))
  }

  async end(): Promise<void> {
    await this.#check(() => this.#decoder.decode())
    await new Promise<void>((resolve, reject) => {
      this.#parser.once('close', resolve).once('error', reject).end()
    }).catch((error: unknown) => {
      throw this.#faultOf(error)
    })
    const isComplete = this.#lastByte === 0x0a || this.#lastByte === 0x0d
    if (!this.#header || (this.#rows === 0 && !isComplete)) {
      throw withLine(errors.invalidBody('parse error (not enough input)'), 1)
    }
  }

  /** Checks that the body is UTF-8. */
  #check(decode: () => void): Promise<void> {
    try {
      decode()
      return Promise.resolve()
    } catch {
      return Promise.reject(withLine(errors.invalidBody('The CSV is not valid UTF-8'), this.#line + 1))
    }
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
    return withLine(errors.invalidBody(faults[error.code] ?? otherFault), line)
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
      const error = unequalFields()
      throw error instanceof ApiError ? withLine(error, line) : error
    }
  }
}
