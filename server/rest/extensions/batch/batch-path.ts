import { qualifiedKey } from '../../../catalogue/identifier.ts'
import type { AnswerContext } from '../../extension.ts'
import { pathSegments } from '../../request/resource.ts'

/** The last segment of the path of batches. */
export const batchName = '$batch'

/** Whether a path is that of batches. A relation of an exposed schema with this name takes precedence. */
export function isBatchPath(
  path: string,
  { snapshot, schemaCache: cache }: Pick<AnswerContext, 'snapshot' | 'schemaCache'>,
): boolean {
  // No other name begins with these characters but those of relations.
  if (!path.startsWith('/$') && !path.startsWith('/%24')) return false
  const [name, ...others] = pathSegments(path)
  if (name !== batchName || others.length > 0) return false
  return !snapshot.config.dbSchemas.some((schema) => cache.tables.has(qualifiedKey(schema, batchName)))
}
