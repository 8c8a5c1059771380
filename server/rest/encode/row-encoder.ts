// Writes the rows of a statement as JSON, byte for byte as `json_agg` would.
import { parse as parseTextArray } from 'postgres-array'
import type { TextTypes } from '../../catalogue/schema-cache.ts'
import type { ColumnDescription, EncodedRows, RawRow } from '../row-transfer.ts'
import { isSpace } from '../../text/json-scanner.ts'
import { resultAlias } from '../sql/handler.ts'
import { hasHead, type RowsForm } from '../sql/rows.ts'
import { columnType, form, isCopied, text, type ColumnType } from './column-type.ts'
import { writeArray } from './array.ts'
import {
  isNumber,
  longCopy,
  mostAdded,
  mostGrowth,
  lengthOfText,
  quote,
  writeNull,
  writeText,
  writeValue,
} from './value.ts'

/** A column, and where its name ends among those of all columns. */
type Column = ColumnType & { readonly keyEnd: number }

const [brace, closingBrace, bracket, closingBracket] = [0x7b, 0x7d, 0x5b, 0x5d] as const
/** `json_agg` puts rows and arrays on lines of their own. */
const betweenLines = Buffer.from(', \n ')
const betweenValues = Buffer.from(', ')
const emptyArray = Buffer.from('[]')
const noValue = Buffer.from('null')
const noText = Buffer.alloc(0)
const aliasOfRows = Buffer.from(resultAlias)

/**
 * Where all encoders write: what is in it at the end of a chunk that has arrived is copied. A constant, because the compiler then
 * knows its address, which saves a fifth of the time. It has room for what a row of 2 MiB may become; only what is used of it takes memory.
 */
export const scratch = Buffer.allocUnsafeSlow(16 * 1024 * 1024)
/** Bytes before a row or after the last. */
const separation = 16

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
  /** Number of columns before those of the rows. */
  readonly leading: number
  readonly #columns: readonly Column[]
  readonly #between: Buffer
  /** `{"id":,"name":`; empty for values without names. */
  readonly #keys: Buffer
  /** Bytes of a row besides its values. */
  readonly #fixed: number

  private constructor(form: RowsForm, columns: readonly Column[], keys: Buffer) {
    this.form = form
    this.leading = leadingOf(form)
    this.#columns = columns
    this.#between = !form.isScalar || columns[0]?.isArray === true ? betweenLines : betweenValues
    this.#keys = keys
    this.#fixed = 2 * separation + keys.length + columns.length * mostAdded
  }

  /** @returns undefined when the server cannot encode one of the columns; never for an only form */
  static of(rows: RowsForm, described: readonly ColumnDescription[], types: TextTypes): RowEncoder | undefined {
    const columns: Column[] = []
    const keys: Buffer[] = []
    let keyEnd = 0
    for (const [index, { name, type }] of described.slice(leadingOf(rows)).entries()) {
      // Until the schema cache is reloaded, the values of an only form may be of a type that it does not know.
      const known = columnType(type, types) ?? (rows.isOnlyForm === true ? text : undefined)
      // `json_agg(_postgrest_t)` aggregates such a column in place of the rows.
      if (known === undefined || (name.equals(aliasOfRows) && rows.isOnlyForm !== true)) return undefined
      const key = rows.isScalar ? noText : keyOf(name, index)
      keys.push(key)
      keyEnd += key.length
      columns.push({ ...known, keyEnd })
    }
    return rows.isScalar && columns.length !== 1 ? undefined : new RowEncoder(rows, columns, Buffer.concat(keys))
  }

  begin(): EncodedRows {
    return new RowsInProgress(this)
  }

  /**
   * Writes what stands before a row.
   *
   * @param rows number of rows before it
   * @param source its fields, from `start` on
   */
  writeStart(at: number, rows: number, source: Buffer, start: number): number {
    if (rows === 0) {
      scratch[at] = bracket
      return at + 1
    }
    // Only arrays and objects are on lines of their own, not NULL.
    const separator = this.form.isScalar && lengthAt(source, start) < 0 ? betweenValues : this.#between
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
  writeRow(at: number, source: Buffer, start: number): number {
    const target = scratch
    const { isScalar } = this.form
    const columns = this.#columns
    const keys = this.#keys
    let next = at
    let from = start
    let keyAt = 0
    // The loops over bytes stand here, because calls in their place take longer than what they do.
    for (const { form: kind, isArray, keyEnd } of columns) {
      for (; keyAt < keyEnd; keyAt++) target[next++] = keys[keyAt] ?? 0
      const length = lengthAt(source, from)
      from += 4
      if (length < 0) {
        next = writeNull(target, next)
        continue
      }
      const to = from + length
      const begin = next
      if (isArray) next = writeArray(kind, target, next, source, from, to)
      else if (kind === form.text) next = writeText(target, next, source, from, to)
      else if (length <= longCopy && isCopied(kind)) {
        const isQuoted = kind === form.plain || (kind === form.number && !isNumber(source, from))
        if (isQuoted) target[next++] = quote
        for (let index = from; index < to; index++) target[next++] = source[index] ?? 0
        if (isQuoted) target[next++] = quote
      } else next = writeValue(kind, target, next, source, from, to)
      if (next < 0) {
        if (this.form.isOnlyForm !== true) return next
        next = writeText(target, begin, source, from, to)
      }
      from = to
    }
    if (isScalar) return next
    if (columns.length === 0) target[next++] = brace
    target[next++] = closingBrace
    return next
  }

  /** Whether a column has JSON as it was stored, in which there may be line feeds. */
  get hasJson(): boolean {
    return this.#columns.some(({ form: kind }) => kind === form.json)
  }

  /** Whether a column has dates or times, whose format the setting `DateStyle` decides. */
  get needsIsoDates(): boolean {
    return this.#columns.some(({ form: kind }) => kind >= form.date)
  }

  /** A row of any length, in memory of its own; undefined when a value is not in the format that it should have. */
  longRow(source: Buffer, start: number): Buffer | undefined {
    const target = Buffer.allocUnsafeSlow(this.#fixed + this.#mostOfValues(source, start))
    const keys = this.#keys
    let next = 0
    let from = start
    let keyAt = 0
    for (const { form: kind, isArray, keyEnd } of this.#columns) {
      next += keys.copy(target, next, keyAt, keyEnd)
      keyAt = keyEnd
      const length = lengthAt(source, from)
      from += 4
      const to = from + Math.max(length, 0)
      const begin = next
      if (length < 0) next = writeNull(target, next)
      else next = (isArray ? writeArray : writeValue)(kind, target, next, source, from, to)
      if (next < 0) {
        if (this.form.isOnlyForm !== true) return undefined
        next = writeText(target, begin, source, from, to)
      }
      from = to
    }
    if (!this.form.isScalar) target[next++] = closingBrace
    return target.subarray(0, next)
  }

  /** Bytes that the values of a row take at most besides quotes: those of strings are counted, because the row is long. */
  #mostOfValues(source: Buffer, start: number): number {
    let most = 0
    let from = start
    for (const { form: kind, isArray } of this.#columns) {
      const length = Math.max(lengthAt(source, from), 0)
      from += 4
      most += isArray ? mostGrowth * length : kind === form.text ? lengthOfText(source, from, from + length) : length
      from += length
    }
    return most
  }

  /** Bytes that a row of so many bytes takes at most. */
  mostBytes(length: number): number {
    return this.#fixed + mostGrowth * length
  }
}

const leadingOf = (form: RowsForm): number => {
  const { tableTotal, hasEdges, hasVersion, hasEnd = false } = form
  return hasEnd ? 1 : [tableTotal === 'column', hasEdges === true, hasHead(form), hasVersion].filter(Boolean).length
}

/** The length of a field, as in a DataRow message. */
const lengthAt = (source: Buffer, at: number): number =>
  ((source[at] ?? 0) << 24) | ((source[at + 1] ?? 0) << 16) | ((source[at + 2] ?? 0) << 8) | (source[at + 3] ?? 0)

const endOfField = (source: Buffer, at: number): number => at + 4 + Math.max(lengthAt(source, at), 0)

/** A copy of a field; null for NULL. */
const fieldAt = (source: Buffer, at: number): Buffer | null =>
  lengthAt(source, at) < 0 ? null : Buffer.from(source.subarray(at + 4, endOfField(source, at)))

/** Removes white space around a value, which JSON text may have: an element of an array has none. @returns the new end */
function trim(begin: number, end: number): number {
  let [start, stop] = [begin, end]
  while (start < stop && isSpace(scratch[start])) start++
  while (stop > start && isSpace(scratch[stop - 1])) stop--
  if (start > begin) scratch.copyWithin(begin, start, stop)
  return begin + stop - start
}

/** The rows of one run of a statement. */
class RowsInProgress implements EncodedRows {
  readonly #encoder: RowEncoder
  /** Bytes that were taken. */
  #taken = 0
  /** Bytes in the scratch. */
  #pending = 0
  #rows = 0
  #total: Buffer | null = null
  #edges: Buffer | null = null
  #version: Buffer | null = null
  /** See `RowsForm.hasEnd`. */
  #end: Buffer | null = null

  constructor(encoder: RowEncoder) {
    this.#encoder = encoder
  }

  get bytes(): number {
    return this.#taken + this.#pending
  }

  add(source: Buffer, start: number, end: number): boolean {
    const encoder = this.#encoder
    // The number of columns has two bytes.
    let from = start + 2
    if (encoder.leading > 0) {
      from = this.#readLeading(source, from)
      if (from < 0) return true
    }
    const { body, cutAt } = encoder.form
    const rows = this.#rows++
    if (body === 'none' || (body === 'first' && rows > 0) || rows === cutAt) return true
    if (this.#pending + encoder.mostBytes(end - from) > scratch.length) {
      this.#rows = rows
      return false
    }
    const begin = body === 'array' ? encoder.writeStart(this.#pending, rows, source, from) : this.#pending
    const next = encoder.writeRow(begin, source, from)
    if (next < 0) return false
    this.#pending = body === 'first' && encoder.form.isScalar ? trim(begin, next) : next
    return true
  }

  addLong(source: Buffer, start: number): Buffer {
    const encoder = this.#encoder
    const from = this.#readLeading(source, start + 2)
    const begin = encoder.form.body === 'array' ? encoder.writeStart(0, this.#rows, source, from) : 0
    const before = Buffer.from(scratch.subarray(0, begin))
    this.#rows++
    const row = Buffer.concat([before, encoder.longRow(source, from) ?? noValue])
    this.#taken += row.length
    return row
  }

  /** @returns where the fields of the row begin; negative when there is no row */
  #readLeading(source: Buffer, start: number): number {
    const { form } = this.#encoder
    const { tableTotal, hasEdges, hasVersion, hasEnd } = form
    let from = start
    if (hasEnd === true) {
      if (lengthAt(source, from) < 0) return endOfField(source, from)
      this.#end = fieldAt(source, from)
      return -1
    }
    if (tableTotal === 'column') {
      this.#total ??= fieldAt(source, from)
      from = endOfField(source, from)
    }
    if (hasEdges === true) {
      this.#edges ??= fieldAt(source, from)
      from = endOfField(source, from)
    }
    if (hasHead(form)) {
      if (lengthAt(source, from) < 0) return -1
      from = endOfField(source, from)
    }
    if (!hasVersion) return from
    if (this.#rows === 0) this.#version = fieldAt(source, from)
    return endOfField(source, from)
  }

  take(): Buffer {
    const bytes = scratch.subarray(0, this.#pending)
    this.#taken += this.#pending
    this.#pending = 0
    return bytes
  }

  end(): RawRow {
    const { body, pageTotal, tableTotal, hasVersion, cutAt = Infinity } = this.#encoder.form
    if (body === 'array' && this.#rows > 0) scratch[this.#pending++] = closingBracket
    else if (body !== 'none' && this.#rows === 0)
      this.#pending = (body === 'array' ? emptyArray : noValue).copy(scratch)
    const page = pageTotal === 'one' ? one : Buffer.from(String(Math.min(this.#rows, cutAt)), 'latin1')
    if (this.#end) return endedRow(page, this.#end)
    const location = this.#edges ?? (this.#rows > cutAt ? more : noLocation)
    const all = tableTotal === 'page' ? page : this.#total
    if (!hasVersion) return [all, page, location, null, null, noText]
    return [all, page, location, null, null, noText, isNoVersion(this.#version) ? null : this.#version]
  }
}

/** The fields of a result before its body, with the texts of its last row. */
function endedRow(page: Buffer, end: Buffer): RawRow {
  const [total, ...texts] = parseTextArray(end.toString(), (text) => Buffer.from(text)) as readonly (Buffer | null)[]
  return [total ?? null, page, noLocation, ...texts]
}

const one = Buffer.from('1')
/** What `cutSql` returns: see `response/truncated.ts`. */
const more = Buffer.from('{more=true}')
/** An empty array of PostgreSQL. */
const noLocation = Buffer.from('{}')

/** Rows of foreign partitions have the system version 0. */
const isNoVersion = (version: Buffer | null): boolean => version?.length === 1 && version[0] === 0x30
