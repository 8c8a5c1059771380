// What is read: the passes that make a read plan of a request, in their order.
import { addAliases } from './aliases.ts'
import { checkAggregates, hoistAggregates } from './aggregates.ts'
import { addFilters, addLogic } from './conditions.ts'
import { embedTree } from './embed-tree.ts'
import { addOrders } from './orders.ts'
import type { PlanContext } from './plan-context.ts'
import { addRanges, limitRows } from './ranges.ts'
import type { ReadPlan } from './read-plan.ts'
import { addRelationSelects } from './relation-selects.ts'
import { relate } from './relationships.ts'
import { orderSpreads } from './spread-orders.ts'
import { expandStars } from './stars.ts'

/**
 * Plans the reading of a relation with its embeds, or of what a mutation or function of it returns: first a tree of the
 * client's names, then a plan in which all names are resolved. The order of the passes decides which of several errors a client sees.
 *
 * @throws ApiError PGRST108, PGRST118, PGRST123, PGRST127, PGRST200, PGRST201
 */
export function planRead(context: PlanContext): ReadPlan {
  let tree = embedTree(context)
  tree = addFilters(tree, context)
  tree = addOrders(tree, context)
  tree = addRanges(tree, context)
  tree = addLogic(tree, context)
  let plan = relate(tree, context)
  plan = expandStars(plan, context)
  plan = addAliases(plan)
  plan = addRelationSelects(plan)
  plan = checkAggregates(plan, context)
  plan = hoistAggregates(plan)
  plan = orderSpreads(plan)
  return limitRows(plan, context)
}

/** Whether rows are answered whole; only then handlers for the relation's own row type apply. */
export const selectsAll = ({ select, embeds }: ReadPlan): boolean =>
  embeds.length === 0 && select.length === 1 && select[0]?.field.name === '*'
