// Row ranges: `limit`/`offset` parameters, `Range` headers.
// https://docs.postgrest.org/en/stable/references/api/pagination_count.html; RFC 9110, section 14
import { errors } from '../errors.ts'
import { addRows, readInteger, rowNumber, type RowNumber } from './integer.ts'

/**
 * `limit` rows from `offset` on; null means all remaining rows. `limit` may be 0. The range of an embed may have
 * negative numbers, and any range may have numbers beyond Postgres's bigint: Postgres rejects both.
 */
export type RowRange = { readonly offset: RowNumber; readonly limit: RowNumber | null }

export const allRows: RowRange = { offset: 0, limit: null }

const noRows: RowRange = { offset: 0, limit: 0 }

const isEmpty = ({ limit }: RowRange): boolean => limit !== null && limit <= 0

/** Whether a range ends before the first row of all. This distinguishes `limit=0` from an unsatisfiable range. */
const hasLimitZero = ({ offset, limit }: RowRange): boolean => limit !== null && addRows(offset, limit) === 0

/** The number of the first row after a range. */
const endOf = ({ offset, limit }: RowRange): RowNumber => (limit === null ? Infinity : addRows(offset, limit))

/** The rows that are in both ranges. */
function intersection(a: RowRange, b: RowRange): RowRange {
  if (isEmpty(a) || isEmpty(b)) return noRows
  const offset = a.offset > b.offset ? a.offset : b.offset
  const [endOfA, endOfB] = [endOf(a), endOf(b)]
  const end = endOfA < endOfB ? endOfA : endOfB
  return { offset, limit: end === Infinity ? null : addRows(end, -offset) }
}

/**
 * Parses the ranges of all levels, by the names of their limits (`limit`, `clients.limit`).
 * @param limits values of the `…limit` parameters; a value that is not an integer is ignored
 * @param offsets values of the `…offset` parameters, by the names of the corresponding limits
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
    // Together with an offset, a limit that is not an integer counts as 0, as in PostgREST.
    ranges.set(name, { offset, limit: range ? (range.limit ?? 0) : null })
  }
  return ranges
}

const rangeHeader = /^([0-9]+)-([0-9]*)$/

/** Parses a `Range` header such as `0-9` or `10-`. Any other form means all rows. The range may be empty: `5-2`. */
function parseRangeHeader(text: string): RowRange {
  const [, first, last] = rangeHeader.exec(text) ?? []
  if (first === undefined) return allRows
  const offset = BigInt(first)
  return { offset: rowNumber(offset), limit: last ? rowNumber(BigInt(last) - offset + 1n) : null }
}

/**
 * The range of the top level: the intersection of its parameters with the `Range` header of a GET request.
 * @throws PGRST103 when it is empty, except for `limit=0`; PGRST114 for a PUT with a range
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
