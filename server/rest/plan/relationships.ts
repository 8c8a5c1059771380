// Pass that ties every embed to its parent: the relationship, the aliases and the join conditions.
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import { isToOne } from '../../schema-cache/relationship.ts'
import type { ColumnPairs, ForeignKeyRelationship } from '../../schema-cache/relationship.ts'
import { embedName } from './embed-path.ts'
import type { PlanContext } from './plan-context.ts'
import { mapShared } from './plan-tree.ts'
import { sourceCte } from './read-plan.ts'
import type { JoinCondition, ReadPlan, Spread } from './read-plan.ts'
import { chooseRelationship } from './relationship-choice.ts'

/** @throws ApiError PGRST200, PGRST201 */
export function relate(plan: ReadPlan, context: PlanContext): ReadPlan {
  const { kind } = context.request.shape.action
  // What a mutation or a function returns is read from a CTE, which goes by the relation's name in the query.
  const readsCte = kind === 'mutate' || kind === 'call'
  const root = readsCte ? { ...plan, from: unqualified(sourceCte), fromAlias: plan.from.name } : plan
  return relateEmbeds(root, context)
}

function relateEmbeds(plan: ReadPlan, context: PlanContext): ReadPlan {
  if (plan.embeds.length === 0) return plan
  const embeds = mapShared(plan.embeds, (embed) => relateEmbeds(relateEmbed(embed, plan, context), context))
  return { ...plan, embeds }
}

function relateEmbed(embed: ReadPlan, parent: ReadPlan, { cache, relation }: PlanContext): ReadPlan {
  const origin = { schema: relation.schema, name: parent.depth === 0 ? relation.name : parent.from.name }
  const relationship = chooseRelationship(cache, origin, embed.relationName, embed.hint)
  const related = {
    ...embed,
    from: relationship.foreignTable,
    toParent: relationship,
    aggregateAlias: `${relationship.table.name}_${embedName(embed)}_${embed.depth}`,
    spread: embed.spread && !isToOne(relationship) ? toManySpread : embed.spread,
  }
  const fromAlias = `${relationship.foreignTable.name}_${embed.depth}`
  if (relationship.kind === 'computed') {
    return { ...related, fromAlias, computedArgument: aliasOr(parent.fromAlias, relationship.table) }
  }
  // A junction is joined by the tables' own names, so the embed gets no alias.
  const alias = relationship.cardinality.kind === 'many-to-many' ? null : fromAlias
  return { ...related, fromAlias: alias, joinConditions: joinConditions(relationship, alias, parent.fromAlias) }
}

/** How a to-many spread is ordered is worked out by a later pass. */
const toManySpread: Spread = { kind: 'to-many', extraSelect: [], order: [] }

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
