// The `order` parameters: a pass that adds them to their relations, and the resolution of terms that refer to embeds.
import { qualifiedKey } from '../../catalogue/identifier.ts'
import { isToOne } from '../../catalogue/relationship.ts'
import { errors } from '../errors.ts'
import { updateAll } from './embed-path.ts'
import type { EmbedTree, RequestedOrderTerm } from './embed-tree.ts'
import type { PlannedOrderTerm } from './field.ts'
import { resolveField } from './field-resolution.ts'
import type { PlanContext } from './plan-context.ts'
import { embedsByName, type RelatedEmbed } from './related-embed.ts'

/** @throws ApiError PGRST108 */
export function addOrders(tree: EmbedTree, { request, cache, settings, relation }: PlanContext): EmbedTree {
  const { order } = request.queryParams
  if (order.length === 0) return tree
  // Types only determine whether a JSON path needs a conversion. Like PostgREST, uses the root's types for all.
  const table = cache.tables.get(qualifiedKey(relation.schema, relation.name))
  return updateAll(tree, order, settings.urlUseLegacyTargetNames, (target, [terms = []]) => ({
    ...target,
    order: terms.map((term) => (term.kind === 'field' ? { ...term, field: resolveField(table, term.field) } : term)),
  }))
}

/**
 * Resolves the order terms of a relation: in `order=clients(name)` the name of the embed becomes the alias of its join.
 *
 * @param relationName name of the relation in error messages
 * @throws ApiError PGRST108 when there is no such embed, PGRST118 when it has many rows
 */
export const plannedOrder = (
  terms: readonly RequestedOrderTerm[],
  relationName: string,
  embeds: readonly RelatedEmbed[],
): readonly PlannedOrderTerm[] => {
  if (terms.length === 0) return []
  const byName = embedsByName(embeds)
  return terms.map((term) => {
    if (term.kind === 'field') return term
    const embed = byName.get(term.relation)
    if (!embed) throw errors.notEmbedded(term.relation)
    if (!isToOne(embed.toParent)) throw errors.relatedOrder(relationName, term.relation)
    return { ...term, relation: embed.aggregateAlias }
  })
}
