// Pass that expands `*` to columns where Postgres's `*` is not suitable.
import { qualifiedKey } from '../../catalogue/identifier.ts'
import { representationKey, type Representations } from '../../catalogue/representation.ts'
import type { Table } from '../../catalogue/table.ts'
import type { PlannedSelectField } from './field.ts'
import { columnField, toOutput } from './field-resolution.ts'
import type { PlanContext } from './plan-context.ts'
import { mapShared } from './plan-tree.ts'
import type { ReadPlan, Starred } from './read-plan.ts'
import { sourceCte } from './read-plan.ts'

/**
 * Expands `*` if the role may read only some columns, if a column has a representation in JSON, if rows are grouped (here or in a parent), if they are distinct,
 * and in to-many spreads. Marks `count()` in a spread, so that it counts the rows of the spread's relation.
 */
export function expandStars(plan: ReadPlan, context: PlanContext): ReadPlan {
  return expandFrom(plan, context, false)
}

function expandFrom<P extends ReadPlan>(plan: P, context: PlanContext, grouped: boolean): P {
  const groupedHere =
    grouped ||
    plan.spread?.kind === 'to-many' ||
    plan.having !== undefined ||
    plan.select.some(({ aggregate }) => aggregate)
  const expanded = expandSelect(plan, context, groupedHere)
  if (plan.embeds.length === 0) return expanded
  const embeds = mapShared(plan.embeds, (embed) => expandFrom(embed, context, groupedHere))
  return embeds === plan.embeds ? expanded : { ...expanded, embeds }
}

function expandSelect<P extends ReadPlan>(plan: P, context: PlanContext, grouped: boolean): P {
  const { cache, relation, settings } = context
  const { select, from, spread, distinct } = plan
  const { representations } = cache
  if (!grouped && !distinct && !settings.readableColumns && representations.size === 0) return plan
  if (!select.some((item) => isStar(item, spread !== null))) return plan
  const { schema, name } = from.schema === '' && from.name === sourceCte ? relation : from
  const table = cache.tables.get(qualifiedKey(schema, name))
  const starred = starredOf(plan, table, context)
  const marked = starred ? { ...plan, starred } : plan
  const readable = starred?.columns
  if (!grouped && !(distinct && table) && !readable && !hasRepresentation(table, representations)) return marked
  return {
    ...marked,
    select: select.flatMap((item) => {
      if (item.field.jsonPath.length > 0 || !isStar(item, spread !== null)) return [item]
      if (item.aggregate !== null) return [{ ...item, field: { ...item.field, fullRow: true } }]
      const columns = table ? [...table.columns.values()] : []
      return columns
        .filter((column) => !readable || readable.includes(column.name))
        .map((column) => ({ ...item, field: toOutput(representations, columnField(column)) }))
    }),
  }
}

/** The columns that `*` stands for, if that depends on the role. It does not for the rows that a function returns. */
function starredOf(
  { select, from, toParent }: ReadPlan,
  table: Table | undefined,
  { request, settings: { readableColumns } }: PlanContext,
): Starred | undefined {
  const isReturned =
    toParent?.kind === 'computed' || (from.name === sourceCte && request.shape.action.kind !== 'mutate')
  if (!readableColumns || !table || isReturned || !select.some((item) => isStar(item, false))) return undefined
  const relation = { schema: table.schema, name: table.name }
  return { relation, columns: readableColumns.of(relation) ?? null }
}

/** `*`, and in a spread also `count()`. */
const isStar = ({ field, aggregate }: PlannedSelectField, spread: boolean): boolean =>
  field.name === '*' && (aggregate === null || (spread && aggregate === 'count'))

/** Whether a function converts a column of the table to JSON. */
function hasRepresentation(table: Table | undefined, representations: Representations): boolean {
  if (!table) return false
  for (const { nominalType } of table.columns.values()) {
    if (representations.has(representationKey(nominalType, 'json'))) return true
  }
  return false
}
