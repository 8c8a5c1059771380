// The schema cache in the format of PostgREST's admin server (`/schema_cache`), for tools that read it.
import type { QualifiedIdentifier } from './identifier.ts'
import type { MediaHandler } from './media-handler.ts'
import type { Cardinality, Relationship } from './relationship.ts'
import type { IsolationLevel, ReturnType, Routine, Volatility } from './routine.ts'
import type { SchemaCache } from './schema-cache.ts'
import type { Column, Table } from './table.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** The whole snapshot as plain data for `JSON.stringify`. Maps with structured keys become lists of [key, value]. */
export function toJson(cache: SchemaCache): Json {
  return {
    dbMediaHandlers: [...cache.mediaHandlers].map(([key, { handler, mime }]) => {
      const [schema, name, requested] = splitKey(key)
      return [
        [targetJson(schema === '' ? null : { schema, name }), mediaTypeJson(requested)],
        [handlerJson(handler), mediaTypeJson(mime)],
      ]
    }),
    dbRelationships: [...cache.relationships].map(([key, relationships]) => {
      const [schema, name, foreignSchema] = splitKey(key)
      return [[identifierJson({ schema, name }), foreignSchema], relationships.map(relationshipJson)]
    }),
    dbRepresentations: [...cache.representations.values()].map((cast) => [
      [cast.sourceType, cast.targetType],
      { drFunction: cast.function, drSourceType: cast.sourceType, drTargetType: cast.targetType },
    ]),
    dbRoutines: [...cache.routines].map(([key, overloads]) => {
      const [schema, name] = splitKey(key)
      return [identifierJson({ schema, name }), overloads.map(routineJson)]
    }),
    dbTables: [...cache.tables.values()].map((table) => [identifierJson(table), tableJson(table)]),
  }
}

/** The parts of a map key, which NUL separates. */
function splitKey(key: string): [string, string, string] {
  const [first = '', second = '', third = ''] = key.split('\0')
  return [first, second, third]
}

const identifierJson = ({ schema, name }: QualifiedIdentifier): Json => ({ qiName: name, qiSchema: schema })

const tableJson = (table: Table): Json => ({
  // `Object.fromEntries` defines own properties for all names: `__proto__` is a valid column name.
  tableColumns: Object.fromEntries([...table.columns].map(([name, column]) => [name, columnJson(column)])),
  tableDeletable: table.deletable,
  tableDescription: table.description,
  tableInsertable: table.insertable,
  tableIsView: table.isView,
  tableName: table.name,
  tablePKCols: table.primaryKey,
  tableSchema: table.schema,
  tableUpdatable: table.updatable,
})

const columnJson = (column: Column): Json => ({
  colDefault: column.default,
  colDescription: column.description,
  colEnum: column.enumValues,
  colMaxLen: column.maxLength,
  colName: column.name,
  colNominalType: column.nominalType,
  colNullable: column.nullable,
  colType: column.type,
})

function relationshipJson(relationship: Relationship): Json {
  const tables = {
    relForeignTable: identifierJson(relationship.foreignTable),
    relIsSelf: relationship.isSelf,
    relTable: identifierJson(relationship.table),
  }
  switch (relationship.kind) {
    case 'foreign-key':
      return {
        relCardinality: cardinalityJson(relationship.cardinality),
        relFTableIsView: relationship.foreignTableIsView,
        relTableIsView: relationship.tableIsView,
        ...tables,
        tag: 'Relationship',
      }
    case 'computed':
      return {
        relFunction: identifierJson(relationship.function),
        // The alias of the table, which only planning fills in.
        relTableAlias: identifierJson({ schema: '', name: '' }),
        relToOne: relationship.isToOne,
        ...tables,
        tag: 'ComputedRelationship',
      }
    default:
      return relationship satisfies never
  }
}

function cardinalityJson(cardinality: Cardinality): Json {
  switch (cardinality.kind) {
    case 'one-to-many':
      return { relColumns: cardinality.columns, relCons: cardinality.constraint, tag: 'O2M' }
    case 'many-to-one':
      return { relColumns: cardinality.columns, relCons: cardinality.constraint, tag: 'M2O' }
    case 'one-to-one':
      return {
        isParent: cardinality.isParent,
        relColumns: cardinality.columns,
        relCons: cardinality.constraint,
        tag: 'O2O',
      }
    case 'many-to-many': {
      const { table, sourceConstraint, targetConstraint, sourceColumns, targetColumns } = cardinality.junction
      const contents = {
        junColsSource: sourceColumns,
        junColsTarget: targetColumns,
        junConstraint1: sourceConstraint,
        junConstraint2: targetConstraint,
        junTable: identifierJson(table),
      }
      return { contents, tag: 'M2M' }
    }
    default:
      return cardinality satisfies never
  }
}

const volatilities = { volatile: 'Volatile', stable: 'Stable', immutable: 'Immutable' } satisfies Record<
  Volatility,
  string
>

const isolationLevels = {
  'read committed': 'ReadCommitted',
  'repeatable read': 'RepeatableRead',
  serializable: 'Serializable',
} satisfies Record<IsolationLevel, string>

const routineJson = (routine: Routine): Json => ({
  pdDescription: routine.description,
  pdFuncSettings: routine.settings,
  pdHasVariadic: routine.hasVariadic,
  pdIsoLvl: routine.isolationLevel && isolationLevels[routine.isolationLevel],
  pdName: routine.name,
  pdParams: routine.parameters.map((parameter) => ({
    ppName: parameter.name,
    ppReq: parameter.required,
    ppType: parameter.type,
    ppTypeMaxLength: parameter.castType,
    ppVar: parameter.variadic,
  })),
  pdReturnType: returnTypeJson(routine.returns),
  pdSchema: routine.schema,
  pdVolatility: volatilities[routine.volatility],
})

function returnTypeJson({ setOf, type, composite, compositeAlias }: ReturnType): Json {
  const contents = composite
    ? { contents: [identifierJson(type), compositeAlias], tag: 'Composite' }
    : { contents: identifierJson(type), tag: 'Scalar' }
  return { contents, tag: setOf ? 'SetOf' : 'Single' }
}

const targetJson = (target: QualifiedIdentifier | null): Json =>
  target === null ? { tag: 'RelAnyElement' } : { contents: identifierJson(target), tag: 'RelId' }

function handlerJson(handler: MediaHandler): Json {
  switch (handler.kind) {
    case 'single-json':
      return { contents: handler.stripNulls, tag: 'BuiltinAggSingleJson' }
    case 'array-json-strip':
      return { tag: 'BuiltinAggArrayJsonStrip' }
    case 'json':
      return { tag: 'BuiltinOvAggJson' }
    case 'geojson':
      return { tag: 'BuiltinOvAggGeoJson' }
    case 'csv':
      return { tag: 'BuiltinOvAggCsv' }
    case 'ndjson':
      return { tag: 'BuiltinAggNdjson' }
    case 'custom':
      return { contents: [identifierJson(handler.function), targetJson(handler.target)], tag: 'CustomFunc' }
    case 'none':
      return { tag: 'NoAgg' }
    default:
      return handler satisfies never
  }
}

const plan = (format: string): Json => ({
  contents: [{ tag: 'MTApplicationJSON' }, format, []],
  tag: 'MTVndPlan',
})

const knownMediaTypes = new Map<string, Json>([
  ['*/*', { tag: 'MTAny' }],
  ['application/json', { tag: 'MTApplicationJSON' }],
  ['application/geo+json', { tag: 'MTGeoJSON' }],
  ['application/octet-stream', { tag: 'MTOctetStream' }],
  ['application/openapi+json', { tag: 'MTOpenAPI' }],
  ['application/x-www-form-urlencoded', { tag: 'MTUrlEncoded' }],
  ['text/csv', { tag: 'MTTextCSV' }],
  ['text/plain', { tag: 'MTTextPlain' }],
  ['text/xml', { tag: 'MTTextXML' }],
  ['application/vnd.pgrst.object+json', { contents: false, tag: 'MTVndSingularJSON' }],
  ['application/vnd.pgrst.plan+text; for="application/json"', plan('PlanText')],
  ['application/vnd.pgrst.plan+json; for="application/json"', plan('PlanJSON')],
])

const mediaTypeJson = (mime: string): Json => knownMediaTypes.get(mime) ?? { contents: mime, tag: 'MTOther' }
