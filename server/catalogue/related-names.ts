// The relationships of a table that a nested write can use by the name of the other table.
import { isToOne, relationshipKey, type Relationships } from './relationship.ts'
import type { Table } from './table.ts'

export type RelatedName = { readonly name: string; readonly isToOne: boolean }

/** The names of related tables, in code-point order. Leaves out names that are ambiguous, and those of columns. */
export function relatedNames(table: Table, relationships: Relationships): readonly RelatedName[] {
  const found = new Map<string, RelatedName | undefined>()
  for (const relationship of relationships.get(relationshipKey(table, table.schema)) ?? []) {
    const { name } = relationship.foreignTable
    if (relationship.kind === 'computed' || relationship.foreignTableIsView || table.columns.has(name)) continue
    // A table is related to itself in both directions. Its name stands for the rows that refer to the row.
    if (relationship.isSelf && relationship.cardinality.kind !== 'one-to-many') continue
    found.set(name, found.has(name) ? undefined : { name, isToOne: isToOne(relationship) })
  }
  return [...found.values()].filter((related) => related !== undefined).sort((a, b) => (a.name < b.name ? -1 : 1))
}
