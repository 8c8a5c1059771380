// Row ranges: `limit`/`offset` parameters, `Range` headers.
// https://docs.postgrest.org/en/v14/references/api/pagination_count.html; RFC 9110, section 14
import { errors } from '../errors.ts'
import { addRows, readInteger, rowNumber, type RowNumber } from './integer.ts'

/**
 * Rows from `offset` on; `limit` rows, or all that are left when it is null. `limit` 0 is allowed. The range of an embed
 * may have a negative number, and any range one that is beyond bigint: Postgres rejects both.
 */
export type RowRange = { readonly offset: RowNumber; readonly limit: RowNumber | null }

export const allRows: RowRange = { offset: 0, limit: null }

const noRows: RowRange = { offset: 0, limit: 0 }

const isEmpty = ({ limit }: RowRange): boolean => limit !== null && limit <= 0

/** Whether a range ends before the first row of all, which is how `limit=0` is told from an impossible range. */
const hasLimitZero = ({ offset, limit }: RowRange): boolean => limit !== null && addRows(offset, limit) === 0

/** The number of the first row behind a range. */
const endOf = ({ offset, limit }: RowRange): RowNumber => (limit === null ? Infinity : addRows(offset, limit))

/** The rows that are in both. */
function intersection(a: RowRange, b: RowRange): RowRange {
  if (isEmpty(a) || isEmpty(b)) return noRows
  const offset = a.offset > b.offset ? a.offset : b.offset
  const [endOfA, endOfB] = [endOf(a), endOf(b)]
  const end = endOfA < endOfB ? endOfA : endOfB
  return { offset, limit: end === Infinity ? null : addRows(end, -offset) }
}

/**
 * The ranges of all levels, each under the name of its limit (`limit`, `clients.limit`).
 * @param limits texts of the `…limit` parameters; what is no integer is ignored
 * @param offsets texts of the `…offset` parameters under the names of the limits that go with them
 */
export function parseRanges(
  limits: ReadonlyMap<string, string>,
  offsets: ReadonlyMap<string, string>,
): ReadonlyMap<string, RowRange> {
  const ranges = new Map<string, RowRange>()
  for (const [name, text] of limits) {
    const limit = readInteger(text)
    ranges.set(name, limit === undefined ? allRows : { offset: 0, limit: rowNumber(limit) })
  }
  for (const [name, text] of offsets) {
    const offset = rowNumber(readInteger(text) ?? 0n)
    const range = ranges.get(name)
    // Beside an offset, a limit that is no integer counts as 0.
    ranges.set(name, { offset, limit: range ? (range.limit ?? 0) : null })
  }
  return ranges
}

const rangeHeader = /^([0-9]+)-([0-9]*)$/

/** The `Range` header, `0-9` or `10-`; any other form asks for nothing in particular. It may be empty: `5-2`. */
function parseRangeHeader(text: string): RowRange {
  const [, first, last] = rangeHeader.exec(text) ?? []
  if (first === undefined) return allRows
  const offset = BigInt(first)
  return { offset: rowNumber(offset), limit: last ? rowNumber(BigInt(last) - offset + 1n) : null }
}

/**
 * The range of the top level: its parameters and the `Range` header, which counts for GET only.
 * @throws PGRST103 when it holds no rows, unless that is what `limit=0` asks for; PGRST114 for a PUT that has one
 */
export function topLevelRange(
  method: string,
  ranges: ReadonlyMap<string, RowRange>,
  header: string | undefined,
): RowRange {
  const fromHeader = method === 'GET' && header !== undefined ? parseRangeHeader(header) : allRows
  const fromQuery = ranges.get('limit') ?? allRows
  if (fromHeader === allRows && fromQuery === allRows) return allRows
  const range = hasLimitZero(fromQuery) ? noRows : intersection(fromHeader, fromQuery)
  if (isEmpty(range) && !hasLimitZero(fromQuery))
    throw errors.rangeNotSatisfiable(isEmpty(fromHeader) ? 'lower above upper' : 'negative limit')
  if (method === 'PUT' && (range.offset !== 0 || range.limit !== null)) throw errors.putLimit()
  return range
}
