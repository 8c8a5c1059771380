// Bodies of POST with related rows, as JSON Schema.
import { anyObject, type JsonSchema } from '../../http/json-schema.ts'
import type { RelationModel } from '../../rest/openapi/model.ts'

/** A row with related rows, and an array of such rows; empty for a table without relationships. */
export function nestedBodies({ table, related }: RelationModel): readonly JsonSchema[] {
  if (related.length === 0) return []
  const row: JsonSchema = {
    type: 'object',
    title: `New row of ${table.name} with related rows`,
    description:
      'Columns, and related rows by the names by which they are embedded. All of them are written in one transaction. The details of an error begin with a JSON pointer into the body.',
    properties: Object.fromEntries(
      related.map(({ name, isToOne }) => [
        name,
        isToOne
          ? { type: ['object', 'null'], description: `The row of \`${name}\`.` }
          : { type: 'array', items: anyObject, description: `Rows of \`${name}\`.` },
      ]),
    ),
    anyOf: related.map(({ name }) => ({ required: [name] })),
  }
  return [row, { type: 'array', items: row }]
}
