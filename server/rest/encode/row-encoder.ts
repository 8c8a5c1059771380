// Writes the rows of a statement as JSON, byte for byte as `json_agg` would.
import type { TextTypes } from '../../catalogue/schema-cache.ts'
import type { ColumnDescription, EncodedRows, RawRow } from '../database.ts'
import type { RowsForm } from '../sql/rows.ts'
import { columnType, type ColumnType } from './column-type.ts'
import { writeArray } from './array.ts'
import { mostAdded, mostGrowth, writeNull, writeText, writeValue } from './value.ts'

type Column = ColumnType & { readonly key: Buffer }

const [brace, closingBrace, bracket, closingBracket] = [0x7b, 0x7d, 0x5b, 0x5d] as const
/** `json_agg` puts rows and arrays on lines of their own. */
const betweenLines = Buffer.from(', \n ')
const betweenValues = Buffer.from(', ')
const emptyArray = Buffer.from('[]')
const noValue = Buffer.from('null')
const noText = Buffer.alloc(0)

/** Where all encoders write. What is in it at the end of a chunk that has arrived is copied. */
let scratch = Buffer.allocUnsafeSlow(128 * 1024)
/** Bytes of the largest scratch that is kept. */
const largestScratch = 1024 * 1024

/** Makes room for bytes after the first `used`. */
function reserve(used: number, bytes: number): Buffer {
  if (used + bytes <= scratch.length) return scratch
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * scratch.length, used + bytes))
  scratch.copy(larger, 0, 0, used)
  scratch = larger
  return larger
}

function keyOf(name: Buffer, index: number): Buffer {
  const key = Buffer.allocUnsafe(name.length * mostGrowth + mostAdded)
  key[0] = index === 0 ? brace : 0x2c
  const end = writeText(key, 1, name, 0, name.length)
  key[end] = 0x3a
  return Buffer.from(key.subarray(0, end + 1))
}

/** The encoder of one statement and the types of its columns. It holds nothing of a caller. */
export class RowEncoder {
  readonly form: RowsForm
  readonly #leading: number
  readonly #columns: readonly Column[]
  readonly #between: Buffer
  /** Bytes of a row besides its values. */
  readonly #fixed: number

  private constructor(form: RowsForm, columns: readonly Column[]) {
    this.form = form
    this.#leading = leadingOf(form)
    this.#columns = columns
    this.#between = !form.isScalar || columns[0]?.isArray === true ? betweenLines : betweenValues
    this.#fixed = 16 + columns.reduce((sum, { key }) => sum + key.length + mostAdded, 0)
  }

  /** @returns undefined when the server cannot encode one of the columns */
  static of(form: RowsForm, described: readonly ColumnDescription[], types: TextTypes): RowEncoder | undefined {
    const columns: Column[] = []
    for (const [index, { name, type }] of described.slice(leadingOf(form)).entries()) {
      const known = columnType(type, types)
      if (known === undefined) return undefined
      columns.push({ ...known, key: keyOf(name, index) })
    }
    return form.isScalar && columns.length !== 1 ? undefined : new RowEncoder(form, columns)
  }

  begin(): EncodedRows {
    return new RowsInProgress(this)
  }

  /** Writes what stands before a row, given the number of rows before it. */
  writeStart(at: number, rows: number): number {
    if (rows === 0) {
      scratch[at] = bracket
      return at + 1
    }
    const separator = this.#between
    let next = at
    for (const byte of separator) scratch[next++] = byte
    return next
  }

  /**
   * Writes the fields of a row after the leading ones.
   *
   * @param source the fields, from `start` on: each a length of four bytes, which is negative for NULL, and its bytes
   * @returns where it ends, or a negative number when a value is not in the format that it should have
   */
  writeRow(at: number, source: Buffer, start: number, end: number): number {
    const target = reserve(at, this.#fixed + mostGrowth * (end - start))
    const { isScalar } = this.form
    const columns = this.#columns
    let next = at
    let from = start
    for (const { form: kind, isArray, key } of columns) {
      if (!isScalar) {
        const { length } = key
        for (let index = 0; index < length; index++) target[next++] = key[index] ?? 0
      }
      const length = lengthAt(source, from)
      from += 4
      if (length < 0) {
        next = writeNull(target, next)
        continue
      }
      const to = from + length
      next = isArray
        ? writeArray(kind, target, next, source, from, to)
        : writeValue(kind, target, next, source, from, to)
      if (next < 0) return next
      from = to
    }
    if (isScalar) return next
    if (columns.length === 0) target[next++] = brace
    target[next++] = closingBrace
    return next
  }

  /** Where the fields of rows begin. */
  get leading(): number {
    return this.#leading
  }
}

const leadingOf = ({ tableTotal, hasVersion }: RowsForm): number =>
  (tableTotal === 'column' ? 2 : 0) + (hasVersion ? 1 : 0)

/** The length of a field, as in a DataRow message. */
const lengthAt = (source: Buffer, at: number): number =>
  ((source[at] ?? 0) << 24) | ((source[at + 1] ?? 0) << 16) | ((source[at + 2] ?? 0) << 8) | (source[at + 3] ?? 0)

/** JSON text without white space around it, as an element of an array has it. */
function trimmed(json: Buffer): Buffer {
  let [start, end] = [0, json.length]
  while (start < end && isWhiteSpace(json[start])) start++
  while (end > start && isWhiteSpace(json[end - 1])) end--
  return json.subarray(start, end)
}

const isWhiteSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** The rows of one run of a statement. */
class RowsInProgress implements EncodedRows {
  readonly #encoder: RowEncoder
  /** What was copied from the scratch. */
  #copied: Buffer | undefined
  #chunks: Buffer[] | undefined
  #copiedBytes = 0
  /** Bytes in the scratch. */
  #pending = 0
  #rows = 0
  #total: Buffer | null = null
  #version: Buffer | null = null

  constructor(encoder: RowEncoder) {
    this.#encoder = encoder
  }

  get bytes(): number {
    return this.#copiedBytes + this.#pending
  }

  add(source: Buffer, start: number, end: number): boolean {
    const encoder = this.#encoder
    // The number of columns has two bytes.
    let from = start + 2
    if (encoder.leading > 0) {
      from = this.#readLeading(source, from)
      if (from < 0) return true
    }
    const { body } = encoder.form
    const rows = this.#rows++
    if (body === 'first' && rows > 0) return true
    let next = this.#pending
    if (body === 'array') {
      reserve(next, 16)
      next = encoder.writeStart(next, rows)
    }
    next = encoder.writeRow(next, source, from, end)
    if (next < 0) return false
    this.#pending = next
    return true
  }

  /** @returns where the fields of the row begin; negative when there is no row */
  #readLeading(source: Buffer, start: number): number {
    const { tableTotal, hasVersion } = this.#encoder.form
    let from = start
    const read = (): Buffer | null => {
      const length = lengthAt(source, from)
      from += 4
      if (length < 0) return null
      from += length
      return Buffer.from(source.subarray(from - length, from))
    }
    if (tableTotal === 'column') {
      const counted = read()
      this.#total ??= counted
      if (read() === null) return -1
    }
    if (hasVersion) {
      const found = read()
      if (this.#rows === 0) this.#version = found
    }
    return from
  }

  flush(): void {
    if (this.#pending === 0) return
    const chunk = Buffer.from(scratch.subarray(0, this.#pending))
    if (scratch.length > largestScratch) scratch = Buffer.allocUnsafeSlow(largestScratch)
    this.#copiedBytes += this.#pending
    this.#pending = 0
    if (this.#copied === undefined) this.#copied = chunk
    else (this.#chunks ??= [this.#copied]).push(chunk)
  }

  end(): RawRow {
    const { body, isScalar, pageTotal, tableTotal, hasVersion } = this.#encoder.form
    const isArray = body === 'array'
    if (isArray && this.#rows > 0) {
      reserve(this.#pending, 1)
      scratch[this.#pending++] = closingBracket
    }
    this.flush()
    const written = this.#chunks ? Buffer.concat(this.#chunks) : this.#copied
    const text = written ?? (isArray ? emptyArray : noValue)
    const whole = !isArray && isScalar ? trimmed(text) : text
    const page = pageTotal === 'one' ? one : Buffer.from(String(this.#rows), 'latin1')
    const all = tableTotal === 'page' ? page : this.#total
    if (!hasVersion) return [all, page, null, null, null, noText, whole]
    return [all, page, null, null, null, noText, isNoVersion(this.#version) ? null : this.#version, whole]
  }
}

const one = Buffer.from('1')

/** Rows of foreign partitions have the system version 0. */
const isNoVersion = (version: Buffer | null): boolean => version?.length === 1 && version[0] === 0x30
