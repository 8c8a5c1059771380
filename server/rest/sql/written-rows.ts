// The rows of writes that the server writes as JSON. They are the only form of the result, because a write cannot run twice.
import type { PlannedSelectField } from '../plan/field.ts'
import type { MutatePlan } from '../plan/mutate-plan.ts'
import type { CrudPlan } from '../plan/plan.ts'
import { isGrouped } from '../plan/read-plan.ts'
import { responseHeaders, responseStatus } from './current-setting.ts'
import {
  encodableItem,
  encodableRead,
  mostSelected,
  type SelectedColumns,
  type SelectOptions,
} from './encodable-select.ts'
import { join } from './fragment.ts'
import { resultAlias, sourceName } from './handler.ts'
import { countsInserted, mutateStatement, writeCounts } from './mutate.ts'
import { isAllRows } from './order.ts'
import { readStatement } from './read.ts'
import { isPlainJson, isSingle, type RowsSql } from './rows.ts'
import { selectFieldSql } from './select.ts'
import type { StatementShape } from './statement.ts'

/**
 * The rows of a write of which the last one has what is known at its end: the settings that its triggers and functions have
 * set, and the number of created rows. It has no other result. Undefined if the response needs more than rows.
 *
 * Triggers that run after the write set nothing in time, as for `mainStatement`: a statement that follows would read that, too.
 *
 * @param selected of the written relation
 */
export function endedRowsSql(
  plan: CrudPlan & { kind: 'mutate' },
  shape: StatementShape,
  selected: SelectOptions,
): RowsSql | undefined {
  const { mutate, version } = plan
  if (plan.explain || !isPlainJson(plan.handler) || (mutate.kind === 'insert' && mutate.staged)) return undefined
  const columns = selected.columns && returnedOf(mutate, selected.columns)
  const read = encodableRead(plan.read, { ...selected, columns })
  if (!read) return undefined
  const { total, inserted, version: written } = writeCounts(plan, shape)
  const values = [total, responseHeaders, responseStatus, inserted, ...(written === undefined ? [] : [written])]
  const texts = values.map((value) => [value, '::text'])
  return {
    sql: [
      [`WITH ${sourceName} AS (`, mutateStatement(mutate), '), pgrst_rows AS NOT MATERIALIZED (', readStatement(read)],
      // Postgres takes the first part from the write until that has ended. The second one has its columns, whatever they are.
      [
        ') SELECT NULL::text, pgrst_rows.* FROM pgrst_rows UNION ALL SELECT pgrst_end.texts, pgrst_rows.* FROM (SELECT ARRAY[',
      ],
      [join(texts, ', '), ']::text AS texts) pgrst_end LEFT JOIN pgrst_rows ON FALSE'],
    ],
    body: isSingle(plan) ? 'first' : 'array',
    isScalar: false,
    pageTotal: 'rows',
    tableTotal: 'none',
    hasEnd: true,
    hasVersion: version !== undefined,
    isOnlyForm: true,
  }
}

/** The columns that a write returns: all of its relation, or only some, which `*` means then. */
const returnedOf = ({ returning }: MutatePlan, columns: SelectedColumns): SelectedColumns =>
  returning.includes('*') ? columns : new Map([...columns].filter(([name]) => returning.includes(name)))

/**
 * The rows of a write that has no other result: it returns columns of a table, in the order in which it writes them, or nothing but
 * their number. Undefined for all other writes.
 *
 * Whether the write is quiet (`isQuietWrite`) is for the caller to know.
 *
 * @param selected of the written table
 */
export function writtenRowsSql(
  plan: CrudPlan & { kind: 'mutate' },
  { preferences }: StatementShape,
  { columns, isKnown }: SelectOptions,
): RowsSql | undefined {
  if (!columns) return undefined
  const { mutate, read, version } = plan
  const { select } = read
  const { into } = mutate
  const { representation } = preferences
  const hasBody = representation === 'representation'
  if (plan.explain || !(hasBody ? isPlainJson(plan.handler) : plan.handler.kind === 'none')) return undefined
  // The key of a created row is for the header `Location`.
  if (representation === 'headers-only') return undefined
  // Their responses need more than rows.
  if (plan.precondition || plan.matchedCount || version?.kind === 'column') return undefined
  if (mutate.kind === 'update' && mutate.columns.length === 0) return undefined
  if (mutate.kind === 'insert' && (mutate.staged || countsInserted(mutate, preferences.resolution))) return undefined
  if (read.embeds.length > 0 || read.order.length > 0 || read.where.length > 0 || !isAllRows(read.range))
    return undefined
  const form = {
    isScalar: false,
    pageTotal: 'rows',
    tableTotal: 'none',
    hasVersion: version !== undefined,
    isOnlyForm: true,
  } as const
  const leading = version ? [`${version.sql.written(version)} AS pgrst_version`] : []
  if (!hasBody) {
    if (mutate.returning.length > 0) return undefined
    return { ...form, sql: mutateStatement(mutate, version && join(leading, ', ')), body: 'none' }
  }
  const width = select.reduce((sum, { field }) => sum + (field.name === '*' ? columns.size : 1), 0)
  if (read.distinct || isGrouped(read) || width === 0 || width > mostSelected) return undefined
  const isPlain = ({ field, cast, alias }: PlannedSelectField): boolean => {
    // `json_agg(_postgrest_t)` aggregates such a column in place of the rows.
    if (alias === resultAlias || cast !== null || field.jsonPath.length > 0 || field.transform !== null) return false
    return field.name === '*' ? !columns.has(resultAlias) : field.name !== resultAlias && columns.has(field.name)
  }
  // The columns that the response does not need are not read, although that takes privileges.
  const names = new Set(select.map(({ field }) => field.name))
  if (!select.every(isPlain) || !mutate.returning.every((name) => names.has(name))) return undefined
  const options = { columns, isKnown }
  const list = select.flatMap((item) => encodableItem(item, options)).map((item) => selectFieldSql(into, item))
  return {
    ...form,
    sql: mutateStatement(mutate, join([...leading, ...list], ', ')),
    body: isSingle(plan) ? 'first' : 'array',
  }
}
