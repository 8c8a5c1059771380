// Passes for the `order` parameters.
import { qualifiedKey } from '../../schema-cache/identifier.ts'
import { isToOne } from '../../schema-cache/relationship.ts'
import { errors } from '../errors.ts'
import { embedName, updateAll } from './embed-path.ts'
import type { PlannedOrderTerm } from './field.ts'
import { resolveField } from './field-resolution.ts'
import type { PlanContext } from './plan-context.ts'
import { mapShared, mapTree } from './plan-tree.ts'
import type { ReadPlan } from './read-plan.ts'

/** @throws ApiError PGRST108 */
export function addOrders(plan: ReadPlan, { request, cache, settings, relation }: PlanContext): ReadPlan {
  const { order } = request.queryParams
  if (order.length === 0) return plan
  // Types only decide whether a JSON path needs a conversion, and the root's are taken for all (as PostgREST does).
  const table = cache.tables.get(qualifiedKey(relation.schema, relation.name))
  return updateAll(plan, order, settings.urlUseLegacyTargetNames, (target, terms) => ({
    ...target,
    order: terms.map((term) => (term.kind === 'field' ? { ...term, field: resolveField(table, term.field) } : term)),
  }))
}

/**
 * `order=clients(name)`: the relation becomes the alias of the embed's join.
 *
 * @throws ApiError PGRST108 when there is no such embed, PGRST118 when it has many rows
 */
export function relateOrders(plan: ReadPlan): ReadPlan {
  return mapTree(plan, (node) => {
    if (node.order.length === 0) return node
    const order = mapShared(node.order, (term) => (term.kind === 'relation' ? relateTerm(node, term) : term))
    return order === node.order ? node : { ...node, order }
  })
}

function relateTerm(
  { embeds, from }: ReadPlan,
  term: Extract<PlannedOrderTerm, { kind: 'relation' }>,
): PlannedOrderTerm {
  const embed = embeds.find((candidate) => embedName(candidate) === term.relation)
  if (!embed) throw errors.notEmbedded(term.relation)
  if (!embed.toParent || !isToOne(embed.toParent)) throw errors.relatedOrder(from.name, term.relation)
  return { ...term, relation: embed.aggregateAlias }
}
