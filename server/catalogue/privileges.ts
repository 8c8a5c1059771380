// What the current role may see of a schema, and the schema's comment. Read for every request of the OpenAPI document, in
// the transaction that has set the role. That transaction's search_path decides which type names are qualified.
import { decodeRow, introspectionQuery, type IntrospectionQuery, type CatalogRow } from './introspection.ts'
import { qualifiedKey, type QualifiedIdentifier } from './identifier.ts'
import { routinesQuery } from './routine-row.ts'

export { decodeRoutines as decodeAccessibleRoutines } from './routine-row.ts'

/** Relations of a schema on which the current role has any privilege. */
export const accessibleTablesQuery = (schema: string): IntrospectionQuery =>
  introspectionQuery('accessible-tables', schema)

/** The rows of `accessibleTablesQuery` as keys of `SchemaCache.tables`. */
export const decodeAccessibleTables = (rows: readonly CatalogRow[]): ReadonlySet<string> =>
  new Set(rows.map(decodeRow<QualifiedIdentifier>).map(({ schema, name }) => qualifiedKey(schema, name)))

/** Functions of a schema that the current role may execute; decoded by `decodeAccessibleRoutines`. */
export const accessibleRoutinesQuery = (schema: string): IntrospectionQuery =>
  routinesQuery({ schemas: [schema], hoistedSettings: [], executableOnly: true })

/** Reads the comment on a schema. */
export const schemaDescriptionQuery = (schema: string): IntrospectionQuery =>
  introspectionQuery('schema-description', schema)

/** The row of `schemaDescriptionQuery`; null when the schema has no comment. */
export function decodeSchemaDescription([row]: readonly CatalogRow[]): string | null {
  return row ? decodeRow<{ readonly description: string | null }>(row).description : null
}
