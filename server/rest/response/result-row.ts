// The row of a main statement (see `mainStatement`), as Postgres sends it, to a ResultRow.
import { parse as parseTextArray } from 'postgres-array'
import type { RawRow, StreamedBody } from '../database.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { ResultRow } from './result.ts'

const text = (field: Buffer | null | undefined): string | null => field?.toString() ?? null

// An empty text stands for "not counted here" in a column that holds a number elsewhere.
const total = (field: Buffer | null | undefined): number | null =>
  field && field.length > 0 ? Number(field.toString()) : null

/** `id=eq.1` to `['id', 'eq.1']`. */
function pair(binding: string): readonly [string, string] {
  const end = binding.indexOf('=')
  return [binding.slice(0, end), binding.slice(end + 1)]
}

/**
 * Formats of the columns of a main statement: the body, which is the last, in binary form. For text and JSON that is the
 * text, and for bytea (media type handlers) the bytes, so its type need not be known.
 */
export const resultFormats: readonly (0 | 1)[] = [0, 0, 0, 0, 0, 0, 1]

/**
 * Decodes what a main statement returned.
 *
 * @param arriving the body, when it is not in the row because it still arrives
 * @param rows at most one; none when a media type handler that is no aggregate had nothing to handle
 */
export function readResult(kind: CrudPlan['kind'], [row]: readonly RawRow[], arriving?: StreamedBody): ResultRow {
  if (row === undefined) {
    const tableTotal = kind === 'call' ? 0 : null
    return {
      tableTotal,
      queryTotal: 0,
      location: [],
      body: '',
      headersSetting: null,
      statusSetting: null,
      inserted: null,
    }
  }
  const [tableTotal, pageTotal, header, headers, status, inserted, body] = row
  return {
    tableTotal: total(tableTotal),
    queryTotal: total(pageTotal) ?? 0,
    location: header && header.length > 2 ? parseTextArray(header.toString()).map(pair) : [],
    headersSetting: text(headers),
    statusSetting: text(status),
    inserted: inserted?.length === 0 ? 0 : total(inserted),
    body: arriving ?? body ?? '',
  }
}

/** The body of an explained request: the lines that EXPLAIN returned. */
export const explainBody = (rows: readonly RawRow[]): string => rows.map(([line]) => `${text(line) ?? ''}\n`).join('')
