// CSV bodies. RFC 4180; https://docs.postgrest.org/en/stable/references/api/tables_views.html#bulk-insert
import { errors, withLine, type ApiError } from '../errors.ts'
import type { Payload } from './api-request.ts'
import { showText } from '../../text/haskell.ts'
import { sortedTexts } from '../../text/code-point-order.ts'
import { jsonOfField, noJsonColumn, type IsJsonColumn } from './csv-json.ts'
import { CsvRecords, CsvSyntaxError } from './csv-records.ts'

/** Maximum number of columns; PostgreSQL's tables have at most 1600. */
const mostColumns = 5000

/** Maximum length of the JSON of a small body. */
const mostSmallJson = 4 * 1024 * 1024

/** Bytes up to which a body is read at once: its lines may be empty, and each becomes a row with all columns. */
export const smallCsv = 8 * 1024

const csvType = /^\s*text\/csv\s*(?:;|$)/i

export const isCsv = (contentType: string | undefined): boolean =>
  contentType !== undefined && csvType.test(contentType)

/** Characters that are read at a time: fewer if each line becomes long JSON. */
const [smallestPiece, largestPiece] = [64, 4 * 1024]
/** Length of the JSON that a piece of empty lines may become. */
const jsonOfPiece = 1024 * 1024

export const parseError = (what: string, rest: string): ApiError =>
  errors.invalidBody(
    `parse error (${what}) at ${rest.length > 100 ? `${rest.slice(0, 100)} (truncated)` : showText(rest)}`,
  )

export const isBlank = (record: readonly string[]): boolean => record.length === 1 && record[0] === ''

/**
 * Rejects an unclosed quote. PostgREST accepts it, and drops the last character of the field.
 *
 * @param last the last two bytes of the body
 */
export function unclosedQuote(last: string, inHeader: boolean): ApiError {
  if (/^(?:|[,\r\n])"$/.test(last)) return parseError('Failed reading: trailing double quote', '')
  if (inHeader && !last.endsWith('"')) return parseError('not enough input', '')
  return parseError('Failed reading: insufficient input', '')
}

export type CsvColumn = { readonly key: string; readonly at: number; readonly isJson: boolean }

/** The first `width` columns, each with its name as JSON. The last of columns with the same name wins. */
export const columnsOf = (header: readonly string[], width: number, isJson: IsJsonColumn): CsvColumn[] =>
  [...new Map(header.slice(0, width).map((name, at) => [name, at]))].map(([name, at]) => ({
    key: JSON.stringify(name),
    at,
    isJson: isJson(name),
  }))

/** Converts a line to a JSON object whose values are strings, null for a field `NULL`, or the JSON of a field. */
export const csvObject = (columns: readonly CsvColumn[], line: readonly string[]): string =>
  `{${columns.map(({ key, at, isJson }) => `${key}:${fieldValue(line[at] ?? '', isJson)}`).join(',')}}`

function fieldValue(field: string, isJson: boolean): string {
  if (field === 'NULL') return 'null'
  return (isJson ? jsonOfField(field) : undefined) ?? JSON.stringify(field)
}

/** The error of a line with more fields than the header. PostgREST ignores them. */
export function tooManyFields(header: readonly string[], line: number): ApiError {
  const { length } = header
  const details = `The header has ${length === 1 ? 'one field' : `${length} fields`}.`
  return withLine(errors.invalidBody(`Line ${line} has more fields than the header`, details), line)
}

export const unequalFields = (): ApiError => errors.invalidBody('All lines must have same number of fields')

/** Maximum number of fields of a record that are read: one more than the header has shows that there are too many. */
export const fieldsOf = (header: readonly string[] | undefined): number => (header ? header.length : mostColumns) + 1

/** @throws PGRST102 */
export function checkHeader(header: readonly string[]): void {
  if (header.length > mostColumns) throw errors.invalidBody(`The CSV has more than ${mostColumns} columns`)
}

/** The JSON array that the lines of a body become. */
class CsvArray {
  readonly #limit: number
  readonly #isJson: IsJsonColumn
  readonly #parts: string[] = []
  #rows: string[] = []
  #length = 0
  #width = -1
  #count = -1
  #columns: readonly CsvColumn[] = []
  #isUnequal = false
  /** Number of the last line of the previous record. */
  #line = 0
  header: readonly string[] | undefined
  /** Length of the names of the columns, at least 1. */
  namesLength = 1
  hasLines = false

  constructor(limit: number, isJson: IsJsonColumn) {
    this.#limit = limit
    this.#isJson = isJson
  }

  /** @param lines number of lines that the record takes */
  add(record: readonly string[], lines: number): void {
    const line = this.#line + 1
    this.#line += lines
    if (!this.header) {
      checkHeader(record)
      this.header = record
      this.namesLength = record.reduce((sum, name) => sum + name.length, 1)
      return
    }
    this.hasLines = true
    if (isBlank(record) || this.#isUnequal) return
    if (record.length > this.header.length) throw tooManyFields(this.header, line)
    if (record.length !== this.#width) this.#resize(this.header, record.length)
    if (this.#isUnequal) return
    const row = csvObject(this.#columns, record)
    this.#length += row.length + 1
    // The names of the columns are repeated in each row.
    if (this.#length > this.#limit) throw errors.bodyTooCostly(this.#limit)
    this.#rows.push(row)
  }

  /** Joins the rows so far, so that they do not remain as separate texts. @returns the length of the array so far */
  join(): number {
    if (this.#rows.length > 0) this.#parts.push(this.#rows.join(','))
    this.#rows = []
    return this.#length
  }

  payload(): Payload {
    if (this.#isUnequal) throw unequalFields()
    this.join()
    const keys = sortedTexts((this.header ?? []).slice(0, Math.max(this.#width, 0)))
    return { kind: 'json', text: `[${this.#parts.join(',')}]`, keys }
  }

  #resize(header: readonly string[], width: number): void {
    this.#width = width
    this.#columns = columnsOf(header, width, this.#isJson)
    if (this.#count === -1) this.#count = this.#columns.length
    // Invalid CSV after this line takes precedence, as in PostgREST.
    else if (this.#columns.length !== this.#count) this.#isUnequal = true
  }
}

/**
 * Converts CSV to a JSON array of objects whose values are strings, or null for a field `NULL`. A field of a column of type
 * json that contains JSON becomes that JSON. Skips blank lines. Works in parts of some milliseconds.
 *
 * @param body valid UTF-8
 * @param limit maximum length of the JSON
 * @param isJson the columns whose fields may be JSON
 * @yields its length so far
 * @throws PGRST102 for invalid CSV, an incomplete header line, or lines with more fields than the header or with
 *   different numbers of fields; 413 above the limit
 */
export function* csvParts(body: Buffer, limit: number, isJson: IsJsonColumn): Generator<number, Payload> {
  const text = body.toString('utf8')
  const array = new CsvArray(limit, isJson)
  const records = new CsvRecords(
    (record, lines) => array.add(record, lines),
    () => fieldsOf(array.header),
  )
  let size = largestPiece
  // The size of the pieces after the header depends on it.
  const headerEnd = text.search(/[\r\n]/) + 1
  for (let at = 0; at < text.length;) {
    const next = at < headerEnd ? Math.min(at + size, headerEnd) : at + size
    const piece = text.slice(at, next)
    try {
      records.push(piece)
    } catch (error) {
      throw error instanceof CsvSyntaxError ? syntaxError(body, text, at + error.at) : error
    }
    yield array.join()
    size = Math.max(smallestPiece, Math.min(largestPiece, Math.floor(jsonOfPiece / array.namesLength)))
    at = next
  }
  try {
    records.end()
  } catch (error) {
    if (!(error instanceof CsvSyntaxError)) throw error
    throw unclosedQuote(body.subarray(-2).toString('latin1'), !array.header)
  }
  const last = body.at(-1)
  if (!array.header || (!array.hasLines && last !== 0x0a && last !== 0x0d)) throw parseError('not enough input', '')
  return array.payload()
}

function syntaxError(body: Buffer, text: string, at: number): ApiError {
  const start = Buffer.byteLength(text.slice(0, at))
  return parseError('Failed reading: satisfy', body.toString('latin1', start, start + 101))
}

/** As `csvParts`, at once: for small bodies. */
export function csvPayload(body: Buffer, isJson: IsJsonColumn = noJsonColumn): Payload {
  const parts = csvParts(body, mostSmallJson, isJson)
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
  }
}
