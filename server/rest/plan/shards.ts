// Pass for databases whose tables Citus distributes.
import { qualifiedKey, type QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { isToOne } from '../../catalogue/relationship.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { isPlainEquality } from '../request/filter.ts'
import { resolveFilter } from './field-resolution.ts'
import type { FieldFilter, PlannedLogicTree } from './field.ts'
import type { PlanContext } from './plan-context.ts'
import type { EmbedPlan, ReadPlan, ShardFilter } from './read-plan.ts'

/**
 * Adds what Citus needs to return the same rows as one server, and to ask one shard if one is sufficient: a condition
 * `tenant = value` of a relation is repeated for embeds that are joined by this column.
 */
export function planShards(plan: ReadPlan, context: PlanContext): ReadPlan {
  const known = [...equalitiesOf(plan, plan.where), ...writtenEqualities(plan, context)]
  return { ...withEmbeds(plan, known, context.cache), isFenced: true }
}

function withEmbeds<P extends ReadPlan>(plan: P, known: readonly ShardFilter[], cache: SchemaCache): P {
  const byColumn = new Map(known.toReversed().map((one) => [columnKey(one.relation, one.filter.field.name), one]))
  return { ...plan, embeds: plan.embeds.map((embed) => plannedEmbed(embed, byColumn, cache)) }
}

/** Conditions by relation and column; of those of the same column the first. */
type FiltersByColumn = ReadonlyMap<string, ShardFilter>

const columnKey = ({ schema, name }: QualifiedIdentifier, column: string): string =>
  JSON.stringify([schema, name, column])

function plannedEmbed(embed: EmbedPlan, ofParent: FiltersByColumn, cache: SchemaCache): EmbedPlan {
  const shardFilters = derivedFilters(embed, ofParent, cache)
  const own = equalitiesOf(embed, embed.where)
  const planned = withEmbeds(embed, [...own, ...shardFilters], cache)
  // Other joins are not merged: outer ones, and those of aggregated rows.
  const isMerged = embed.joinType === 'inner' && embed.spread === null && isToOne(embed.toParent)
  return {
    ...planned,
    ...(isMerged ? { isFenced: true } : {}),
    ...(shardFilters.length === 0 ? {} : { shardFilters }),
  }
}

/** The relation as other parts of the statement name it. */
const nameOf = ({ from, fromAlias }: ReadPlan): QualifiedIdentifier =>
  fromAlias === null ? from : { schema: '', name: fromAlias }

/** The conditions `column = value` that all rows of a relation meet. */
function equalitiesOf(plan: ReadPlan, where: readonly PlannedLogicTree[]): readonly ShardFilter[] {
  const relation = nameOf(plan)
  return where.flatMap((tree) =>
    tree.kind === 'filter' && tree.filter.kind === 'field' && isEquality(tree.filter)
      ? [{ relation, filter: tree.filter }]
      : [],
  )
}

const isEquality = (filter: FieldFilter): boolean =>
  isPlainEquality(filter) && filter.field.jsonPath.length === 0 && filter.field.transform === null

/** Those of written rows: other columns than the one that decides on the shard may have changed. */
function writtenEqualities(plan: ReadPlan, { request, cache, relation }: PlanContext): readonly ShardFilter[] {
  const { action } = request.shape
  if (action.kind !== 'mutate' || action.mutation === 'create') return []
  const table = cache.tables.get(qualifiedKey(relation.schema, relation.name))
  const where = request.queryParams.filters.flatMap(({ path, value }): PlannedLogicTree[] =>
    path.length === 0 && value.field.name === table?.distributionColumn
      ? [{ kind: 'filter', filter: resolveFilter(table, cache.representations, value) }]
      : [],
  )
  return equalitiesOf(plan, where)
}

/** The conditions that follow from those of the parent and the joins of an embed. */
function derivedFilters(embed: EmbedPlan, ofParent: FiltersByColumn, cache: SchemaCache): ShardFilter[] {
  const found: ShardFilter[] = []
  const { toParent } = embed
  const derive = (
    from: { readonly relation: QualifiedIdentifier; readonly column: string },
    to: { readonly relation: QualifiedIdentifier; readonly column: string },
    tableOfTo: QualifiedIdentifier,
  ): void => {
    const table = cache.tables.get(qualifiedKey(tableOfTo.schema, tableOfTo.name))
    if (table?.distributionColumn !== to.column) return
    const source =
      ofParent.get(columnKey(from.relation, from.column)) ??
      found.find(({ relation, filter }) => isSame(relation, from.relation) && filter.field.name === from.column)
    // A value of another type may be invalid for this column.
    if (!source || source.filter.field.type !== table.columns.get(to.column)?.nominalType) return
    const filter = { ...source.filter, field: { ...source.filter.field, name: to.column } }
    found.push({ relation: to.relation, filter })
  }
  const junction =
    toParent.kind === 'foreign-key' && toParent.cardinality.kind === 'many-to-many'
      ? toParent.cardinality.junction.table
      : undefined
  // From the parent to the embed, or to the junction, and from there to the embed.
  const isOfEmbed = (relation: QualifiedIdentifier): boolean => isSame(relation, nameOf(embed))
  for (const { left, right } of embed.joinConditions) {
    if (!isOfEmbed(right.relation)) derive(right, left, junction ?? embed.from)
  }
  for (const { left, right } of embed.joinConditions) {
    if (isOfEmbed(right.relation)) derive(left, right, embed.from)
  }
  return found
}

const isSame = (one: QualifiedIdentifier, other: QualifiedIdentifier): boolean =>
  one.name === other.name && one.schema === other.schema
