// Decodes the row that a main statement returns (see `mainStatement`).
import { parse as parseTextArray } from 'postgres-array'
import type { RawRow, StreamedBody } from '../row-transfer.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { ResultRow } from './result.ts'

const text = (field: Buffer | null | undefined): string | null => field?.toString() ?? null

// Empty text means that the statement does not count.
const total = (field: Buffer | null | undefined): number | null =>
  field && field.length > 0 ? Number(field.toString()) : null

/** `id=eq.1` to `['id', 'eq.1']`. */
function pair(binding: string): readonly [string, string] {
  const end = binding.indexOf('=')
  return [binding.slice(0, end), binding.slice(end + 1)]
}

/**
 * Formats of the columns of a main statement. The body, the last column, is in binary format: for text and JSON that is
 * the text, and for bytea (of media type handlers) the bytes, so its type does not matter.
 */
export const resultFormats: readonly (0 | 1)[] = [0, 0, 0, 0, 0, 0, 1]
const versionedFormats: readonly (0 | 1)[] = [0, 0, 0, 0, 0, 0, 0, 1]

/** Whether the main statement of a plan returns the version of a row, before the body. */
export const returnsVersion = (plan: CrudPlan): boolean => plan.kind !== 'call' && plan.version !== undefined

/** The formats of the main statement of a plan. */
export const resultFormatsOf = (plan: CrudPlan): readonly (0 | 1)[] =>
  returnsVersion(plan) ? versionedFormats : resultFormats

/**
 * Decodes the result of a main statement.
 *
 * @param rows at most one; empty when a media type handler that is not an aggregate was not called
 * @param arriving the body, if it is streamed and therefore not in the row
 * @param hasVersion see `returnsVersion`
 */
export function readResult(
  kind: CrudPlan['kind'],
  [row]: readonly RawRow[],
  arriving?: StreamedBody,
  hasVersion = false,
): ResultRow {
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
      version: undefined,
    }
  }
  const [tableTotal, pageTotal, header, headers, status, inserted] = row
  const queryTotal = total(pageTotal) ?? 0
  return {
    tableTotal: total(tableTotal),
    queryTotal,
    location: header && header.length > 2 ? parseTextArray(header.toString()).map(pair) : [],
    headersSetting: text(headers),
    statusSetting: text(status),
    inserted: inserted?.length === 0 ? 0 : total(inserted),
    version: hasVersion && queryTotal === 1 ? text(row[6]) : undefined,
    body: arriving ?? row[hasVersion ? 7 : 6] ?? '',
  }
}

/** A result with the headers and the status that `settingsStatement` has returned after it. */
export const withSettings = (result: ResultRow, [settings]: readonly RawRow[] = []): ResultRow => ({
  ...result,
  headersSetting: text(settings?.[0]),
  statusSetting: text(settings?.[1]),
})

/** The body of an explained request: the lines of EXPLAIN. */
export const explainBody = (rows: readonly RawRow[]): string => rows.map(([line]) => `${text(line) ?? ''}\n`).join('')
