// Plans the writes of POST, PATCH, PUT and DELETE on a relation.
import { conflictTarget, type Table } from '../../catalogue/table.ts'
import { errors } from '../errors.ts'
import type { Mutation, Payload } from '../request/api-request.ts'
import { isPlainEquality } from '../request/filter.ts'
import type { PlannedField, PlannedLogicTree } from './field.ts'
import { columnField, fromJson, resolveFilter, resolveLogic } from './field-resolution.ts'
import type { MutatePlan } from './mutate-plan.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReadPlan } from './read-plan.ts'
import { returnedColumns } from './returning.ts'

/** @throws ApiError PGRST105 (PUT), PGRST204 */
export function planMutation(mutation: Mutation, table: Table, context: PlanContext, read: ReadPlan): MutatePlan {
  const { request, relation: into } = context
  const { primaryKey, isDistributed } = table
  const distributed = isDistributed === true ? { isDistributed } : {}
  const { representation, resolution, missing } = request.shape.preferences
  const returning =
    representation === undefined || representation === 'minimal'
      ? []
      : returnedColumns(read, returnedKey(table, context, read))
  const body = jsonOf(request.input.payload)
  const applyDefaults = missing === 'default'
  switch (mutation) {
    case 'create': {
      const conflicting = request.shape.onConflict ?? primaryKey
      const target = conflictTarget(table, conflicting)
      const onConflict = resolution ? { resolution, columns: conflicting, ...(target && { target: target.sql }) } : null
      const columns = writtenColumns(table, context)
      const where: readonly PlannedLogicTree[] = []
      return {
        kind: 'insert',
        into,
        columns,
        body,
        onConflict,
        where,
        returning,
        primaryKey,
        applyDefaults,
        ...distributed,
      }
    }
    case 'single-upsert': {
      if (!isByPrimaryKey(table, context)) throw errors.putFilters()
      return {
        kind: 'insert',
        into,
        columns: writtenColumns(table, context),
        body,
        onConflict: { resolution: 'merge-duplicates', columns: primaryKey },
        where: conditions(table, context),
        returning,
        primaryKey: [],
        applyDefaults: false,
        ...distributed,
      }
    }
    case 'update': {
      const columns = writtenColumns(table, context)
      const where = conditions(table, context)
      return { kind: 'update', into, columns, body, where, returning, applyDefaults, ...distributed }
    }
    case 'delete':
      return { kind: 'delete', into, where: conditions(table, context), returning }
    default:
      return mutation satisfies never
  }
}

/** The primary key, which the Location header needs. Any other response leaves out what the role may not read of it. */
function returnedKey({ primaryKey }: Table, { request }: PlanContext, { starred }: ReadPlan): readonly string[] {
  const readable = starred?.columns
  if (!readable || request.shape.preferences.representation === 'headers-only') return primaryKey
  return primaryKey.filter((name) => readable.includes(name))
}

/** The JSON body of a mutation. The other kinds of payload are arguments of functions. */
const jsonOf = (payload: Payload | undefined): string | null =>
  payload?.kind === 'json' || payload?.kind === 'raw-json' ? payload.text : null

function writtenColumns(table: Table, { request, cache }: PlanContext): PlannedField[] {
  return request.shape.columns.map((name) => {
    const column = table.columns.get(name)
    if (!column) throw errors.noColumn(table.name, name)
    return fromJson(cache.representations, columnField(column))
  })
}

/** The root's filters and all logic trees. As in PostgREST, logic trees of embeds also choose the rows to write. */
function conditions(table: Table, { request, cache: { representations } }: PlanContext): PlannedLogicTree[] {
  const { filters, logic } = request.queryParams
  const planned: PlannedLogicTree[] = []
  for (const { path, value } of filters) {
    if (path.length > 0) continue
    planned.push({ kind: 'filter', filter: resolveFilter(table, representations, value) })
  }
  for (const { value } of logic) planned.push(resolveLogic(table, representations, value))
  return planned
}

/** Whether the only filters are `eq` on each column of the primary key, as PUT requires. */
function isByPrimaryKey({ primaryKey }: Table, { request }: PlanContext): boolean {
  const { filters, filterKeys, logic } = request.queryParams
  return (
    logic.length === 0 &&
    primaryKey.length > 0 &&
    filterKeys.size === primaryKey.length &&
    primaryKey.every((column) => filterKeys.has(column)) &&
    filters.every(({ path, value }) => path.length > 0 || isPlainEquality(value))
  )
}
