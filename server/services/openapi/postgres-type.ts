// PostgreSQL types as JSON Schemas of their values in responses.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { JsonSchema } from '../../http/json-schema.ts'

const text: JsonSchema = { type: 'string' }
const int16: JsonSchema = { type: 'integer', format: 'int16' }
const int32: JsonSchema = { type: 'integer', format: 'int32' }
const int64: JsonSchema = { type: 'integer', format: 'int64' }
const float: JsonSchema = { type: 'number', format: 'float' }
const double: JsonSchema = { type: 'number', format: 'double' }
const boolean: JsonSchema = { type: 'boolean' }
// Only these two have the time zone that RFC 3339 requires.
const dateTime: JsonSchema = { type: 'string', format: 'date-time' }
const date: JsonSchema = { type: 'string', format: 'date' }

/** By the name that `format_type` returns, and by the catalogue's name where it differs. */
const known = new Map<string, JsonSchema>([
  ['boolean', boolean],
  ['bool', boolean],
  ['smallint', int16],
  ['int2', int16],
  ['integer', int32],
  ['int4', int32],
  ['bigint', int64],
  ['int8', int64],
  ['real', float],
  ['float4', float],
  ['double precision', double],
  ['float8', double],
  ['numeric', { type: 'number' }],
  ['uuid', { type: 'string', format: 'uuid' }],
  ['date', date],
  ['timestamp with time zone', dateTime],
  ['timestamptz', dateTime],
  ...[
    'text',
    'character',
    'bpchar',
    'character varying',
    'varchar',
    'name',
    '"char"',
    'citext',
    'xml',
    'bytea',
    'timestamp without time zone',
    'timestamp',
    'time without time zone',
    'time',
    'time with time zone',
    'timetz',
    'interval',
    'money',
    'inet',
    'cidr',
    'macaddr',
    'macaddr8',
    'bit',
    'bit varying',
    'varbit',
    'tsvector',
    'tsquery',
    'int4range',
    'int8range',
    'numrange',
    'daterange',
    'tsrange',
    'tstzrange',
    'jsonpath',
    'ltree',
  ].map((name) => [name, text] as const),
])

/**
 * The schema of a type's values. Any value is valid for json, jsonb, row types and unknown types.
 *
 * @param type as in `Column.type` or `RoutineParameter.type`
 */
export function typeSchema(type: string): JsonSchema {
  if (type.endsWith('[]')) return { type: 'array', items: typeSchema(type.slice(0, -2)) }
  // Types of extensions are qualified, and some types have modifiers: `extensions.citext`, `numeric(10,2)`.
  const bare = type.replace(/\(.*$/s, '')
  return known.get(bare) ?? known.get(bare.slice(bare.lastIndexOf('.') + 1)) ?? {}
}

/** The schema of a type by its name in the catalogue, where array types begin with an underscore. */
export const catalogTypeSchema = ({ schema, name }: QualifiedIdentifier): JsonSchema =>
  schema !== 'pg_catalog'
    ? {}
    : name.startsWith('_')
      ? { type: 'array', items: known.get(name.slice(1)) ?? {} }
      : (known.get(name) ?? {})
