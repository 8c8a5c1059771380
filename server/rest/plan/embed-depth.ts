// Limits the depth of embeds (`db-max-embed-depth`, `pgrst.max_embed_depth`).
import { errors } from '../errors.ts'
import type { EmbedTree } from './embed-tree.ts'

/**
 * Rejects a request with too many embeds inside each other. Spreads count like other embeds.
 *
 * @param limit depth of the deepest embed that is allowed: 0 for no embeds, null for any
 * @throws ApiError PGRSTX82, for the first embed that is too deep
 */
export function checkEmbedDepth(tree: Pick<EmbedTree, 'embeds'>, limit: number | null): void {
  if (limit !== null) descend(tree, limit, [])
}

function descend({ embeds }: Pick<EmbedTree, 'embeds'>, limit: number, path: readonly string[]): void {
  for (const embed of embeds) {
    const inner = [...path, embed.alias ?? embed.relationName]
    if (inner.length > limit) throw errors.embedTooDeep(inner, limit)
    descend(embed, limit, inner)
  }
}
