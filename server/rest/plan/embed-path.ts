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
 * Updates all trees that parameters apply to, each once, with the values of its parameters in their order. Reads the
 * parameters from the last to the first, and moves each embed on their paths to the front of its siblings, so that earlier
 * parameters find the same one of two embeds with the same name. The time is linear in embeds and parameters.
 *
 * @param legacyNames whether an embed with an alias is also found by its relation's name, and marked
 * @throws ApiError PGRST108
 */
export function updateAll<T>(
  tree: EmbedTree,
  parameters: readonly AtPath<T>[],
  legacyNames: boolean,
  update: (tree: EmbedTree, values: readonly T[]) => EmbedTree,
): EmbedTree {
  if (parameters.length === 0) return tree
  const root = new TreeUpdate<T>(tree, legacyNames)
  for (const { path, value } of parameters.toReversed()) root.at(path).add(value)
  return root.apply(update)
}

/** A tree while values are added to it. */
class TreeUpdate<T> {
  readonly #tree: EmbedTree
  readonly #legacyNames: boolean
  /** From the last to the first. */
  readonly #values: T[] = []
  /** The embed that a name finds, by its position; undefined until one is looked for. */
  #positions: Map<string, number> | undefined
  /** The embeds that were found, by their position, in the order in which each was found last. */
  readonly #found = new Map<number, TreeUpdate<T>>()
  #addressedByLegacyName: boolean

  constructor(tree: EmbedTree, legacyNames: boolean) {
    this.#tree = tree
    this.#legacyNames = legacyNames
    this.#addressedByLegacyName = tree.addressedByLegacyName
  }

  add(value: T): void {
    this.#values.push(value)
  }

  /** The tree at the end of a path. */
  at(path: EmbedPath): TreeUpdate<T> {
    return path.reduce<TreeUpdate<T>>((from, name) => from.#embed(name), this)
  }

  #embed(name: string): TreeUpdate<T> {
    const position = (this.#positions ??= this.#firstPositions()).get(name)
    const tree = position === undefined ? undefined : this.#tree.embeds[position]
    if (position === undefined || !tree) throw this.#notEmbedded(name)
    const embed = this.#found.get(position) ?? new TreeUpdate<T>(tree, this.#legacyNames)
    this.#found.delete(position)
    this.#found.set(position, embed)
    for (const own of this.#namesOf(tree)) this.#positions.set(own, position)
    if (embedName(tree) !== name) embed.#addressedByLegacyName = true
    return embed
  }

  #firstPositions(): Map<string, number> {
    const positions = new Map<string, number>()
    for (const [position, embed] of this.#tree.embeds.entries()) {
      for (const name of this.#namesOf(embed)) if (!positions.has(name)) positions.set(name, position)
    }
    return positions
  }

  /** The names that an embed is found by. */
  #namesOf(embed: EmbedTree): readonly string[] {
    return this.#legacyNames ? [embedName(embed), embed.relationName] : [embedName(embed)]
  }

  #notEmbedded(name: string): Error {
    const positions = [...this.#found.keys()].reverse()
    const moved = positions.flatMap((position) => this.#tree.embeds[position] ?? [])
    return errors.notEmbedded(name, this.#legacyNames ? undefined : legacyUse([...moved, ...this.#tree.embeds], name))
  }

  apply(update: (tree: EmbedTree, values: readonly T[]) => EmbedTree): EmbedTree {
    const moved = [...this.#found.values()].reverse().map((embed) => embed.apply(update))
    const others = this.#tree.embeds.filter((_, position) => !this.#found.has(position))
    const addressedByLegacyName = this.#addressedByLegacyName
    const tree = { ...this.#tree, addressedByLegacyName, embeds: moved.concat(others) }
    return this.#values.length === 0 ? tree : update(tree, this.#values.toReversed())
  }
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
