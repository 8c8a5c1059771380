// Counts the rows of a read regardless of its range.
import type { PlannedFilter } from '../plan/field.ts'
import type { ReadPlan } from '../plan/read-plan.ts'
import { filterSql, joinConditionSql, logicSql, whereSql } from './filter.ts'
import type { Fragment } from './fragment.ts'
import { fromSql, relationOf } from './from.ts'

/**
 * Selects one row for every row of the plan's relation. The select list is left out, so that its functions do not run.
 * Inner embeds and null filters on embeds become EXISTS, because they determine which rows count.
 *
 * @param selected what is selected of each row
 */
export function countStatement(plan: ReadPlan, selected = '1'): Fragment {
  const relation = relationOf(plan)
  const leaf = (filter: PlannedFilter): Fragment => {
    if (filter.kind === 'field') return filterSql(relation, filter)
    const embed = plan.embeds.find(({ aggregateAlias }) => aggregateAlias === filter.aggregateAlias)
    if (embed === undefined) throw new Error(`the plan filters by ${filter.aggregateAlias}, which it does not embed`)
    return [filter.negated ? 'EXISTS (' : 'NOT EXISTS (', countStatement(embed), ')']
  }
  return [
    `SELECT ${selected}`,
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
