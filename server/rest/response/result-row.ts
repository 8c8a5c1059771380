// The columns of a main statement's row (see `mainStatement`), as Postgres sends them in text format, to a ResultRow.
import pg from 'pg'
import type { CrudPlan } from '../plan/plan.ts'
import type { ResultRow } from './result.ts'

/** Object identifiers of types, the same in every database. */
const types = { bytea: 17, textArray: 1009 }

// An empty text stands for "not counted here" in a column that holds a number elsewhere.
const total = (text: string | null): number | null => (text === null || text === '' ? null : Number(text))

const parseTextArray = pg.types.getTypeParser(types.textArray, 'text') as (text: string) => string[]

/** `id=eq.1` to `['id', 'eq.1']`. */
function pair(text: string): readonly [string, string] {
  const end = text.indexOf('=')
  return [text.slice(0, end), text.slice(end + 1)]
}

function body(text: string | null | undefined, type: number): string | Buffer {
  if (text === null || text === undefined) return ''
  return type === types.bytea ? Buffer.from(text.slice(2), 'hex') : text
}

/**
 * Decodes the row of a main statement. `columns` are its values in text format, in order; undefined when there was no
 * row (a media type handler that is no aggregate yields none for an empty result). `bodyType` is the type's object
 * identifier of the column `body`.
 */
export function resultRow(
  kind: CrudPlan['kind'],
  columns: readonly (string | null)[] | undefined,
  bodyType: number,
): ResultRow {
  if (columns === undefined) {
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
  const bodyAt = kind === 'mutate' ? 3 : 2
  const location = kind === 'mutate' ? columns[2] : null
  const inserted = columns[bodyAt + 3] ?? null
  return {
    tableTotal: total(columns[0] ?? null),
    queryTotal: total(columns[1] ?? null) ?? 0,
    location: location ? parseTextArray(location).map(pair) : [],
    body: body(columns[bodyAt], bodyType),
    headersSetting: columns[bodyAt + 1] ?? null,
    statusSetting: columns[bodyAt + 2] ?? null,
    inserted: inserted === '' ? 0 : total(inserted),
  }
}

/** The body of an explained request: the lines that EXPLAIN returned. */
export const explainBody = (lines: readonly (string | null)[]): string =>
  lines.map((line) => `${line ?? ''}\n`).join('')
