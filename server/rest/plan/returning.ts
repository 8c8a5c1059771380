// The columns that a mutation or a function has to return for the response.
import type { Relationship } from '../../catalogue/relationship.ts'
import { sortedTexts } from '../../text/code-point-order.ts'
import type { ReadPlan } from './read-plan.ts'

/**
 * The selected columns, the columns that embeds join on, and the primary key for the Location header; or `*` if it is
 * selected, or an embed is computed from the whole row. Sorted, without duplicates, because a column that is returned
 * twice would be ambiguous.
 */
export function returnedColumns({ select, embeds }: ReadPlan, primaryKey: readonly string[]): readonly string[] {
  const columns = new Set(select.map(({ field }) => field.name))
  if (columns.has('*')) return ['*']
  for (const { toParent } of embeds) {
    if (toParent.kind === 'computed') return ['*']
    for (const column of joinedColumns(toParent)) columns.add(column)
  }
  for (const column of primaryKey) columns.add(column)
  return sortedTexts(columns)
}

function joinedColumns(relationship: Extract<Relationship, { kind: 'foreign-key' }>): readonly string[] {
  const { cardinality } = relationship
  const pairs = cardinality.kind === 'many-to-many' ? cardinality.junction.sourceColumns : cardinality.columns
  return pairs.map(([column]) => column)
}
