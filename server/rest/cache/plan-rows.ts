// Which plans return rows that the server writes as JSON, and whether these are the only form of a result or may run in place of
// the statement.
import { qualifiedKey } from '../../catalogue/identifier.ts'
import { returnsSetOfScalar, returnsScalar, type Routine } from '../../catalogue/routine.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { isAlwaysEncodable, isEncodable } from '../encode/column-type.ts'
import { SharedRowsPlan } from '../encode/rows-plan.ts'
import type { PrepareContext } from '../extension.ts'
import { hasNoEffect, isQuiet, isQuietWrite } from '../plan/effect.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { PlannedRequest } from '../request/api-request.ts'
import type { RowsPlan } from '../row-transfer.ts'
import { returnedValue } from '../sql/call.ts'
import {
  mostlyEncodableRead,
  type SelectedColumn,
  type SelectedColumns,
  type SelectOptions,
} from '../sql/encodable-select.ts'
import { render, type Statement } from '../sql/fragment.ts'
import { calledRowsSql, rowsSql, type RowsSql } from '../sql/rows.ts'
import { endedRowsSql, writtenRowsSql } from '../sql/written-rows.ts'

/** A statement that returns rows, and what is made of them. */
export type PlannedRows = { readonly statement: Statement; readonly rows: RowsPlan }

type Context = Pick<PrepareContext, 'snapshot' | 'schemaCache'>

/** @param isLoud whether what runs may set headers and status */
function plannedRows(
  rows: RowsSql | undefined,
  { snapshot: { plans }, schemaCache: { textTypes } }: Context,
  isLoud = rows?.isLoud === true,
): PlannedRows | undefined {
  if (!rows) return undefined
  const { sql, ...given } = rows
  const form = { ...given, isLoud }
  const statement = render(sql)
  const { text } = statement
  // Several forms have the same text: an array of rows, and the first row. The text begins where the JSON of the form ends.
  const key = JSON.stringify(form) + text
  return { statement, rows: plans.rowsOf(key, () => new SharedRowsPlan(text, form, textTypes)) }
}

/**
 * The rows of a write, or of a call that may have an effect. They are the only form of the result, which is decided before it
 * runs, because it cannot run again. Undefined for reads, and for writes and calls that are made otherwise.
 */
export function onlyRows(plan: CrudPlan, { shape }: PlannedRequest, context: Context): PlannedRows | undefined {
  const { snapshot, schemaCache: cache } = context
  const { config } = snapshot
  if (plan.kind === 'read' || cache.isDistributed || !snapshot.encodesRows) return undefined
  if (plan.kind === 'call') {
    if (mayRunTwice(plan, context)) return undefined
    return plannedRows(calledRowsSql(plan, shape, config, selectedOf(plan, cache, isAlwaysEncodable)), context)
  }
  // Embeds may set the format of dates.
  const isQuiet = config.dbPreRequest === null && isQuietWrite(plan, cache) && plan.read.embeds.length === 0
  const selected = selectedOf(plan, cache, isQuiet ? isEncodable : isAlwaysEncodable)
  const quiet = isQuiet ? writtenRowsSql(plan, shape, selected) : undefined
  return plannedRows(quiet ?? endedRowsSql(plan, shape, selected), context)
}

/** The rows that may run in place of the statement of a plan, which then has no effect. */
export function insteadRows(plan: CrudPlan, { shape }: PlannedRequest, context: Context): PlannedRows | undefined {
  const { snapshot, schemaCache: cache } = context
  const { config } = snapshot
  if (!snapshot.encodesRows || plan.kind === 'mutate' || !mayRunTwice(plan, context)) return undefined
  const isLoud = config.dbPreRequest !== null || !isQuiet(plan, cache)
  const read = mostlyEncodableRead(plan.read, selectedOf(plan, cache, isEncodable))
  const rows = rowsSql({ ...plan, read }, shape, config)
  return plannedRows(rows && { ...rows, isListed: read !== plan.read }, context, isLoud)
}

/** @param isKnown whether the server can encode the values of a column */
function selectedOf(
  plan: CrudPlan,
  cache: SchemaCache,
  isKnown: (column: SelectedColumn, types: SchemaCache['textTypes']) => boolean,
): SelectOptions {
  const { schema, name } = plan.kind === 'mutate' ? plan.mutate.into : plan.read.from
  return {
    columns:
      plan.kind === 'call'
        ? returnedColumns(plan.routine, cache)
        : cache.tables.get(qualifiedKey(schema, name))?.columns,
    isKnown: (column) => isKnown(column, cache.textTypes),
  }
}

/** Whether nothing that a plan or the pre-request function executes can have an effect outside of its transaction. */
const mayRunTwice = (plan: CrudPlan, { snapshot, schemaCache }: Context): boolean =>
  snapshot.mayRepeatPreRequest && hasNoEffect(plan, schemaCache)

/** The columns of the result of a function; undefined if they are not known. */
function returnedColumns(routine: Routine, { tables }: SchemaCache): SelectedColumns | undefined {
  const { type, typeOid, columns } = routine.returns
  if (returnsScalar(routine) || returnsSetOfScalar(routine)) {
    const value = { name: returnedValue, ...(typeOid !== undefined && { typeOid }) }
    return new Map([[returnedValue, value]])
  }
  if (!columns) return tables.get(qualifiedKey(type.schema, type.name))?.columns
  const known = new Map(columns.flatMap(({ name, typeOid }) => (name === null ? [] : [[name, { name, typeOid }]])))
  return known.size === columns.length ? known : undefined
}
