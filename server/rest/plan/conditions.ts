// Passes that put filters and logic trees on the relations they are for.
import { qualifiedKey } from '../../schema-cache/identifier.ts'
import type { Table } from '../../schema-cache/table.ts'
import type { AtPath } from '../request/field.ts'
import type { PlannedLogicTree } from './field.ts'
import { resolveFilter, resolveLogic } from './field-resolution.ts'
import { updateAll } from './embed-path.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReadPlan } from './read-plan.ts'

/** Reads and calls filter what they return; the root filters of a mutation choose the rows that are written. */
const applying = <T>({ request }: PlanContext, parameters: readonly AtPath<T>[]): readonly AtPath<T>[] =>
  request.shape.action.kind === 'read' || request.shape.action.kind === 'call'
    ? parameters
    : parameters.filter(({ path }) => path.length > 0)

// At this stage a relation still has the name that the client used.
const tableOf = ({ cache }: PlanContext, { from }: ReadPlan): Table | undefined =>
  cache.tables.get(qualifiedKey(from.schema, from.name))

const prepend = (plan: ReadPlan, condition: PlannedLogicTree): ReadPlan => ({
  ...plan,
  where: [condition].concat(plan.where),
})

/** @throws ApiError PGRST108 */
export function addFilters(plan: ReadPlan, context: PlanContext): ReadPlan {
  const { request, cache, settings } = context
  const filters = applying(context, request.queryParams.filters)
  return updateAll(plan, filters, settings.urlUseLegacyTargetNames, (target, filter) => {
    const planned = resolveFilter(tableOf(context, target), cache.representations, filter)
    return prepend(target, { kind: 'filter', filter: planned })
  })
}

/** @throws ApiError PGRST108 */
export function addLogic(plan: ReadPlan, context: PlanContext): ReadPlan {
  const { request, cache, settings } = context
  const trees = applying(context, request.queryParams.logic)
  return updateAll(plan, trees, settings.urlUseLegacyTargetNames, (target, tree) =>
    prepend(target, resolveLogic(tableOf(context, target), cache.representations, tree)),
  )
}
