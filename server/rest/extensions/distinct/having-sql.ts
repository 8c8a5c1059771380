// HAVING clauses.
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { GroupConditions, PlannedGroupFilter } from './grouping.ts'
import { logicSql, operationSql } from '../../sql/filter.ts'
import { join, type Fragment } from '../../sql/fragment.ts'
import { valueSql } from '../../sql/select.ts'

/** ` HAVING a AND b`. */
export function havingSql(relation: QualifiedIdentifier, conditions: GroupConditions): Fragment {
  const leaf = (filter: PlannedGroupFilter): Fragment => {
    const { field, negated, operation } = filter
    // As in other filters, a representation converts the value of the condition and not the field.
    const compared = valueSql(relation, { ...filter, field: { ...field, transform: null } })
    return [negated ? 'NOT ' : '', compared, operationSql(operation, field)]
  }
  const trees = conditions.map((tree) => logicSql(tree, leaf))
  return [' HAVING ', join(trees, ' AND ')]
}
