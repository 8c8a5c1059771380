// Pass for filters by embeds: `clients=not.is.null` keeps the rows that have clients.
// https://docs.postgrest.org/en/v14/references/api/resource_embedding.html#null-filtering-on-embedded-resources
import { embedName } from './embed-path.ts'
import type { PlannedLogicTree } from './field.ts'
import { mapShared, mapTree } from './plan-tree.ts'
import type { ReadPlan } from './read-plan.ts'

/** A filter on the name of an embed is about the embed, even where a column has that name too. */
export function filterByEmbeds(plan: ReadPlan): ReadPlan {
  return mapTree(plan, (node) => {
    if (node.where.length === 0 || node.embeds.length === 0) return node
    const where = mapShared(node.where, (tree) => replace(tree, node.embeds))
    return where === node.where ? node : { ...node, where }
  })
}

function replace(tree: PlannedLogicTree, embeds: readonly ReadPlan[]): PlannedLogicTree {
  if (tree.kind === 'logic') {
    const operands = mapShared(tree.operands, (operand) => replace(operand, embeds))
    return operands === tree.operands ? tree : { ...tree, operands }
  }
  const { filter } = tree
  if (filter.kind !== 'field' || filter.field.jsonPath.length > 0) return tree
  if (filter.operation.kind !== 'is' || filter.operation.value !== 'null') return tree
  const embed = embeds.find((candidate) => embedName(candidate) === filter.field.name)
  if (!embed) return tree
  const { negated } = filter
  return { kind: 'filter', filter: { kind: 'null-embed', negated, aggregateAlias: embed.aggregateAlias } }
}
