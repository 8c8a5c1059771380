// Columns that refer to a column of another relation.
import { relationshipKey, type Cardinality, type Relationships } from '../../catalogue/relationship.ts'
import type { Table } from '../../catalogue/table.ts'

export type ForeignKey = { readonly table: string; readonly column: string }

/**
 * The foreign keys of a table by column name: only keys of one column, to relations in the same schema. Tables take
 * precedence over views.
 */
export function foreignKeysOf(table: Table, relationships: Relationships): ReadonlyMap<string, ForeignKey> {
  const found = new Map<string, ForeignKey>()
  const candidates = relationships.get(relationshipKey(table, table.schema)) ?? []
  for (const toView of [false, true]) {
    for (const relationship of candidates) {
      if (relationship.kind !== 'foreign-key' || relationship.foreignTableIsView !== toView) continue
      const pair = ownColumn(relationship.cardinality)
      if (pair && !found.has(pair[0])) found.set(pair[0], { table: relationship.foreignTable.name, column: pair[1] })
    }
  }
  return found
}

/** [column, foreign column] if the table has the foreign key, and it is of one column. */
function ownColumn(cardinality: Cardinality): readonly [string, string] | undefined {
  switch (cardinality.kind) {
    case 'many-to-one':
      return cardinality.columns.length === 1 ? cardinality.columns[0] : undefined
    case 'one-to-one':
      return cardinality.columns.length === 1 && !cardinality.isParent ? cardinality.columns[0] : undefined
    case 'one-to-many':
    case 'many-to-many':
      return undefined
    default:
      return cardinality satisfies never
  }
}
