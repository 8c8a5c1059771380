// The part of a schema that a caller may use: what its role has privileges on.
import { decodeRow, introspectionQuery, type RunQuery } from '../../catalogue/introspection.ts'
import { qualifiedKey, type QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { accessibleRoutinesQuery, decodeAccessibleRoutines } from '../../catalogue/privileges.ts'
import { isToOne, relationshipKey, type Relationship } from '../../catalogue/relationship.ts'
import type { Routine } from '../../catalogue/routine.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { Column, Table } from '../../catalogue/table.ts'

export type VisibleRelation = {
  readonly table: Table
  /** Columns that the caller can read or write. */
  readonly columns: readonly Column[]
  /** select, insert, update, delete: of the whole relation or of some columns. */
  readonly commands: readonly string[]
}

export type Visible = {
  readonly schema: string
  readonly relations: readonly VisibleRelation[]
  readonly routines: readonly Routine[]
}

type PrivilegeRow = {
  readonly name: string
  readonly commands: readonly string[]
  readonly hidden: readonly string[]
}

/** @param query runs statements in a transaction of the caller's role */
export async function readVisible(query: RunQuery, cache: SchemaCache, schema: string): Promise<Visible> {
  const privileges = introspectionQuery('caller-privileges', schema)
  const routines = accessibleRoutinesQuery(schema)
  const rows = (await query(privileges.text, [...privileges.values])).map(decodeRow<PrivilegeRow>)
  const callable = decodeAccessibleRoutines(await query(routines.text, [...routines.values]))
  return {
    schema,
    relations: rows.flatMap(({ name, commands, hidden }) => {
      const table = cache.tables.get(qualifiedKey(schema, name))
      if (!table) return []
      const unseen = new Set(hidden)
      return [{ table, commands, columns: [...table.columns.values()].filter((it) => !unseen.has(it.name)) }]
    }),
    routines: [...callable.values()].flat().filter((routine) => routine.schema === schema),
  }
}

/** A relation in a list. */
export const outlineOf = ({ table: { name, isView, description }, columns, commands }: VisibleRelation): object => ({
  name,
  kind: isView ? 'view' : 'table',
  comment: description,
  may: commands,
  columns: columns.map((column) => `${column.name} ${column.nominalType}`),
})

/** A relation with what a request can name of it. */
export function describeRelation(
  { table, columns, commands }: VisibleRelation,
  visible: Visible,
  { relationships }: SchemaCache,
): object {
  const names = new Set(visible.relations.map((it) => it.table.name))
  const isVisible = ({ schema, name }: QualifiedIdentifier): boolean => schema === visible.schema && names.has(name)
  const known = (relationships.get(relationshipKey(table, visible.schema)) ?? []).filter(
    (it) => isVisible(it.foreignTable) && junctionsOf(it).every(isVisible),
  )
  return {
    name: table.name,
    kind: table.isView ? 'view' : 'table',
    comment: table.description,
    may: commands,
    primary_key: table.primaryKey,
    columns: columns.map(({ name, nominalType, nullable, default: value, enumValues, description }) => ({
      name,
      type: nominalType,
      nullable,
      default: value,
      ...(enumValues.length > 0 && { values: enumValues }),
      comment: description,
    })),
    relationships: known.map(describeRelationship),
  }
}

/** The table between two others. */
const junctionsOf = (relationship: Relationship): readonly QualifiedIdentifier[] =>
  relationship.kind === 'foreign-key' && relationship.cardinality.kind === 'many-to-many'
    ? [relationship.cardinality.junction.table]
    : []

/** A relationship as `select` names it. */
function describeRelationship(relationship: Relationship): object {
  const rows = isToOne(relationship) ? 'one' : 'many'
  if (relationship.kind === 'computed') return { embed: relationship.function.name, rows }
  const { cardinality, foreignTable } = relationship
  if (cardinality.kind === 'many-to-many') {
    return { embed: foreignTable.name, hint: cardinality.junction.table.name, rows }
  }
  return { embed: foreignTable.name, hint: cardinality.constraint, rows, columns: cardinality.columns }
}

export const describeRoutine = ({ name, description, parameters, returns, volatility }: Routine): object => ({
  name,
  comment: description,
  // Those that only read are called by read_rows.
  reads_only: volatility !== 'volatile',
  arguments: parameters.map((it) => `${it.name} ${it.type}${it.required ? '' : ' (optional)'}`),
  returns: `${returns.setOf ? 'setof ' : ''}${returns.type.schema === 'pg_catalog' ? '' : `${returns.type.schema}.`}${returns.type.name}`,
})
