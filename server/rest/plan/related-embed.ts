// Pass that chooses the relationship of each embed to its parent.
import type { Relationship } from '../../catalogue/relationship.ts'
import { embedName } from './embed-path.ts'
import type { EmbedTree } from './embed-tree.ts'
import type { PlanContext } from './plan-context.ts'
import { chooseRelationship } from './relationship-choice.ts'

/** An embed with its chosen relationship. */
export type RelatedEmbed = {
  readonly tree: EmbedTree
  readonly toParent: Relationship
  /** Alias of the lateral join with the result of the embed. */
  readonly aggregateAlias: string
  readonly embeds: readonly RelatedEmbed[]
}

/**
 * Chooses the relationships of embeds, recursively.
 *
 * @param parentName name of the relation that they are embedded in
 * @param depth 1 for embeds of the root
 * @throws ApiError PGRST200, PGRST201
 */
export function relatedEmbeds(
  embeds: readonly EmbedTree[],
  parentName: string,
  depth: number,
  context: PlanContext,
): readonly RelatedEmbed[] {
  const origin = { schema: context.relation.schema, name: parentName }
  return embeds.map((tree) => {
    const toParent = chooseRelationship(context.cache, origin, tree.relationName, tree.hint)
    return {
      tree,
      toParent,
      aggregateAlias: `${toParent.table.name}_${embedName(tree)}_${depth}`,
      embeds: relatedEmbeds(tree.embeds, toParent.foreignTable.name, depth + 1, context),
    }
  })
}

/** Embeds by their name or alias; of equal ones the first. */
export function embedsByName(embeds: readonly RelatedEmbed[]): ReadonlyMap<string, RelatedEmbed> {
  return new Map(embeds.toReversed().map((embed) => [embedName(embed.tree), embed]))
}
