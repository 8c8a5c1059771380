// `Content-Range` and the status that goes with it. RFC 9110, sections 14.4 and 15.3.7.
import { addRows, type RowNumber } from '../request/integer.ts'
import type { RowRange } from '../request/range.ts'
import type { Header } from './header.ts'

/** `0-9/100`; `*` for rows when there are none, `*` for the total when it is not known. */
export function contentRange(lower: RowNumber, upper: RowNumber, total: number | null): Header {
  const rows = total !== 0 && lower <= upper ? `${lower}-${upper}` : '*'
  return ['Content-Range', `${rows}/${total ?? '*'}`]
}

/** Status and `Content-Range` of rows read: 206 for a part of a known total, 416 for an offset beyond it. */
export function rangeAnswer(
  { offset }: RowRange,
  queryTotal: number,
  total: number | null,
): { readonly status: number; readonly header: Header } {
  const header = contentRange(offset, addRows(offset, queryTotal - 1), total)
  if (total === null) return { status: 200, header }
  if (offset > total) return { status: 416, header }
  return { status: queryTotal < total ? 206 : 200, header }
}
