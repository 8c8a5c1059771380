// The OpenAPI description of a schema as the caller may see it: its statements, and the document.
import type { RestSettings } from '../settings.ts'
import type { PipelineStatement, RawRow } from '../database.ts'
import {
  accessibleRoutinesQuery,
  accessibleTablesQuery,
  decodeAccessibleRoutines,
  decodeAccessibleTables,
  decodeSchemaDescription,
  schemaDescriptionQuery,
} from '../../catalogue/privileges.ts'
import type { Routine } from '../../catalogue/routine.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { postgrestVersion } from '../../common/version.ts'
import type { InspectPlan } from '../plan/plan.ts'
import { postgrestDocument, type DescribedSchema } from './document.ts'

/** The statements: the comment on the schema, and the caller's privileges unless they are ignored. */
export function inspectStatements(
  { schema }: InspectPlan,
  { openapiMode }: Pick<RestSettings, 'openapiMode'>,
): readonly PipelineStatement[] {
  const description = schemaDescriptionQuery(schema)
  if (openapiMode !== 'follow-privileges') return [description]
  return [description, accessibleTablesQuery(schema), accessibleRoutinesQuery(schema)]
}

const decodable = (rows: readonly RawRow[] = []): { row: unknown }[] =>
  rows.map(([field]) => ({ row: field?.toString() ?? null }))

const inSchema = (schema: string, routines: Iterable<readonly Routine[]>): Routine[] =>
  [...routines].flat().filter((routine) => routine.schema === schema)

/**
 * The document as JSON text, from the rows of `inspectStatements`.
 *
 * @param isRated whether the caller's requests per second are limited
 */
export function inspectDocument(
  { schema }: InspectPlan,
  [description, tables, routines]: readonly (readonly RawRow[])[],
  cache: SchemaCache,
  settings: DescribedSchema['settings'],
  mountPath: string,
  isRated: boolean,
): string {
  const accessible = tables && decodeAccessibleTables(decodable(tables))
  const described = [...cache.tables].filter(
    ([key, table]) => table.schema === schema && (accessible === undefined || accessible.has(key)),
  )
  return postgrestDocument({
    tables: described.map(([, table]) => table),
    routines: inSchema(schema, (routines ? decodeAccessibleRoutines(decodable(routines)) : cache.routines).values()),
    relationships: cache.relationships,
    schemaDescription: decodeSchemaDescription(decodable(description)),
    settings,
    mountPath,
    isRated,
    version: postgrestVersion,
    documentation: 'https://postgrest.org/en/v16/references/api.html',
  })
}
