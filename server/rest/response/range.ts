// `Content-Range` and the status that goes with it. RFC 9110, sections 14.4 and 15.3.7.
import { addRows, type RowNumber } from '../request/integer.ts'
import type { RowRange } from '../request/range.ts'

/** The value of the header: `0-9/100`, with `*` in place of the rows if there are none, and of an unknown total. */
export function contentRange(lower: RowNumber, upper: RowNumber, total: number | null): string {
  const rows = total !== 0 && lower <= upper ? `${lower}-${upper}` : '*'
  return `${rows}/${total ?? '*'}`
}

/** Status and `Content-Range` of a read: 206 for part of a known total, 416 for an offset beyond it. */
export function rangeResult(
  { offset }: RowRange,
  queryTotal: number,
  total: number | null,
): { readonly status: number; readonly range: string } {
  const range = contentRange(offset, addRows(offset, queryTotal - 1), total)
  if (total === null) return { status: 200, range }
  if (offset > total) return { status: 416, range }
  return { status: queryTotal < total ? 206 : 200, range }
}

/** Status and `Content-Range` of a keyset page that begins at a cursor: the number of rows before it is unknown. */
export function cursorRange(
  queryTotal: number,
  total: number | null,
): { readonly status: number; readonly range: string } {
  return { status: total !== null && queryTotal < total ? 206 : 200, range: `*/${total ?? '*'}` }
}
