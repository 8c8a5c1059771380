// Finds the embed that a filter, order or limit applies to: `clients.projects.name=eq.x`.
import { errors } from '../errors.ts'
import type { AtPath, EmbedPath } from '../request/field.ts'
import type { EmbedTree } from './embed-tree.ts'
import type { ReadPlan } from './read-plan.ts'

/** An embed that is referred to by its relation's name although it has an alias. */
export type LegacyName = { readonly name: string; readonly alias: string }

/** The name of an embed in parameters and in the response. */
export const embedName = ({ alias, relationName }: Pick<EmbedTree, 'alias' | 'relationName'>): string =>
  alias ?? relationName

/**
 * Updates the tree at the end of a path. Each embed on the path moves to the front of its siblings, so that later
 * parameters find the same one of two embeds with the same name.
 *
 * @param legacyNames whether an embed with an alias is also found by its relation's name, and marked
 * @throws ApiError PGRST108
 */
export function updateAt(
  tree: EmbedTree,
  path: EmbedPath,
  legacyNames: boolean,
  update: (tree: EmbedTree) => EmbedTree,
  position = 0,
): EmbedTree {
  const name = path[position]
  if (name === undefined) return update(tree)
  const { embeds } = tree
  const at = embeds.findIndex((embed) => embedName(embed) === name || (legacyNames && embed.relationName === name))
  const found = embeds[at]
  if (!found) throw errors.notEmbedded(name, legacyNames ? undefined : legacyUse(embeds, name))
  const addressedByLegacyName = found.addressedByLegacyName || embedName(found) !== name
  const target = addressedByLegacyName === found.addressedByLegacyName ? found : { ...found, addressedByLegacyName }
  const updated = updateAt(target, path, legacyNames, update, position + 1)
  return { ...tree, embeds: [updated].concat(embeds.slice(0, at), embeds.slice(at + 1)) }
}

/** Applies parameters to a tree in reverse order. An update that prepends its value thus keeps their order. */
export function updateAll<T>(
  tree: EmbedTree,
  parameters: readonly AtPath<T>[],
  legacyNames: boolean,
  update: (tree: EmbedTree, value: T) => EmbedTree,
): EmbedTree {
  let updated = tree
  for (const { path, value } of parameters.toReversed()) {
    updated = updateAt(updated, path, legacyNames, (target) => update(target, value))
  }
  return updated
}

function legacyUse(embeds: readonly EmbedTree[], name: string): LegacyName | undefined {
  const alias = embeds.find(({ relationName }) => relationName === name)?.alias
  return alias === null || alias === undefined ? undefined : { name, alias }
}

/** Embeds of a plan that are referred to by their relation's name although they have an alias. */
export function legacyNamesOf(plan: ReadPlan): LegacyName[] {
  const { addressedByLegacyName, relationName, alias, embeds } = plan
  const own = addressedByLegacyName && alias !== null ? [{ name: relationName, alias }] : []
  return embeds.length === 0 ? own : own.concat(embeds.flatMap(legacyNamesOf))
}
