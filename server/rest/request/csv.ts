// CSV bodies. RFC 4180; https://docs.postgrest.org/en/v14/references/api/tables_views.html#bulk-insert
import { CsvError, parse } from 'csv-parse/sync'
import { errors, type ApiError } from '../errors.ts'
import type { Payload } from './api-request.ts'
import { showText } from '../../text/haskell-show.ts'
import { sortedTexts } from '../../text/code-point-order.ts'

/** Options of csv-parse: the line ends that PostgREST accepts, and lines with fewer or more fields than the header. */
export const csvOptions = { record_delimiter: ['\r\n', '\n', '\r'], relax_column_count: true }

/** A field with its separator or line break. */
const fieldAndEnd = /(?:"[^"]*(?:""[^"]*)*"|[^",\r\n]*)(,|\r\n|\n|\r|$)/y
const fieldAlone = /"[^"]*(?:""[^"]*)*"|[^",\r\n]*/y

/** The position of the first character that is not valid CSV. */
function errorPosition(text: string): number {
  let at = 0
  for (;;) {
    fieldAndEnd.lastIndex = at
    if (fieldAndEnd.exec(text)) at = fieldAndEnd.lastIndex
    else {
      fieldAlone.lastIndex = at
      fieldAlone.exec(text)
      return fieldAlone.lastIndex
    }
  }
}

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

function readRecords(body: Buffer): string[][] {
  try {
    return parse(body, csvOptions)
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    if (error.code === 'CSV_QUOTE_NOT_CLOSED')
      throw unclosedQuote(body.subarray(-2).toString('latin1'), error.records === 0)
    const bytes = body.toString('latin1')
    throw parseError('Failed reading: satisfy', bytes.slice(errorPosition(bytes)))
  }
}

export type CsvColumn = { readonly key: string; readonly at: number }

/** The first `width` columns, each with its name as JSON. The last of columns with the same name wins. */
export const columnsOf = (header: readonly string[], width: number): CsvColumn[] =>
  [...new Map(header.slice(0, width).map((name, at) => [name, at]))].map(([name, at]) => ({
    key: JSON.stringify(name),
    at,
  }))

/** Converts a line to a JSON object whose values are strings, or null for a field `NULL`. */
export const csvObject = (columns: readonly CsvColumn[], line: readonly string[]): string =>
  `{${columns.map(({ key, at }) => `${key}:${line[at] === 'NULL' ? 'null' : JSON.stringify(line[at])}`).join(',')}}`

export const unequalFields = (): ApiError => errors.invalidBody('All lines must have same number of fields')

/**
 * Converts CSV to a JSON array of objects whose values are strings, or null for a field `NULL`. Skips blank lines, and
 * ignores fields beyond those of the header.
 * @param body valid UTF-8
 * @throws PGRST102 for invalid CSV, an incomplete header line, or lines with different numbers of fields
 */
export function csvPayload(body: Buffer): Payload {
  const [header, ...lines] = readRecords(body)
  const last = body.at(-1)
  if (!header || (lines.length === 0 && last !== 0x0a && last !== 0x0d)) throw parseError('not enough input', '')
  let width = -1
  let count = -1
  let columns: CsvColumn[] = []
  const rows: string[] = []
  for (const line of lines) {
    if (isBlank(line)) continue
    if (line.length !== width) {
      width = line.length
      columns = columnsOf(header, width)
      if (count === -1) count = columns.length
      else if (columns.length !== count) throw unequalFields()
    }
    rows.push(csvObject(columns, line))
  }
  return { kind: 'json', text: `[${rows.join(',')}]`, keys: sortedTexts(header.slice(0, Math.max(width, 0))) }
}
