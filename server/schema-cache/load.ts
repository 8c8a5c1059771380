// Loads the schema cache from the system catalog of PostgreSQL 12 and later.
import {
  constraintsOf,
  foreignKeyRelationships,
  primaryKeysOf,
  uniqueKeysOf,
  type KeyedRelationRow,
} from './constraint.ts'
import { qualifiedKey, type QualifiedIdentifier } from './identifier.ts'
import {
  decodeRow,
  introspectionQuery,
  type IntrospectionQuery,
  type CatalogRow,
  type RunQuery,
} from './introspection.ts'
import { mediaHandlersOf, type MediaHandlerRow } from './media-handler.ts'
import { NameIndex } from './name-index.ts'
import { representationKey, type Representation } from './representation.ts'
import { relationshipsOf } from './relationship-graph.ts'
import type { ComputedRelationship } from './relationship.ts'
import type { Routines } from './routine.ts'
import { decodeRoutines, routinesQuery } from './routine-row.ts'
import type { SchemaCache } from './schema-cache.ts'
import { eachOf, inSlices, mapOf, type Steps } from './steps.ts'
import {
  CatalogTable,
  columnTypesOf,
  compareTables,
  decodeTable,
  type ColumnTypeRow,
  type ColumnTypes,
  type TableFacts,
  type TableRow,
} from './table-row.ts'
import { decodeView, viewKeysOf, viewPrimaryKeys, type StoredView } from './view-key.ts'

export type SchemaCacheOptions = {
  /** Exposed schemas: `db-schemas`. */
  readonly schemas: readonly string[]
  /** `db-extra-search-path`: columns of exposed views are traced through the views of these schemas. */
  readonly extraSearchPath: readonly string[]
  /** Regular expressions of function settings to hoist: `db-hoisted-tx-settings`. */
  readonly hoistedSettings: readonly string[]
  /** `db-pre-request` */
  readonly preRequest?: QualifiedIdentifier | null
}

/**
 * Settings of the introspection transaction. With an empty search_path Postgres qualifies every name. JIT is off because
 * compiling these statements takes longer than running them. Without parallel workers, they leave processors to requests.
 */
export const introspectionSettings = `select
  set_config('search_path', '', true),
  set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true)`

/** Whether all functions of a name are declared stable or immutable. */
const preRequestStability = `select pg_catalog.bool_and(p.provolatile <> 'v') as is_stable
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname = $1 and p.proname = $2`

/** What the statements of `sql/introspection/` return. */
type Catalog = {
  readonly columnTypes: ColumnTypes
  readonly tables: readonly TableRow[]
  readonly keyedRelations: readonly KeyedRelationRow[]
  readonly views: readonly StoredView[]
  readonly computed: readonly Omit<ComputedRelationship, 'kind'>[]
  readonly routines: Routines
  readonly representations: readonly Representation[]
  readonly mediaHandlers: readonly MediaHandlerRow[]
  readonly isSound: boolean
  readonly stableRelations: readonly QualifiedIdentifier[]
  readonly isPreRequestStable: boolean
  readonly distributed: readonly QualifiedIdentifier[]
} & Pick<SchemaCache, 'postgresVersion' | 'checksSessions' | 'keepsResponses'>

/**
 * Milliseconds that building the cache takes at a time, between which requests are handled. With tens of thousands of
 * columns, building it in one piece takes half a second.
 */
const defaultSlice = 2

/**
 * Reads the snapshot of the database's metadata that requests are planned against, with PostgREST v16's rules.
 *
 * `query` runs the statements in order within one transaction, preferably read-only and `repeatable read`, so that all
 * see the same catalog. The first statement applies `introspectionSettings` to the rest of the transaction. All
 * parameters are text. Rejects with Postgres's error when a schema does not exist (SQLSTATE 3F000) or the connection
 * fails.
 *
 * @param slice milliseconds after which other work gets a turn; Infinity builds the cache in one piece
 */
export async function loadSchemaCache(
  query: RunQuery,
  options: SchemaCacheOptions,
  slice = defaultSlice,
): Promise<SchemaCache> {
  return inSlices(schemaCacheOf(await readCatalog(query, options), options), slice)
}

async function readCatalog(query: RunQuery, options: SchemaCacheOptions): Promise<Catalog> {
  const run = ({ text, values }: IntrospectionQuery): Promise<readonly CatalogRow[]> => query(text, [...values])
  const read = async <T>(name: string, ...values: string[]): Promise<T[]> =>
    (await run(introspectionQuery(name, ...values))).map(decodeRow<T>)

  await query(introspectionSettings, [])
  const schemas = JSON.stringify(options.schemas)
  const columnTypes = columnTypesOf(await read<ColumnTypeRow>('column-types', schemas))
  // Usually they are in this order already: see `tables.sql`.
  const tables = (await run(introspectionQuery('tables', schemas))).map(decodeTable).sort(compareTables)
  const keyedRelations = await read<KeyedRelationRow>('constraints')
  const views = (await run(introspectionQuery('views', schemas, JSON.stringify(options.extraSearchPath)))).map(
    decodeView,
  )
  const computed = await read<Omit<ComputedRelationship, 'kind'>>('computed-relationships')
  const routines = decodeRoutines(await run(routinesQuery(options)))
  const representations = await read<Representation>('representations')
  const mediaHandlers = await read<MediaHandlerRow>('media-handlers', schemas)
  const [soundness, ...stableRelations] = await read<QualifiedIdentifier & { isSound?: boolean }>(
    'stable-relations',
    schemas,
  )
  const [server] = await read<{ version: number }>('server-version')
  if (!server) throw new Error('The server did not report its version')
  const { preRequest } = options
  const [stability] = preRequest ? await query(preRequestStability, [preRequest.schema, preRequest.name]) : []
  const [product] = await read<{ checksSessions: boolean; keepsResponses: boolean; hasCitus: boolean }>(
    'product-functions',
  )
  const distributed = product?.hasCitus === true ? await read<QualifiedIdentifier>('distributed-relations') : []
  return {
    columnTypes,
    tables,
    keyedRelations,
    views,
    computed,
    routines,
    representations,
    mediaHandlers,
    isSound: soundness?.isSound === true,
    stableRelations,
    isPreRequestStable: stability?.is_stable === true,
    distributed,
    postgresVersion: server.version,
    checksSessions: product?.checksSessions === true,
    keepsResponses: product?.keepsResponses === true,
  }
}

function* schemaCacheOf(catalog: Catalog, { schemas, preRequest }: SchemaCacheOptions): Steps<SchemaCache> {
  const { columnTypes, routines, isSound, postgresVersion, checksSessions, keepsResponses } = catalog
  const constraints = yield* constraintsOf(catalog.keyedRelations)
  const viewKeys = yield* viewKeysOf(catalog.views, constraints)
  const primaryKeys = yield* primaryKeysOf(constraints)
  yield* eachOf(viewPrimaryKeys(viewKeys), ([key, columns]) => primaryKeys.set(key, columns))
  const facts: TableFacts = {
    primaryKeys,
    uniqueKeys: yield* uniqueKeysOf(constraints),
    distributed: new Set(catalog.distributed.map(({ schema, name }) => qualifiedKey(schema, name))),
  }
  const named = {
    tables: yield* mapOf(
      catalog.tables,
      (row) => [qualifiedKey(row.schema, row.name), new CatalogTable(row, columnTypes, facts)] as const,
    ),
    relationships: yield* relationshipsOf({
      foreignKeys: yield* foreignKeyRelationships(constraints),
      viewKeys,
      computed: catalog.computed.map((relationship) => ({ kind: 'computed', ...relationship })),
      primaryKeys,
      schemas,
    }),
    routines,
  }
  return {
    ...named,
    names: new NameIndex(named),
    representations: new Map(
      catalog.representations.map((cast) => [representationKey(cast.sourceType, cast.targetType), cast] as const),
    ),
    mediaHandlers: mediaHandlersOf(catalog.mediaHandlers),
    isSound,
    isDistributed: catalog.distributed.length > 0,
    stableRelations: new Set(catalog.stableRelations.map(({ schema, name }) => qualifiedKey(schema, name))),
    ...(preRequest && catalog.isPreRequestStable ? { stablePreRequest: preRequest } : {}),
    postgresVersion,
    checksSessions,
    keepsResponses,
  }
}
