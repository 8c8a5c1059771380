// The one row of a main statement, from bytes to values.
import type { Row } from '../../database/pipeline.ts'
import type { ResultRow } from './result.ts'

const text = (field: Buffer | null | undefined): string | null => field?.toString() ?? null

/** A count; null when it was not asked for (NULL or an empty text). */
function count(field: Buffer | null | undefined): number | null {
  return field && field.length > 0 ? Number(field.toString()) : null
}

const empty: ResultRow = {
  tableTotal: null,
  queryTotal: 0,
  location: [],
  body: '',
  headersSetting: null,
  statusSetting: null,
  inserted: null,
}

/**
 * Reads the row that `mainStatement` yields: total_result_set, page_total, header (JSON object of the created row's
 * key, or empty), response_headers, response_status, response_inserted, body.
 *
 * @param rows at most one; without a row (a media type handler may return none) the result is empty
 */
export function readResult(rows: readonly Row[]): ResultRow {
  const [row] = rows
  if (!row) return empty
  const location = text(row[2])
  return {
    tableTotal: count(row[0]),
    queryTotal: count(row[1]) ?? 0,
    location: location ? (JSON.parse(location) as [string, string][]) : [],
    headersSetting: text(row[3]),
    statusSetting: text(row[4]),
    inserted: count(row[5]),
    body: row[6] ?? '',
  }
}
