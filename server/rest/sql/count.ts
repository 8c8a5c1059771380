// Counting the rows that a read would find without its range.
import type { PlannedFilter } from '../plan/field.ts'
import type { ReadPlan } from '../plan/read-plan.ts'
import { filterSql, joinConditionSql, logicSql, whereSql } from './filter.ts'
import type { Fragment } from './fragment.ts'
import { fromSql, relationOf } from './from.ts'

/**
 * One row for every row of the plan's relation. Nothing is selected, so that no function of the select list runs; inner
 * embeds and null filters on embeds become EXISTS, because they decide which rows count.
 */
export function countStatement(plan: ReadPlan): Fragment {
  const relation = relationOf(plan)
  const leaf = (filter: PlannedFilter): Fragment => {
    if (filter.kind === 'field') return filterSql(relation, filter)
    const embed = plan.embeds.find(({ aggregateAlias }) => aggregateAlias === filter.aggregateAlias)
    if (embed === undefined) throw new Error(`the plan filters by ${filter.aggregateAlias}, which it does not embed`)
    return [filter.negated ? 'EXISTS (' : 'NOT EXISTS (', countStatement(embed), ')']
  }
  return [
    'SELECT 1',
    fromSql(plan),
    whereSql([
      ...plan.where.map((tree) => logicSql(tree, leaf)),
      ...plan.joinConditions.map(joinConditionSql),
      ...plan.embeds
        .filter(({ joinType }) => joinType === 'inner')
        .map((embed) => ['EXISTS (', countStatement(embed), ' )']),
    ]),
  ]
}
