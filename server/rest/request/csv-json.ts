// JSON in CSV. PostgREST writes the JSON text of a field into a column of type json as a JSON string.
import { qualifiedKey } from '../../catalogue/identifier.ts'
import { representationKey } from '../../catalogue/representation.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { JsonScanner } from '../../text/json-scanner.ts'
import type { Action } from './api-request.ts'

/** Whether a column has the type json or jsonb. */
export type IsJsonColumn = (name: string) => boolean

export const noJsonColumn: IsJsonColumn = () => false

/**
 * The columns of the table of a write whose fields may be JSON. A domain with a cast from json receives a string, as in
 * PostgREST. No columns of unknown tables, nor arguments of functions.
 */
export function jsonColumnsOf(action: Action, cache: SchemaCache | undefined): IsJsonColumn {
  if (action.kind !== 'mutate' || !cache) return noJsonColumn
  const { schema, name } = action.relation
  const columns = cache.tables.get(qualifiedKey(schema, name))?.columns
  return (column) => {
    const { type, nominalType } = columns?.get(column) ?? { type: '', nominalType: '' }
    if (type !== 'json' && type !== 'jsonb') return false
    return !cache.representations.has(representationKey('json', nominalType))
  }
}

const mayBeJson = /^[ \t\n\r]*[-{["\dtfn]/

/**
 * The JSON that a field of CSV contains, without line feeds.
 *
 * @returns undefined for any other text, and for JSON that PostgreSQL cannot store as jsonb
 */
export function jsonOfField(field: string): string | undefined {
  if (!mayBeJson.test(field)) return undefined
  const bytes = Buffer.from(field)
  const scanner = new JsonScanner(bytes, {})
  if (scanner.scan(bytes.length) !== 'done' || !scanner.isStorable) return undefined
  // Line feeds in valid JSON are spaces.
  return field.replaceAll('\n', ' ')
}
