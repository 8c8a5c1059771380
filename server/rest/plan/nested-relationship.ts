// The relationship that a key of a body names.
import { relationshipKey, type Relationship } from '../../schema-cache/relationship.ts'
import type { SchemaCache } from '../../schema-cache/schema-cache.ts'
import type { Table } from '../../schema-cache/table.ts'
import { ApiError } from '../errors.ts'
import { parseNestedKey } from '../request/nested-key.ts'
import { chooseRelationship } from './relationship-choice.ts'

const noRelationship = 'PGRST200'

/** Like `chooseRelationship`, but returns undefined when there is none. */
function find(cache: SchemaCache, table: Table, target: string, hint: string | null): Relationship | undefined {
  if (!cache.relationships.has(relationshipKey(table, table.schema))) return undefined
  try {
    return chooseRelationship(cache, { schema: table.schema, name: table.name }, target, hint)
  } catch (error) {
    if (error instanceof ApiError && error.code === noRelationship) return undefined
    throw error
  }
}

/**
 * The relationship that a key of a body names, by the rules of embeds; undefined if it is the name of a column, or of
 * nothing.
 *
 * @throws ApiError PGRST201 when there are several
 */
export function nestedRelationship(cache: SchemaCache, table: Table, key: string): Relationship | undefined {
  if (table.columns.has(key)) return undefined
  const exact = find(cache, table, key, null)
  if (exact) return exact
  const parsed = parseNestedKey(key)
  return parsed && find(cache, table, parsed.relation, parsed.hint)
}
