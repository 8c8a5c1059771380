// Passes for aggregate functions.
// https://docs.postgrest.org/en/stable/references/api/aggregate_functions.html
import { errors } from '../errors.ts'
import type { PlannedSelectField } from './field.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReadPlan, RelationSelectField } from './read-plan.ts'

export const hasAggregate = (plan: ReadPlan): boolean =>
  plan.select.some(({ aggregate }) => aggregate !== null) || plan.having !== undefined || plan.embeds.some(hasAggregate)

/** @throws ApiError PGRST123 when aggregates are used but `db-aggregates-enabled` is off */
export function checkAggregates(plan: ReadPlan, { settings }: PlanContext): ReadPlan {
  if (!settings.dbAggregatesEnabled && hasAggregate(plan)) throw errors.aggregatesDisabled()
  return plan
}

/** An aggregate that is moved from a to-one spread to its nearest ancestor that is not one. */
type Hoisted = Pick<PlannedSelectField, 'aggregate' | 'aggregateCast' | 'alias'> & {
  readonly aggregateAlias: string
  readonly name: string
}

/**
 * Moves aggregates out of to-one spreads: in `...clients(id.count())`, the aggregate applies to the rows of the parent,
 * not to the single row of the embed. Each moves up to the nearest relation that is not a to-one spread.
 */
export function hoistAggregates(plan: ReadPlan): ReadPlan {
  if (plan.embeds.length > 0 && hasAggregate(plan)) return hoist(plan).plan
  return plan
}

function hoist<P extends ReadPlan>(plan: P): { readonly plan: P; readonly hoisted: readonly Hoisted[] } {
  const below = plan.embeds.map(hoist)
  const embeds = below.map((embed) => embed.plan)
  const fromEmbeds = below.flatMap(({ hoisted }) => hoisted)
  const { select, relationSelect, aggregateAlias } = plan
  if (plan.spread?.kind !== 'to-one') {
    const byName = new Map(fromEmbeds.toReversed().map((item) => [hoistedKey(item.aggregateAlias, item.name), item]))
    const applied = relationSelect.map((item) => applyHoisted(item, byName))
    return { plan: { ...plan, embeds, relationSelect: applied }, hoisted: [] }
  }
  const own = select.flatMap(({ field, aggregate, aggregateCast, alias }) =>
    aggregate === null ? [] : [{ aggregateAlias, name: alias ?? field.name, aggregate, aggregateCast, alias }],
  )
  const plain = select.map((item) => (item.aggregate ? { ...item, aggregate: null, aggregateCast: null } : item))
  const passedOn = fromEmbeds.map((item) => ({ ...item, aggregateAlias }))
  return { plan: { ...plan, embeds, select: plain }, hoisted: [...own, ...passedOn] }
}

const hoistedKey = (aggregateAlias: string, name: string): string => JSON.stringify([aggregateAlias, name])

/** @param hoisted by the alias of their spread and their name; of equal ones the first */
function applyHoisted(item: RelationSelectField, hoisted: ReadonlyMap<string, Hoisted>): RelationSelectField {
  if (item.kind !== 'spread' || hoisted.size === 0) return item
  const fields = item.fields.map((field) => {
    const found = hoisted.get(hoistedKey(item.aggregateAlias, field.name))
    if (!found) return field
    const { aggregate, aggregateCast, alias } = found
    return { ...field, aggregate, aggregateCast, alias }
  })
  return { ...item, fields }
}

/** @throws ApiError PGRST127 when a to-many spread contains an aggregate */
export function rejectAggregatesInToManySpreads({ select, relationSelect }: ReadPlan): void {
  const own = select.some(({ aggregate }) => aggregate !== null)
  const spread = relationSelect.some((item) => item.kind === 'spread' && item.fields.some(({ aggregate }) => aggregate))
  if (own || spread) {
    throw errors.notImplemented('Aggregates are not implemented for one-to-many or many-to-many spreads.')
  }
}
