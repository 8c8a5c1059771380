// Rows of relations as JSON Schema.
import type { ColumnModel, RelationModel } from '../../rest/openapi/model.ts'
import type { JsonSchema } from '../../http/json-schema.ts'
import { typeSchema } from './postgres-type.ts'

export type RowSchemas = {
  /** A row in responses without `select`. Columns that are never null are required. */
  readonly row: JsonSchema
  /** A row to insert. Columns that are never null and have no default are required. */
  readonly insert: JsonSchema
}

/** The schemas of a relation, derived from its columns. */
export function rowSchemas({ table, columns }: RelationModel): RowSchemas {
  const row: JsonSchema = {
    title: table.name,
    ...(table.description === null ? {} : { description: table.description }),
    type: 'object',
    properties: propertiesOf(columns, true),
  }
  const names = (filtered: readonly ColumnModel[]): readonly string[] => filtered.map(({ name }) => name)
  const always = columns.filter(({ nullable }) => !nullable)
  return {
    row: always.length === 0 ? row : { ...row, required: names(always) },
    insert: {
      ...row,
      title: `New row of ${table.name}`,
      // Generators of types take properties with a `default` as always present, also in bodies.
      properties: propertiesOf(columns, false),
      required: names(always.filter((column) => column.default === null)),
      additionalProperties: false,
    },
  }
}

// `Object.fromEntries` creates own properties for all names, even for a column `__proto__`.
const propertiesOf = (columns: readonly ColumnModel[], hasDefaults: boolean): JsonSchema =>
  Object.fromEntries(columns.map((column) => [column.name, columnSchema(column, hasDefaults)]))

/** @param hasDefaults whether constant defaults are given as `default`; otherwise as text */
function columnSchema(column: ColumnModel, hasDefaults: boolean): JsonSchema {
  const { enumValues, maxLength, isPrimaryKey, foreignKey } = column
  const base = enumValues.length > 0 ? { type: 'string', enum: enumValues } : typeSchema(column.type)
  const constant = column.default === null || !hasDefaults ? undefined : constantOf(column.default, base.type)
  const description = [
    column.description,
    isPrimaryKey ? 'Primary key.' : null,
    foreignKey ? `Foreign key to \`${foreignKey.table}.${foreignKey.column}\`.` : null,
    column.default !== null && constant === undefined ? `By default \`${column.default}\`.` : null,
  ]
    .filter((note) => note !== null)
    .join('\n\n')
  return {
    ...(column.nullable ? orNull(base) : base),
    ...(maxLength !== null && base.type === 'string' ? { maxLength } : {}),
    ...(constant === undefined ? {} : { default: constant }),
    ...(description === '' ? {} : { description }),
  }
}

function orNull(schema: JsonSchema): JsonSchema {
  if (schema.type === undefined) return schema
  const values = schema.enum as readonly unknown[] | undefined
  return { ...schema, type: [schema.type, 'null'], ...(values ? { enum: [...values, null] } : {}) }
}

const quotedText = /^'((?:[^']|'')*)'::[^']+$/

/** The value of a constant default; undefined for expressions, and for numbers that would lose digits. */
function constantOf(expression: string, type: unknown): string | number | boolean | undefined {
  const quoted = quotedText.exec(expression)?.[1]
  switch (type) {
    case 'string':
      return quoted?.replaceAll("''", "'")
    case 'boolean':
      return expression === 'true' ? true : expression === 'false' ? false : undefined
    case 'integer':
    case 'number': {
      const digits = quoted ?? expression
      return /^-?\d[\d.]{0,14}$/.test(digits) && Number.isFinite(Number(digits)) ? Number(digits) : undefined
    }
    default:
      return undefined
  }
}
