// Counts the rows of a read regardless of its range.
import type { PlannedFilter } from '../plan/field.ts'
import type { ReadPlan } from '../plan/read-plan.ts'
import { allRows } from '../request/range.ts'
import { filterSql, joinConditionsOf, logicSql, whereSql } from './filter.ts'
import type { Fragment } from './fragment.ts'
import { readStatement } from './read.ts'
import { fromSql, relationOf } from './from.ts'

/**
 * Selects one row for every row of the plan's relation. The select list is left out, so that its functions do not run.
 * The rows are those of the read itself if they are distinct, or groups that a condition applies to.
 * Inner embeds and null filters on embeds become EXISTS, because they determine which rows count.
 *
 * @param selected what to select of each row of the relation, before rows are grouped or left out
 */
export function countStatement(plan: ReadPlan, selected?: string): Fragment {
  if (selected === undefined && (plan.distinct ?? plan.having)) {
    return ['SELECT 1 FROM (', readStatement({ ...plan, order: [], range: allRows }), ') AS pgrst_rows']
  }
  const relation = relationOf(plan)
  const leaf = (filter: PlannedFilter): Fragment => {
    if (filter.kind === 'field') return filterSql(relation, filter)
    const embed = plan.embeds.find(({ aggregateAlias }) => aggregateAlias === filter.aggregateAlias)
    if (embed === undefined) throw new Error(`the plan filters by ${filter.aggregateAlias}, which it does not embed`)
    return [filter.negated ? 'EXISTS (' : 'NOT EXISTS (', countStatement(embed), ')']
  }
  return [
    `SELECT ${selected ?? '1'}`,
    fromSql(plan),
    whereSql([
      ...plan.where.map((tree) => logicSql(tree, leaf)),
      ...joinConditionsOf(plan),
      ...plan.embeds
        .filter(({ joinType }) => joinType === 'inner')
        .map((embed) => ['EXISTS (', countStatement(embed), ' )']),
    ]),
  ]
}
