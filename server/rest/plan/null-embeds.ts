// Null filters on embeds: `clients=not.is.null` selects the rows that have clients.
// https://docs.postgrest.org/en/stable/references/api/resource_embedding.html#null-filtering-on-embedded-resources
import type { FieldLogicTree, PlannedLogicTree } from './field.ts'
import { embedsByName, type RelatedEmbed } from './related-embed.ts'

/** Resolves null filters on embeds in the conditions of a relation. Names of embeds take precedence over columns. */
export const plannedConditions = (
  where: readonly FieldLogicTree[],
  embeds: readonly RelatedEmbed[],
): readonly PlannedLogicTree[] => {
  if (embeds.length === 0 || where.length === 0) return where
  const byName = embedsByName(embeds)
  return where.map((tree) => planned(tree, byName))
}

function planned(tree: FieldLogicTree, embeds: ReadonlyMap<string, RelatedEmbed>): PlannedLogicTree {
  if (tree.kind === 'logic') return { ...tree, operands: tree.operands.map((operand) => planned(operand, embeds)) }
  const { field, operation, negated } = tree.filter
  if (field.jsonPath.length > 0 || operation.kind !== 'is' || operation.value !== 'null') return tree
  const embed = embeds.get(field.name)
  if (!embed) return tree
  return { kind: 'filter', filter: { kind: 'null-embed', negated, aggregateAlias: embed.aggregateAlias } }
}
