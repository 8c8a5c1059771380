// Plans a read: the passes that turn a request into a read plan.
import { addAliases } from './aliases.ts'
import { checkAggregates, hoistAggregates } from './aggregates.ts'
import { addFilters, addLogic } from './conditions.ts'
import { checkEmbedCount } from './embed-count.ts'
import { checkEmbedDepth } from './embed-depth.ts'
import { embedTree } from './embed-tree.ts'
import { addOrders } from './orders.ts'
import type { Extensions } from '../extension.ts'
import type { PlanContext } from './plan-context.ts'
import { addRanges, limitRows } from './ranges.ts'
import type { ReadPlan } from './read-plan.ts'
import { addRelationSelects } from './relation-selects.ts'
import { relate } from './relationships.ts'
import { planShards } from './shards.ts'
import { orderSpreads } from './spread-orders.ts'
import { expandStars } from './stars.ts'

/**
 * Plans a read of a relation with its embeds, or of the result of a mutation or a function: first a tree with the names
 * in the request, then a plan in which all names are resolved. The order of the passes determines which of several
 * errors the client gets.
 *
 * @throws ApiError PGRST108, PGRST118, PGRST123, PGRST127, PGRST200, PGRST201, PGRSTX31 to PGRSTX33, PGRSTX82 to PGRSTX84
 */
export function planRead(context: PlanContext, extensions: Extensions): ReadPlan {
  let tree = embedTree(context)
  checkEmbedCount(tree)
  checkEmbedDepth(tree, context.settings.dbMaxEmbedDepth)
  tree = addFilters(tree, context, extensions.parameter)
  tree = addOrders(tree, context)
  tree = addRanges(tree, context)
  tree = addLogic(tree, context)
  for (const pass of extensions.tree) tree = pass(tree, context)
  let plan = relate(tree, context, extensions)
  plan = expandStars(plan, context)
  plan = addAliases(plan)
  plan = addRelationSelects(plan)
  plan = checkAggregates(plan, context)
  for (const pass of extensions.read) plan = pass(plan, context)
  plan = hoistAggregates(plan)
  plan = orderSpreads(plan)
  plan = limitRows(plan, context)
  return context.cache.isDistributed ? planShards(plan, context) : plan
}

/** Whether the response has whole rows. Only then, handlers for the relation's row type apply. */
export const selectsAll = ({ select, embeds }: ReadPlan): boolean =>
  embeds.length === 0 && select.length === 1 && select[0]?.field.name === '*'
