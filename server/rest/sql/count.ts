// Counts the rows of a read regardless of its range.
import type { PagePlan } from '../extensions/keyset-pages/page-plan.ts'
import type { PlannedFilter, PlannedLogicTree } from '../plan/field.ts'
import { embedsByAlias, type ReadPlan } from '../plan/read-plan.ts'
import type { RequestShape } from '../request/api-request.ts'
import { allRows } from '../request/range.ts'
import { filterSql, joinConditionsOf, logicSql, whereSql } from './filter.ts'
import type { Fragment } from './fragment.ts'
import { readStatement } from './read.ts'
import { fromSql, relationOf } from './from.ts'
import { column, identifier, unqualified } from './identifier.ts'
import { isAllRows } from './order.ts'

/** The part of a request that decides what is counted. */
type CountedShape = Pick<RequestShape, 'preferences' | 'topLevelRange'>

/** Where the number of all rows is: nowhere, because it is not wanted, that of the page, or in a column of its own. */
export type TableTotal = 'none' | 'page' | 'column'

/**
 * Without any limit, the page has all rows. The page after a cursor does not have them.
 *
 * @param page of a keyset
 */
export function tableTotalOf(
  { preferences: { count }, topLevelRange }: CountedShape,
  dbMaxRows: number | null,
  page?: PagePlan,
): TableTotal {
  if (count !== 'exact' && count !== 'estimated') return 'none'
  return dbMaxRows === null && isAllRows(topLevelRange) && !page?.cursor ? 'page' : 'column'
}

/** Rows of a read that are counted at most: if there are more than `db-max-rows`, the planner's estimate is used. */
export const mostCounted = ({ preferences: { count } }: CountedShape, dbMaxRows: number | null): number | undefined =>
  count === 'estimated' && dbMaxRows !== null ? dbMaxRows + 1 : undefined

/**
 * Selects one row for every row of the plan's relation. The select list is left out, so that its functions do not run.
 * The rows are those of the read itself if they are distinct, or groups that a condition applies to.
 * Inner embeds and null filters on embeds become EXISTS, because they determine which rows count. Several conditions on
 * one embed share its EXISTS: otherwise the statement would double with each level of embeds.
 *
 * @param selected what to select of each row of the relation, before rows are grouped or left out
 */
export function countStatement(plan: ReadPlan, selected?: string): Fragment {
  if (selected === undefined && (plan.distinct ?? plan.having)) {
    return ['SELECT 1 FROM (', readStatement({ ...plan, order: [], range: allRows }), ') AS pgrst_rows']
  }
  const relation = relationOf(plan)
  const embeds = embedsByAlias(plan.embeds)
  const inner = plan.embeds.filter(({ joinType }) => joinType === 'inner').map(({ aggregateAlias }) => aggregateAlias)
  const uses = new Map<string, number>()
  for (const alias of [...inner, ...plan.where.flatMap(filteredEmbeds)]) uses.set(alias, (uses.get(alias) ?? 0) + 1)
  const exists = (alias: string): Fragment => {
    const embed = embeds.get(alias)
    if (embed === undefined) throw new Error(`the plan filters by ${alias}, which it does not embed`)
    return ['EXISTS (', countStatement(embed), ')']
  }
  const isShared = (alias: string): boolean => (uses.get(alias) ?? 0) > 1
  const condition = (alias: string): Fragment =>
    isShared(alias) ? column(unqualified(alias), existsName) : exists(alias)
  const leaf = (filter: PlannedFilter): Fragment => {
    if (filter.kind === 'field') return filterSql(relation, filter)
    const { aggregateAlias: alias, negated } = filter
    return [negated ? '' : 'NOT ', condition(alias)]
  }
  const shared = [...uses.keys()].filter(isShared)
  return [
    `SELECT ${selected ?? '1'}`,
    fromSql(plan),
    shared.map((alias) => [', LATERAL (SELECT ', exists(alias), ` AS ${existsName}) AS ${identifier(alias)}`]),
    whereSql([...plan.where.map((tree) => logicSql(tree, leaf)), ...joinConditionsOf(plan), ...inner.map(condition)]),
  ]
}

/** The column that says whether an embed has rows. */
const existsName = 'pgrst_exists'

/** Whether embeds decide which rows there are. */
export const dependsOnEmbeds = ({ embeds, where }: ReadPlan): boolean =>
  embeds.some(({ joinType }) => joinType === 'inner') || where.some((tree) => filteredEmbeds(tree).length > 0)

/** The aliases of the embeds that null filters are on. */
const filteredEmbeds = (tree: PlannedLogicTree): readonly string[] => {
  if (tree.kind === 'logic') return tree.operands.flatMap(filteredEmbeds)
  return tree.filter.kind === 'null-embed' ? [tree.filter.aggregateAlias] : []
}
