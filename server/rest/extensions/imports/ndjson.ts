// Bodies of the type application/x-ndjson: a JSON object per line. https://github.com/ndjson/ndjson-spec
import { isUtf8 } from 'node:buffer'
import { sortedTexts } from '../../../text/code-point-order.ts'
import { hasLoneSurrogate, hasMoreSigns, mostSigns } from '../../../text/json-text.ts'
import { ApiError, errors, withLine } from '../../errors.ts'
import type { RowReader, RowReaderOptions } from './import-rows.ts'
import { invalidJson, isObject, unequalKeys } from '../../request/payload.ts'

const lineFeed = 0x0a
/** A line of JSON's white space only. RFC 8259, section 2 */
const blank = /^[ \t\r]*$/

const noObject = (): Error => errors.invalidBody('Each line must be a JSON object')

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidJson()
  }
}

/** Runs something synchronously. Its error becomes a rejection. */
const settled = (run: () => void): Promise<void> =>
  new Promise((resolve) => {
    run()
    resolve()
  })

/**
 * Reads lines as the elements of a JSON array: all objects must have the keys of the first one, unless the `columns`
 * parameter has them. Skips blank lines.
 */
export class NdjsonReader implements RowReader {
  readonly #options: RowReaderOptions
  /** Pieces of the line that has not ended. */
  #rest: Buffer[] = []
  #restLength = 0
  #line = 0
  #keys: readonly string[] | undefined
  #known: ReadonlySet<string> = new Set()

  constructor(options: RowReaderOptions) {
    this.#options = options
  }

  get line(): number {
    return this.#line
  }

  push(piece: Buffer): Promise<void> {
    return settled(() => this.#split(piece))
  }

  end(): Promise<void> {
    return settled(() => {
      if (this.#restLength > 0) this.#read(this.#wholeLine(Buffer.alloc(0)))
    })
  }

  #split(piece: Buffer): void {
    let start = 0
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, start)) {
      const part = piece.subarray(start, end)
      this.#requireSize(part.length)
      this.#read(this.#restLength > 0 ? this.#wholeLine(part) : part)
      start = end + 1
    }
    if (start === piece.length) return
    const rest = piece.subarray(start)
    this.#requireSize(rest.length)
    // Copies the rest, because it would keep the whole piece in memory.
    this.#rest.push(Buffer.from(rest))
    this.#restLength += rest.length
  }

  #requireSize(more: number): void {
    if (this.#restLength + more > this.#options.rowLimit) throw this.#options.tooLarge(this.#line + 1)
  }

  #wholeLine(last: Buffer): Buffer {
    const line = Buffer.concat([...this.#rest, last])
    this.#rest = []
    this.#restLength = 0
    return line
  }

  #read(bytes: Buffer): void {
    this.#line++
    try {
      this.#readRow(bytes)
    } catch (error) {
      throw error instanceof ApiError ? withLine(error, error.line ?? this.#line) : error
    }
  }

  #readRow(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (!isUtf8(bytes)) throw invalidJson()
    if (hasMoreSigns(bytes, mostSigns)) throw errors.tooManyValues(mostSigns)
    const text = bytes.toString('utf8')
    if (blank.test(text)) return
    const value = parsed(text)
    if (!isObject(value)) throw noObject()
    if (!this.#options.keysAreNamed) {
      if (hasLoneSurrogate(text)) throw invalidJson()
      this.#compareKeys(Object.keys(value))
    }
    this.#options.onRow({
      line: this.#line,
      json: bytes,
      keys: () => sortedTexts(Object.keys(value)),
      value: () => value,
    })
  }

  #compareKeys(keys: readonly string[]): void {
    const first = this.#keys
    if (!first) {
      this.#keys = keys
      this.#known = new Set(keys)
      return
    }
    // Rows nearly always have their keys in the same order, which avoids the lookup in the set.
    if (keys.length !== first.length || !keys.every((key, index) => key === first[index] || this.#known.has(key))) {
      throw unequalKeys()
    }
  }
}
