// Loads the schema cache from the system catalog of PostgreSQL 12 and later.
import { foreignKeyRelationships, primaryKeysOf, uniqueKeysOf, type Constraint } from './constraint.ts'
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
import { decodeRoutines, routinesQuery } from './routine-row.ts'
import type { SchemaCache } from './schema-cache.ts'
import type { Column, Table, Tables } from './table.ts'
import { decodeView, viewKeysOf, viewPrimaryKeys } from './view-key.ts'

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
 * compiling these statements takes longer than running them.
 */
export const introspectionSettings = `select set_config('search_path', '', true), set_config('jit', 'off', true)`

/** Whether all functions of a name are declared stable or immutable. */
const preRequestStability = `select pg_catalog.bool_and(p.provolatile <> 'v') as is_stable
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname = $1 and p.proname = $2`

/**
 * Reads the snapshot of the database's metadata that requests are planned against, with PostgREST v16's rules.
 *
 * `query` runs the statements in order within one transaction, preferably read-only and `repeatable read`, so that all
 * see the same catalog. The first statement applies `introspectionSettings` to the rest of the transaction. All
 * parameters are text. Rejects with Postgres's error when a schema does not exist (SQLSTATE 3F000) or the connection
 * fails.
 */
export async function loadSchemaCache(query: RunQuery, options: SchemaCacheOptions): Promise<SchemaCache> {
  const run = ({ text, values }: IntrospectionQuery): Promise<readonly CatalogRow[]> => query(text, [...values])
  const read = async <T>(name: string, ...values: string[]): Promise<T[]> =>
    (await run(introspectionQuery(name, ...values))).map(decodeRow<T>)

  await query(introspectionSettings, [])
  const schemas = JSON.stringify(options.schemas)
  const tables = await read<TableRow>('tables', schemas)
  const constraints = await read<Constraint>('constraints')
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
  const [product] = await read<{ checksSessions: boolean; keepsResponses: boolean }>('product-functions')

  const viewKeys = viewKeysOf(views, constraints)
  const primaryKeys = new Map([...primaryKeysOf(constraints), ...viewPrimaryKeys(viewKeys)])
  const named = {
    tables: tablesOf(tables, primaryKeys, uniqueKeysOf(constraints)),
    relationships: relationshipsOf({
      foreignKeys: foreignKeyRelationships(constraints),
      viewKeys,
      computed: computed.map((relationship) => ({ kind: 'computed', ...relationship })),
      primaryKeys,
      schemas: options.schemas,
    }),
    routines,
  }
  return {
    ...named,
    names: new NameIndex(named),
    representations: new Map(
      representations.map((cast) => [representationKey(cast.sourceType, cast.targetType), cast] as const),
    ),
    mediaHandlers: mediaHandlersOf(mediaHandlers),
    isSound: soundness?.isSound === true,
    stableRelations: new Set(stableRelations.map(({ schema, name }) => qualifiedKey(schema, name))),
    ...(preRequest && stability?.is_stable === true ? { stablePreRequest: preRequest } : {}),
    postgresVersion: server.version,
    checksSessions: product?.checksSessions === true,
    keepsResponses: product?.keepsResponses === true,
  }
}

type TableRow = Omit<Table, 'insertable' | 'updatable' | 'deletable' | 'primaryKey' | 'keys' | 'columns'> & {
  /** Bit mask of the commands that the relation supports. */
  readonly events: number
  readonly columns: readonly ColumnRow[]
}

type ColumnRow = Omit<Column, 'hasUncheckedNulls' | 'operatorSchema'> & {
  readonly hasUncheckedNulls: boolean
  readonly operatorSchema: string | null
}

/** Leaves out the members that few columns have. */
const columnOf = ({ hasUncheckedNulls, operatorSchema, ...column }: ColumnRow): Column => ({
  ...column,
  ...(hasUncheckedNulls ? { hasUncheckedNulls } : {}),
  ...(operatorSchema === null ? {} : { operatorSchema }),
})

/** Bits of `pg_relation_is_updatable`: 1 shifted left by the command's number (`CmdType`). */
const event = { update: 1 << 2, insert: 1 << 3, delete: 1 << 4 }

function tablesOf(
  rows: readonly TableRow[],
  primaryKeys: ReadonlyMap<string, readonly string[]>,
  uniqueKeys: ReadonlyMap<string, readonly (readonly string[])[]>,
): Tables {
  return new Map(
    rows.map(({ events, columns, ...table }) => {
      const key = qualifiedKey(table.schema, table.name)
      return [
        key,
        {
          ...table,
          insertable: (events & event.insert) !== 0,
          updatable: (events & event.update) !== 0,
          deletable: (events & event.delete) !== 0,
          primaryKey: primaryKeys.get(key) ?? [],
          ...(uniqueKeys.has(key) ? { keys: uniqueKeys.get(key) } : {}),
          columns: new Map(columns.map((column) => [column.name, columnOf(column)] as const)),
        },
      ] as const
    }),
  )
}
