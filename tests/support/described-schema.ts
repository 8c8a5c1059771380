// Tables, relationships and functions written by hand, for tests of the OpenAPI documents.
import {
  relationshipKey,
  type Cardinality,
  type Relationship,
  type Relationships,
} from '../../server/catalogue/relationship.ts'
import type { Routine, RoutineParameter } from '../../server/catalogue/routine.ts'
import type { Column, Table } from '../../server/catalogue/table.ts'

export const column = (name: string, type: string, more: Partial<Column> = {}): Column => ({
  name,
  type,
  nominalType: type,
  description: null,
  nullable: true,
  maxLength: null,
  default: null,
  enumValues: [],
  ...more,
})

export const table = (name: string, columns: readonly Column[], more: Partial<Table> = {}): Table => ({
  schema: 'api',
  name,
  description: null,
  isView: false,
  insertable: true,
  updatable: true,
  deletable: true,
  primaryKey: [],
  columns: new Map(columns.map((it) => [it.name, it])),
  ...more,
})

export const parameter = (name: string, type: string, more: Partial<RoutineParameter> = {}): RoutineParameter => ({
  name,
  type,
  castType: type,
  required: true,
  variadic: false,
  ...more,
})

export const routine = (
  name: string,
  parameters: readonly RoutineParameter[] = [],
  more: Partial<Routine> = {},
): Routine => ({
  schema: 'api',
  name,
  description: null,
  parameters,
  returns: {
    setOf: false,
    composite: false,
    compositeAlias: false,
    type: { schema: 'pg_catalog', name: 'int4' },
  },
  volatility: 'volatile',
  hasVariadic: parameters.some(({ variadic }) => variadic),
  isolationLevel: null,
  settings: [],
  ...more,
})

const api = (name: string) => ({ schema: 'api', name })

export const relationship = (
  from: string,
  to: string,
  cardinality: Cardinality,
  foreignTableIsView = false,
): Relationship => ({
  kind: 'foreign-key',
  table: api(from),
  foreignTable: api(to),
  isSelf: from === to,
  cardinality,
  tableIsView: false,
  foreignTableIsView,
})

/** `from.column` references `to.target`. */
export const manyToOne = (from: string, column: string, to: string, target = 'id', isView = false): Relationship =>
  relationship(from, to, { kind: 'many-to-one', constraint: `${from}_${column}`, columns: [[column, target]] }, isView)

export function relationships(...all: readonly Relationship[]): Relationships {
  const map = new Map<string, Relationship[]>()
  for (const it of all) {
    const key = relationshipKey(it.table, it.foreignTable.schema)
    map.set(key, [...(map.get(key) ?? []), it])
  }
  return map
}
