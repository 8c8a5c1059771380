// The OpenAPI description of a schema as the caller may see it: its statements, and the document.
import type { RestSettings } from '../settings.ts'
import type { PipelineStatement } from '../database.ts'
import type { RawRow } from '../row-transfer.ts'
import { decodeSchemaDescription, schemaDescriptionQuery } from '../../catalogue/privileges.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { postgrestVersion } from '../../common/version.ts'
import type { InspectPlan } from '../plan/plan.ts'
import { postgrestDocument, type DescribedSchema } from './document.ts'
import { privilegeQueries, visibleSchema } from './model.ts'

/** The statements: the comment on the schema, and the caller's privileges unless they are ignored. */
export function inspectStatements(
  { schema }: InspectPlan,
  { openapiMode }: Pick<RestSettings, 'openapiMode'>,
): readonly PipelineStatement[] {
  return [schemaDescriptionQuery(schema), ...(openapiMode === 'follow-privileges' ? privilegeQueries(schema) : [])]
}

const decodable = (rows: readonly RawRow[] = []): { row: unknown }[] =>
  rows.map(([field]) => ({ row: field?.toString() ?? null }))

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
  const privileges = tables && routines && ([decodable(tables), decodable(routines)] as const)
  return postgrestDocument({
    ...visibleSchema(schema, cache, privileges),
    schemaDescription: decodeSchemaDescription(decodable(description)),
    settings,
    mountPath,
    isRated,
    version: postgrestVersion,
    documentation: 'https://postgrest.org/en/v16/references/api.html',
  })
}
