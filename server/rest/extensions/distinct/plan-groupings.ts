// The parameters `distinct` and `having`: a pass that adds them to their relations, and the checks of the result.
import { qualifiedKey, type QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import { isToOne } from '../../../catalogue/relationship.ts'
import type { Representations } from '../../../catalogue/representation.ts'
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'
import type { Table } from '../../../catalogue/table.ts'
import { errors } from '../../errors.ts'
import type { ApiRequest } from '../../request/api-request.ts'
import type { Distinct, DistinctKey } from './distinct.ts'
import type { AtPath } from '../../request/field.ts'
import type { LogicTree } from '../../request/filter.ts'
import type { GroupFilter } from './having.ts'
import { embedName, updateAll } from '../../plan/embed-path.ts'
import type { EmbedTree } from '../../plan/embed-tree.ts'
import type { PlannedSelectField } from '../../plan/field.ts'
import { resolveField, resolveFilter } from '../../plan/field-resolution.ts'
import { distinctSql } from './distinct-sql.ts'
import { havingSql } from './having-sql.ts'
import { sortedTexts } from '../../../text/code-point-order.ts'
import type {
  GroupConditions,
  GroupingSql,
  PlannedDistinct,
  PlannedDistinctKey,
  PlannedGroupFilter,
} from './grouping.ts'
import type { PlanContext } from '../../plan/plan-context.ts'
import { mapTree } from '../../plan/plan-tree.ts'
import type { CrudPlan } from '../../plan/plan.ts'
import type { ReadNode, ReadPlan } from '../../plan/read-plan.ts'
import { embedsByName, type RelatedEmbed } from '../../plan/related-embed.ts'

/** @throws ApiError PGRST108; PGRSTX32 for the root of a write */
export function addGroupings(tree: EmbedTree, context: PlanContext): EmbedTree {
  const { request, settings } = context
  const { groupings } = request.queryParams
  if (groupings === undefined) return tree
  if (request.shape.action.kind === 'mutate') {
    if (groupings.distinct.some(isOfRoot)) throw errors.groupingOfWrite('distinct')
    if (groupings.having.some(isOfRoot)) throw errors.groupingOfWrite('having')
  }
  const { representations } = context.cache
  const legacyNames = settings.urlUseLegacyTargetNames
  const distinct = updateAll(tree, groupings.distinct, legacyNames, (target, [value]) =>
    value ? { ...target, distinct: resolveDistinct(value, tableOf(context, target), target.select) } : target,
  )
  return updateAll(distinct, groupings.having, legacyNames, (target, added) => {
    const table = tableOf(context, target)
    return { ...target, having: added.map((value) => resolveHaving(table, representations, value)) }
  })
}

const isOfRoot = ({ path }: AtPath<unknown>): boolean => path.length === 0

const tableOf = ({ cache, relation }: PlanContext, { relationName }: EmbedTree): Table | undefined =>
  cache.tables.get(qualifiedKey(relation.schema, relationName))

const resolveDistinct = (
  distinct: Distinct,
  table: Table | undefined,
  select: readonly PlannedSelectField[],
): PlannedDistinct => {
  if (distinct.kind === 'rows') return distinct
  // Of equal aliases, the first one counts.
  const byAlias = new Map(select.toReversed().map((item) => [item.alias, item]))
  return { kind: 'on', keys: distinct.keys.map((key) => resolveKey(key, table, byAlias)) }
}

/** A name is a column, or else an alias in the select list, or else a computed field. */
function resolveKey(
  key: DistinctKey,
  table: Table | undefined,
  selected: ReadonlyMap<string | null, PlannedSelectField>,
): PlannedDistinctKey {
  if (key.kind === 'relation') return key
  const { field, cast } = key
  if (field.jsonPath.length === 0 && cast === null && !table?.columns.has(field.name)) {
    const aliased = selected.get(field.name)
    if (aliased) return { kind: 'expression', expression: { ...aliased, alias: null } }
  }
  const expression = { field: resolveField(table, field), aggregate: null, aggregateCast: null, cast, alias: null }
  return { kind: 'expression', expression }
}

function resolveHaving(
  table: Table | undefined,
  representations: Representations,
  tree: LogicTree<GroupFilter>,
): LogicTree<PlannedGroupFilter> {
  if (tree.kind === 'logic') {
    return { ...tree, operands: tree.operands.map((operand) => resolveHaving(table, representations, operand)) }
  }
  const { aggregate, cast, aggregateCast } = tree.filter
  const { field, negated, operation } = resolveFilter(table, representations, tree.filter)
  // The representation of a column does not apply to an aggregate or a cast of it.
  const compared = aggregate === null && cast === null ? field : { ...field, transform: null }
  return { kind: 'filter', filter: { field: compared, negated, operation, aggregate, cast, aggregateCast } }
}

/**
 * Resolves the names of embeds in the keys of a relation to the aliases of their joins.
 *
 * @param relationName name of the relation in error messages
 * @throws ApiError PGRST108 when there is no such embed, PGRST118 when it has many rows
 */
function plannedDistinct(
  distinct: PlannedDistinct,
  relationName: string,
  embeds: readonly RelatedEmbed[],
): PlannedDistinct {
  if (distinct.kind === 'rows') return distinct
  const byName = embedsByName(embeds)
  const keys = distinct.keys.map((key): PlannedDistinctKey => {
    if (key.kind === 'expression') return key
    const embed = byName.get(key.relation)
    if (!embed) throw errors.notEmbedded(key.relation)
    if (!isToOne(embed.toParent)) throw errors.relatedOrder(relationName, key.relation)
    return { ...key, relation: embed.aggregateAlias }
  })
  return { kind: 'on', keys }
}

const groupingSql: GroupingSql<ReadPlan> = { distinct: distinctSql, having: havingSql }

/** Adds the groupings of a relation to its plan. */
export function withGroupings(node: ReadNode, { distinct, having }: EmbedTree, embeds: readonly RelatedEmbed[]) {
  if (!distinct && !having) return node
  return {
    ...node,
    ...(distinct && { distinct: plannedDistinct(distinct, node.from.name, embeds) }),
    ...(having && { having }),
    groupingSql,
  }
}

/** Makes a function return the columns that the groupings of its result need. */
export function withReturnedColumns(plan: CrudPlan): CrudPlan {
  if (plan.kind !== 'call' || !plan.read.groupingSql) return plan
  const { call, read } = plan
  return { ...plan, call: { ...call, filterFields: sortedTexts([...call.filterFields, ...groupingColumns(read)]) } }
}

/** @throws ApiError PGRSTX31 for values that cannot be compared, PGRSTX33 for `having` of a spread */
export function checkGroupings(plan: ReadPlan, { request }: PlanContext): ReadPlan {
  if (request.queryParams.groupings === undefined) return plan
  return mapTree(plan, (node) => {
    if (node.having && node.spread !== null) throw errors.havingOfSpread(embedName(node))
    if (node.distinct?.kind === 'rows') node.select.forEach(checkComparable)
    if (node.having) node.select.filter(({ aggregate }) => aggregate === null).forEach(checkComparable)
    if (node.distinct?.kind === 'on') {
      for (const key of node.distinct.keys) if (key.kind === 'expression') checkComparable(key.expression)
    }
    return node
  })
}

/** Types of PostgreSQL that `DISTINCT` rejects. */
const incomparable = new Set(['json', 'jsonpath', 'xml', 'point', 'line', 'lseg', 'box', 'path', 'polygon', 'circle'])

function checkComparable({ field, aggregate, aggregateCast, cast }: PlannedSelectField): void {
  const type = aggregate === null ? (cast ?? typeOf(field)) : (aggregateCast ?? '')
  const element = type.trim().replace(/(?:\[\])+$/, '')
  if (incomparable.has(element)) throw errors.notComparable(nameOf(field), element)
}

/** The type of a selected value, as far as it is known. */
function typeOf({ baseType, jsonPath, transform }: PlannedSelectField['field']): string {
  if (transform !== null) return 'json'
  if (jsonPath.length === 0) return baseType
  return baseType === 'json' && jsonPath.at(-1)?.arrow === '->' ? 'json' : ''
}

const nameOf = ({ name, jsonPath }: PlannedSelectField['field']): string =>
  name + jsonPath.map(({ arrow, operand }) => arrow + operand.text.replace(/^\+/, '')).join('')

/** The columns that the groupings of a relation need. */
function groupingColumns({ distinct, having }: ReadPlan): readonly string[] {
  const ofKeys =
    distinct?.kind === 'on'
      ? distinct.keys.flatMap((key) => (key.kind === 'expression' ? [key.expression.field.name] : []))
      : []
  return [...ofKeys, ...(having ?? []).flatMap(conditionColumns)].filter((name) => name !== '*')
}

const conditionColumns = (tree: GroupConditions[number]): readonly string[] =>
  tree.kind === 'logic' ? tree.operands.flatMap(conditionColumns) : [tree.filter.field.name]

/**
 * Decides which of the parameters `distinct` and `having` are arguments of a function called with GET: those that one of
 * its overloads has a parameter for.
 */
export function withoutArguments(request: ApiRequest, cache: SchemaCache, routine: QualifiedIdentifier): ApiRequest {
  const { groupings, ambiguousArguments, ...queryParams } = request.queryParams
  if (groupings === undefined || ambiguousArguments === undefined) return request
  const overloads = cache.routines.get(qualifiedKey(routine.schema, routine.name)) ?? []
  const parameterNames = new Set(overloads.flatMap(({ parameters }) => parameters.map(({ name }) => name)))
  const isGrouping = {
    distinct: groupings.distinct.length > 0 && !parameterNames.has('distinct'),
    having: groupings.having.length > 0 && !parameterNames.has('having'),
  }
  return {
    ...request,
    queryParams: {
      ...queryParams,
      groupings: {
        distinct: isGrouping.distinct ? groupings.distinct : [],
        having: isGrouping.having ? groupings.having : [],
      },
      routineArguments: queryParams.routineArguments.filter(
        ([name]) => !((name === 'distinct' && isGrouping.distinct) || (name === 'having' && isGrouping.having)),
      ),
    },
  }
}
