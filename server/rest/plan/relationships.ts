// Pass that turns the embed tree into a read plan with relationships, aliases and join conditions.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { isToOne } from '../../catalogue/relationship.ts'
import type { ColumnPairs, ForeignKeyRelationship, Relationship } from '../../catalogue/relationship.ts'
import type { EmbedTree } from './embed-tree.ts'
import type { Extensions } from '../extension.ts'
import { plannedConditions } from './null-embeds.ts'
import { plannedOrder } from './orders.ts'
import type { PlanContext } from './plan-context.ts'
import { sourceCte } from './read-plan.ts'
import type { EmbedPlan, JoinCondition, ReadNode, ReadPlan, Spread } from './read-plan.ts'
import { relatedEmbeds, type RelatedEmbed } from './related-embed.ts'

/**
 * Creates the read plan of a tree. Errors of relationships take precedence over errors of orders in the whole tree.
 *
 * @throws ApiError PGRST200, PGRST201; PGRST108, PGRST118
 */
export function relate(tree: EmbedTree, context: PlanContext, extensions: Extensions): ReadPlan {
  const { relation, request } = context
  const { kind } = request.shape.action
  // The result of a mutation or a function is read from a CTE, with the relation's name as its alias.
  const readsCte = kind === 'mutate' || kind === 'call'
  return {
    ...planned(
      tree,
      relatedEmbeds(tree.embeds, relation.name, 1, context),
      readsCte ? unqualified(sourceCte) : { schema: relation.schema, name: relation.name },
      readsCte ? relation.name : null,
      1,
      extensions,
    ),
    joinType: null,
    aggregateAlias: '',
    toParent: null,
    computedArgument: null,
    joinConditions: [],
    spread: null,
  }
}

/**
 * Plans the common part of root and embed.
 *
 * @param depth of the relation's embeds
 */
function planned(
  tree: EmbedTree,
  embeds: readonly RelatedEmbed[],
  from: QualifiedIdentifier,
  fromAlias: string | null,
  depth: number,
  extensions: Extensions,
): ReadNode {
  const { relationName, alias, select, where, order, range, addressedByLegacyName } = tree
  const node: ReadNode = {
    select,
    from,
    fromAlias,
    where: plannedConditions(where, embeds),
    order: plannedOrder(order, from.name, embeds),
    range,
    relationName,
    alias,
    relationSelect: [],
    addressedByLegacyName,
    embeds: embeds.map((embed) => plannedEmbed(embed, fromAlias, depth, extensions)),
  }
  return extensions.node.reduce((last, pass) => pass(last, tree, embeds), node)
}

function plannedEmbed(
  { tree, toParent, aggregateAlias, embeds }: RelatedEmbed,
  parentAlias: string | null,
  depth: number,
  extensions: Extensions,
): EmbedPlan {
  const { foreignTable } = toParent
  // The join conditions of a junction use the names of the tables, so the embed gets no alias.
  const isThroughJunction = toParent.kind !== 'computed' && toParent.cardinality.kind === 'many-to-many'
  const fromAlias = isThroughJunction ? null : `${foreignTable.name}_${depth}`
  return {
    ...planned(tree, embeds, foreignTable, fromAlias, depth + 1, extensions),
    joinType: tree.joinType,
    aggregateAlias,
    toParent,
    computedArgument: toParent.kind === 'computed' ? aliasOr(parentAlias, toParent.table) : null,
    joinConditions: toParent.kind === 'computed' ? [] : joinConditions(toParent, fromAlias, parentAlias),
    spread: tree.isSpread ? spreadOf(toParent) : null,
  }
}

const toOneSpread: Spread = { kind: 'to-one' }
/** A later pass adds the order. */
const toManySpread: Spread = { kind: 'to-many', extraSelect: [], order: [] }

const spreadOf = (relationship: Relationship): Spread => (isToOne(relationship) ? toOneSpread : toManySpread)

const unqualified = (name: string): QualifiedIdentifier => ({ schema: '', name })

const aliasOr = (alias: string | null, relation: QualifiedIdentifier): QualifiedIdentifier =>
  alias === null ? relation : unqualified(alias)

function joinConditions(
  { table, foreignTable, cardinality }: ForeignKeyRelationship,
  alias: string | null,
  parentAlias: string | null,
): JoinCondition[] {
  const parent = aliasOr(parentAlias, table)
  if (cardinality.kind === 'many-to-many') {
    const { junction } = cardinality
    return [
      ...joinColumns(foreignTable, junction.table, junction.targetColumns),
      ...joinColumns(parent, junction.table, junction.sourceColumns),
    ]
  }
  return joinColumns(parent, aliasOr(alias, foreignTable), cardinality.columns)
}

const joinColumns = (
  relation: QualifiedIdentifier,
  joined: QualifiedIdentifier,
  columns: ColumnPairs,
): JoinCondition[] =>
  columns.map(([column, joinedColumn]) => ({
    left: { relation: joined, column: joinedColumn },
    right: { relation, column },
  }))
