// The relationships of tables and views, which supabase-js reads embeds from.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { qualifiedKey } from '../../catalogue/identifier.ts'
import type { OwningRelationship } from '../../catalogue/relationship-graph.ts'
import { compareNames } from './catalogue.ts'
import { openObject, property, quoted, type Type } from './source.ts'

/** Relationships by `qualifiedKey` of the relation with the foreign key. */
export type Relationships = ReadonlyMap<string, readonly OwningRelationship[]>

/** Groups the relationships within one schema: embeds across schemas do not exist. */
export function groupRelationships(relationships: readonly OwningRelationship[]): Relationships {
  const groups = new Map<string, OwningRelationship[]>()
  for (const relationship of relationships) {
    const { table, foreignTable } = relationship
    if (table.schema !== foreignTable.schema) continue
    const key = qualifiedKey(table.schema, table.name)
    const group = groups.get(key)
    if (group) group.push(relationship)
    else groups.set(key, [relationship])
  }
  return groups
}

/** The relationships of a relation as a tuple type. */
export function relationshipTypes({ schema, name }: QualifiedIdentifier, relationships: Relationships): Type {
  const printed = (relationships.get(qualifiedKey(schema, name)) ?? []).map(printable).sort(
    (a, b) =>
      compareNames(a.constraint, b.constraint) ||
      compareNames(a.referenced, b.referenced) ||
      compareNames(JSON.stringify(a.referencedColumns), JSON.stringify(b.referencedColumns)) ||
      // Views can show the columns of one key several times.
      compareNames(JSON.stringify(a.columns), JSON.stringify(b.columns)),
  )
  return {
    kind: 'tuple',
    items: printed.map(({ constraint, columns, isOneToOne, referenced, referencedColumns }) => ({
      type: openObject([
        property('foreignKeyName', quoted(constraint)),
        property('columns', names(columns)),
        property('isOneToOne', String(isOneToOne)),
        property('referencedRelation', quoted(referenced)),
        property('referencedColumns', names(referencedColumns)),
      ]),
    })),
  }
}

const names = (columns: readonly string[]): Type => ({
  kind: 'tuple',
  items: columns.map((name) => ({ type: quoted(name) })),
})

const printable = ({ cardinality, foreignTable }: OwningRelationship) => ({
  constraint: cardinality.constraint,
  columns: cardinality.columns.map(([own]) => own),
  isOneToOne: cardinality.kind === 'one-to-one',
  referenced: foreignTable.name,
  referencedColumns: cardinality.columns.map(([, other]) => other),
})
