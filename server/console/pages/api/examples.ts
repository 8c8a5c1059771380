// Requests that fit the data: their values are those of a row that the viewer sees, or else fit the types.
import type { ColumnDetails, RelationDetails, RoutineSummary } from '../../../services/console/schema-protocol.ts'
import { isNull, objectOf, textOf, type Row } from '../../rest/cells.ts'
import { equals, quotedName, type Parameter } from '../../rest/filter.ts'

export type Operation = 'list' | 'row' | 'insert' | 'update' | 'delete'

export type Example = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly parameters: readonly Parameter[]
  /** JSON; undefined without a body. */
  readonly body: string | undefined
}

const samples: Readonly<Record<string, string>> = {
  uuid: '"00000000-0000-4000-8000-000000000000"',
  date: '"2026-01-31"',
  time: '"12:30:00"',
  timetz: '"12:30:00+00"',
  timestamp: '"2026-01-31T12:30:00"',
  timestamptz: '"2026-01-31T12:30:00Z"',
  interval: '"1 hour"',
  json: '{}',
  jsonb: '{}',
  bytea: '"\\\\x00"',
  inet: '"192.0.2.1"',
}

/** A value of the column's type, as JSON. */
function sampleOf({ isArray, category, baseType, enumValues }: ColumnDetails): string {
  if (isArray) return '[]'
  if (category === 'B') return 'true'
  if (category === 'N') return '1'
  if (category === 'E') return JSON.stringify(enumValues[0] ?? '')
  return samples[baseType] ?? '"text"'
}

/** The value of a parameter of a function, by the name of its type. */
function sampleOfType(type: string): string {
  if (type.endsWith('[]')) return '[]'
  if (/^(?:smallint|integer|bigint|numeric|real|double precision)/.test(type)) return '1'
  if (type === 'boolean') return 'true'
  const names: Readonly<Record<string, string>> = {
    'timestamp with time zone': 'timestamptz',
    'timestamp without time zone': 'timestamp',
    'time without time zone': 'time',
    'time with time zone': 'timetz',
  }
  return samples[names[type] ?? type] ?? '"text"'
}

const isWritable = ({ generated, identity }: ColumnDetails): boolean => generated === null && identity === null

/** @param row one that the viewer sees; undefined without any */
export function exampleOf(operation: Operation, relation: RelationDetails, row: Row | undefined): Example {
  const valueOf = (column: ColumnDetails): string => {
    const json = row?.get(column.name)
    return json === undefined || isNull(json) ? sampleOf(column) : json
  }
  const byName = new Map(relation.columns.map((column) => [column.name, column]))
  const keyColumns = relation.primaryKey.flatMap((name) => byName.get(name) ?? [])
  const addressed = keyColumns.length > 0 ? keyColumns : relation.columns.slice(0, 1)
  const key = addressed.map((column) => equals(column.name, textOf(valueOf(column))))
  const writable = relation.columns.filter(isWritable)
  const changed = writable.filter(({ name }) => !relation.primaryKey.includes(name)).slice(0, 1)
  const required = writable.filter(({ isNullable, default: given }) => !isNullable && given === null)
  const inserted = required.length > 0 ? required : changed
  const body = (columns: readonly ColumnDetails[]): string =>
    objectOf(columns.map((it) => [it.name, valueOf(it)] as const))
  switch (operation) {
    case 'list':
      return { method: 'GET', parameters: listParameters(relation), body: undefined }
    case 'row':
      return { method: 'GET', parameters: [['select', '*'], ...key], body: undefined }
    case 'insert':
      return { method: 'POST', parameters: [], body: body(inserted) }
    case 'update':
      return { method: 'PATCH', parameters: key, body: body(changed) }
    case 'delete':
      return { method: 'DELETE', parameters: key, body: undefined }
    default:
      return operation satisfies never
  }
}

/** A list with an embed, if a foreign key leads to a single relation. */
function listParameters({ links, primaryKey, schema }: RelationDetails): readonly Parameter[] {
  const targets = links.filter((link) => link.direction === 'to' && link.schema === schema)
  const single = targets.find((link) => targets.filter(({ name }) => name === link.name).length === 1)
  const order = primaryKey[0]
  return [
    ['select', single ? `*,${quotedName(single.name)}(*)` : '*'],
    ...(order === undefined ? [] : [['order', `${quotedName(order)}.asc`] as const]),
    ['limit', '20'],
  ]
}

/** The body of a call with the required parameters. */
export const callBody = ({ parameters }: RoutineSummary): string =>
  objectOf(
    parameters
      .filter(({ name, isRequired }) => isRequired && name !== '')
      .map(({ name, type }) => [name, sampleOfType(type)] as const),
  )

/** A name as the key of a type: without quotes, or with those that need fewer escapes. */
function keysOf(name: string): readonly string[] {
  const double = JSON.stringify(name)
  const single = double.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return [name, double, `'${single}'`]
}

/** The part of generated types that describes a relation or a function; undefined if it is not there. */
export function typesOf(types: string, path: readonly string[]): string | undefined {
  let lines: readonly string[] = types.split('\n')
  for (const [depth, name] of path.entries()) {
    const indent = '  '.repeat(depth + 1)
    const keys = keysOf(name).map((key) => `${indent}${key}: `)
    const first = lines.findIndex((line) => keys.some((key) => line.startsWith(key)))
    if (first < 0) return undefined
    const length = lines.slice(first + 1).findIndex((line) => line !== '' && !line.startsWith(`${indent} `)) + 1
    lines = lines.slice(first, first + Math.max(1, length + (lines[first + length]?.startsWith(`${indent}}`) ? 1 : 0)))
  }
  return lines.map((line) => line.slice(2 * path.length)).join('\n')
}
