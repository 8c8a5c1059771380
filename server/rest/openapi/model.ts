// What a schema offers: the model that the documents of OpenAPI 2.0 and 3.1 are both written from.
import {
  accessibleRoutinesQuery,
  accessibleTablesQuery,
  decodeAccessibleRoutines,
  decodeAccessibleTables,
} from '../../catalogue/privileges.ts'
import { relatedNames, type RelatedName } from '../../catalogue/related-names.ts'
import type { Relationships } from '../../catalogue/relationship.ts'
import type { Routine } from '../../catalogue/routine.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { Column, Table } from '../../catalogue/table.ts'
import { firstLine, type TitledComment } from './comment.ts'
import { foreignKeysOf, type ForeignKey } from './foreign-key.ts'

/** The part of a schema that a caller may see. */
export type VisibleSchema = {
  readonly tables: readonly Table[]
  readonly routines: readonly Routine[]
  readonly relationships: Relationships
}

export type RelationModel = {
  readonly table: Table
  readonly comment: TitledComment
  readonly columns: readonly ColumnModel[]
  /** The relationships that the body of POST may name; empty for a relation without inserts. */
  readonly related: readonly RelatedName[]
}

export type ColumnModel = Column & {
  readonly isPrimaryKey: boolean
  readonly foreignKey: ForeignKey | undefined
}

/** The statements that read the caller's privileges, for `visibleSchema`. */
export const privilegeQueries = (schema: string) =>
  [accessibleTablesQuery(schema), accessibleRoutinesQuery(schema)] as const

type Rows = Parameters<typeof decodeAccessibleRoutines>[0]

/** @param privileges rows of `privilegeQueries`; undefined: all parts of the schema are visible */
export function visibleSchema(
  schema: string,
  { tables, routines, relationships }: SchemaCache,
  privileges?: readonly [tables: Rows, routines: Rows],
): VisibleSchema {
  const accessible = privileges && decodeAccessibleTables(privileges[0])
  const callable = privileges ? decodeAccessibleRoutines(privileges[1]) : routines
  return {
    tables: Array.from(tables)
      .filter(([key, table]) => table.schema === schema && (accessible?.has(key) ?? true))
      .map(([, table]) => table),
    routines: [...callable.values()].flat().filter((routine) => routine.schema === schema),
    relationships,
  }
}

export function relationModel(table: Table, relationships: Relationships): RelationModel {
  const foreignKeys = foreignKeysOf(table, relationships)
  return {
    table,
    comment: firstLine(table.description),
    columns: Array.from(table.columns.values(), (column) => ({
      ...column,
      isPrimaryKey: table.primaryKey.includes(column.name),
      foreignKey: foreignKeys.get(column.name),
    })),
    related: table.insertable ? relatedNames(table, relationships) : [],
  }
}

/** Whether one of the functions has an argument of the name. */
export const takesArgument = (overloads: readonly Routine[], name: string): boolean =>
  overloads.some(({ parameters }) => parameters.some((parameter) => parameter.name === name))
