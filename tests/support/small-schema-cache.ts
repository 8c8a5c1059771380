// Concise constructors for schema caches. Everything is in the schema `api` unless qualified (`other.t`).
import type { QualifiedIdentifier } from '../../server/catalogue/identifier.ts'
import { qualifiedKey } from '../../server/catalogue/identifier.ts'
import type { MediaHandlers, ResolvedHandler } from '../../server/catalogue/media-handler.ts'
import { mediaHandlerKey } from '../../server/catalogue/media-handler.ts'
import { NameIndex } from '../../server/catalogue/name-index.ts'
import type {
  Cardinality,
  ColumnPairs,
  ForeignKeyRelationship,
  Relationship,
} from '../../server/catalogue/relationship.ts'
import { relationshipKey } from '../../server/catalogue/relationship.ts'
import type { Representation } from '../../server/catalogue/representation.ts'
import { representationKey } from '../../server/catalogue/representation.ts'
import type { Routine, RoutineParameter, Volatility } from '../../server/catalogue/routine.ts'
import type { SchemaCache } from '../../server/catalogue/schema-cache.ts'
import type { Column, Table } from '../../server/catalogue/table.ts'

/** `projects` -> api.projects; `other.projects` -> other.projects. */
export function qi(text: string): QualifiedIdentifier {
  const [first = '', second] = text.split('.')
  return second === undefined ? { schema: 'api', name: first } : { schema: first, name: second }
}

const words = (text: string, separator: string): string[] => (text === '' ? [] : text.split(separator))

/** `id integer`; `color api.color/integer` is of a domain over integer; `n integer=1` has a default. */
function column(text: string): Column {
  const [name = '', typed = ''] = text.split(' ')
  const [types = '', defaultValue = null] = typed.split('=')
  const [nominalType = '', type = nominalType] = types.split('/')
  const rest = { description: null, nullable: true, maxLength: null, enumValues: [] }
  return { name, type, nominalType, default: defaultValue, ...rest }
}

/** `table('projects', 'id integer, name text', 'id')`. */
export function table(name: string, columns: string, primaryKey = ''): Table {
  const list = words(columns, ', ').map(column)
  return {
    ...qi(name),
    description: null,
    isView: false,
    insertable: true,
    updatable: true,
    deletable: true,
    primaryKey: words(primaryKey, ','),
    columns: new Map(list.map((item) => [item.name, item])),
  }
}

const pairs = (left: string, right: string): ColumnPairs => {
  const others = words(right, ',')
  return words(left, ',').map((name, at) => [name, others[at] ?? ''])
}

type Views = { readonly tableIsView?: boolean; readonly foreignTableIsView?: boolean }

const related = (from: string, to: string, cardinality: Cardinality, views: Views = {}): ForeignKeyRelationship => ({
  kind: 'foreign-key',
  table: qi(from),
  foreignTable: qi(to),
  isSelf: from === to,
  cardinality,
  tableIsView: false,
  foreignTableIsView: false,
  ...views,
})

/** A foreign key, in both directions: `foreignKey('fk', 'projects', 'client_id', 'clients', 'id')`. */
export function foreignKey(
  constraint: string,
  from: string,
  columns: string,
  to: string,
  toColumns: string,
  views: Views = {},
): Relationship[] {
  const back = { tableIsView: views.foreignTableIsView ?? false, foreignTableIsView: views.tableIsView ?? false }
  return [
    related(from, to, { kind: 'many-to-one', constraint, columns: pairs(columns, toColumns) }, views),
    related(to, from, { kind: 'one-to-many', constraint, columns: pairs(toColumns, columns) }, back),
  ]
}

/** A unique foreign key. */
export function oneToOne(constraint: string, from: string, columns: string, to: string, toColumns: string) {
  const there = { kind: 'one-to-one', constraint, columns: pairs(columns, toColumns), isParent: false } as const
  const back = { kind: 'one-to-one', constraint, columns: pairs(toColumns, columns), isParent: true } as const
  return [related(from, to, there), related(to, from, back)]
}

/** Two foreign keys of a junction table, in one direction. */
export function manyToMany(
  from: string,
  to: string,
  junction: string,
  source: { readonly constraint: string; readonly columns: ColumnPairs },
  target: { readonly constraint: string; readonly columns: ColumnPairs },
): Relationship {
  return related(from, to, {
    kind: 'many-to-many',
    junction: {
      table: qi(junction),
      sourceConstraint: source.constraint,
      targetConstraint: target.constraint,
      sourceColumns: source.columns,
      targetColumns: target.columns,
    },
  })
}

/** A computed relationship. */
export const computed = (routine: string, from: string, to: string, isToOne = false): Relationship => ({
  kind: 'computed',
  function: qi(routine),
  table: qi(from),
  foreignTable: qi(to),
  isToOne,
  isSelf: from === to,
})

/** `a integer` is required, `b integer?` has a default, `c text...` is variadic; ` json` is unnamed. */
function parameter(text: string): RoutineParameter {
  const [name = '', typed = ''] = text.split(' ')
  const variadic = typed.endsWith('...')
  const required = !typed.endsWith('?')
  const type = variadic ? typed.slice(0, -3) : required ? typed : typed.slice(0, -1)
  return { name, type, castType: type, required, variadic }
}

/** `routine('add', 'a integer, b integer', 'integer')`; a return type `setof projects!` is a row type. */
export function routine(
  name: string,
  parameters: string,
  returns = 'pg_catalog.int4',
  volatility: Volatility = 'volatile',
): Routine {
  const list = words(parameters, ', ').map(parameter)
  const setOf = returns.startsWith('setof ')
  const composite = returns.endsWith('!')
  const type = qi(returns.replace('setof ', '').replace('!', ''))
  return {
    ...qi(name),
    description: null,
    parameters: list,
    returns: { setOf, type, composite, compositeAlias: false },
    volatility,
    hasVariadic: list.some(({ variadic }) => variadic),
    isolationLevel: null,
    settings: [],
  }
}

const json: ResolvedHandler = { handler: { kind: 'json' }, mime: 'application/json' }

const builtInHandlers: MediaHandlers = new Map([
  [mediaHandlerKey(null, '*/*'), json],
  [mediaHandlerKey(null, 'application/json'), json],
  [mediaHandlerKey(null, 'text/csv'), { handler: { kind: 'csv' }, mime: 'text/csv' }],
  [mediaHandlerKey(null, 'application/geo+json'), { handler: { kind: 'geojson' }, mime: 'application/geo+json' }],
])

function grouped<T>(list: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of list) groups.set(key(item), [...(groups.get(key(item)) ?? []), item])
  return groups
}

/** A schema cache of these objects, with the built-in media handlers. */
export function schemaCache(parts: {
  readonly tables?: readonly Table[]
  readonly relationships?: readonly (Relationship | readonly Relationship[])[]
  readonly routines?: readonly Routine[]
  readonly representations?: readonly Representation[]
  readonly handlers?: MediaHandlers
}): SchemaCache {
  const { tables = [], relationships = [], routines = [], representations = [], handlers = new Map() } = parts
  const named = {
    tables: new Map(tables.map((item) => [qualifiedKey(item.schema, item.name), item])),
    relationships: grouped(relationships.flat(), (item) => relationshipKey(item.table, item.foreignTable.schema)),
    routines: grouped(routines, ({ schema, name }) => qualifiedKey(schema, name)),
  }
  return {
    ...named,
    names: new NameIndex(named),
    representations: new Map(
      representations.map((item) => [representationKey(item.sourceType, item.targetType), item]),
    ),
    isSound: true,
    isDistributed: false,
    textTypes: { types: new Set(), arrays: new Set() },
    stableRelations: new Set(),
    quietRelations: new Set(),
    quietlyWritten: new Set(),
    quietRoutines: new Set(),
    mediaHandlers: new Map([...builtInHandlers, ...handlers]),
    postgresVersion: 180000,
    checksSessions: false,
    keepsResponses: false,
  }
}
