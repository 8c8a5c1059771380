// Reads the system catalog for the schema cache.
import { setTimeout } from 'node:timers/promises'
import { DecodedRows } from './catalog-memory.ts'
import type { KeyedRelationRow } from './constraint.ts'
import { qualifiedKey, type QualifiedIdentifier } from './identifier.ts'
import {
  decodeRow,
  introspectionQuery,
  type CatalogRow,
  type IntrospectionQuery,
  type RunQuery,
} from './introspection.ts'
import type { MediaHandlerRow } from './media-handler.ts'
import type { ComputedRelationship } from './relationship.ts'
import type { Representation } from './representation.ts'
import type { Routine } from './routine.ts'
import { decodeRoutine, routinesQuery } from './routine-row.ts'
import type { SchemaCache } from './schema-cache.ts'
import { noRest, type Rest } from './steps.ts'
import { decodeTable, type ColumnTypeRow, type DistributedRelation, type TableRow } from './table-row.ts'
import { decodeView, type StoredView } from './view-key.ts'

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
 * All rows of a cursor are fetched.
 */
export const introspectionSettings = `select
  set_config('search_path', '', true),
  set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true),
  set_config('cursor_tuple_fraction', '1', true)`

/** Whether all functions of a name are declared stable or immutable. */
const preRequestStability = `select pg_catalog.bool_and(p.provolatile <> 'v') as is_stable
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname = $1 and p.proname = $2`

/** How rows are fetched. */
export type FetchPace = {
  /** Number of rows that are fetched at a time; Infinity: all at once, without a cursor and its round trips. */
  readonly batch: number
  /** The rest after a batch: requests get the processors of the database server. */
  readonly batchRest?: Rest
}

/**
 * What the statements of `sql/introspection/` return about keys: all that relationships are derived from. Lists are the
 * same objects as in the last reading if all of their elements are.
 */
export type CatalogKeys = {
  readonly keyedRelations: readonly KeyedRelationRow[]
  readonly views: readonly StoredView[]
  readonly computed: readonly ComputedRelationship[]
}

/** What `stable-relations.sql` proves of the database, a relation or the functions of a name. `key` is a `qualifiedKey`. */
export type Proof =
  | { readonly kind: 'database'; readonly isSound: boolean }
  | { readonly kind: 'relation'; readonly key: string; readonly isQuiet: boolean; readonly isQuietlyWritten: boolean }
  | { readonly kind: 'routine'; readonly key: string }

/** What the other statements return. */
export type CatalogObjects = {
  readonly columnTypes: readonly ColumnTypeRow[]
  readonly tables: readonly TableRow[]
  readonly routines: readonly Routine[]
  readonly representations: readonly Representation[]
  readonly mediaHandlers: readonly MediaHandlerRow[]
  readonly proofs: readonly Proof[]
  readonly isPreRequestStable: boolean
  readonly textTypes: readonly { readonly type: number; readonly array: number }[]
  readonly distributed: readonly DistributedRelation[]
} & Pick<SchemaCache, 'postgresVersion' | 'checksSessions' | 'keepsResponses'>

/** The rows of the statements whose results grow with the database. */
export class CatalogReader {
  readonly #columnTypes = new DecodedRows(decodeRow<ColumnTypeRow>)
  readonly #tables = new DecodedRows(decodeTable)
  readonly #keyedRelations = new DecodedRows(decodeRow<KeyedRelationRow>)
  readonly #views = new DecodedRows(decodeView)
  readonly #computed = new DecodedRows(decodeComputed)
  readonly #routines = new DecodedRows(decodeRoutine)
  readonly #proofs = new DecodedRows(decodeProof)
  readonly #distributed = new DecodedRows(decodeRow<DistributedRelation>)

  /**
   * Applies `introspectionSettings` and reads the keys. See `loadSchemaCache` for `query`.
   */
  async readKeys(query: RunQuery, options: SchemaCacheOptions, pace: FetchPace): Promise<CatalogKeys> {
    await query(introspectionSettings, [])
    const [schemas, extra] = [JSON.stringify(options.schemas), JSON.stringify(options.extraSearchPath)]
    const views = await readRows(query, introspectionQuery('views', schemas, extra), this.#views, pace)
    const keyedRelations = await readRows(query, introspectionQuery('constraints'), this.#keyedRelations, pace)
    const computed = await readRows(query, introspectionQuery('computed-relationships'), this.#computed, pace)
    return { views, keyedRelations, computed }
  }

  /** Reads everything else, in the same transaction. */
  async readObjects(query: RunQuery, options: SchemaCacheOptions, pace: FetchPace): Promise<CatalogObjects> {
    const large = <T>(rows: DecodedRows<T>, statement: IntrospectionQuery): Promise<readonly T[]> =>
      readRows(query, statement, rows, pace)
    const small = async <T>(name: string, ...values: string[]): Promise<T[]> => {
      const statement = introspectionQuery(name, ...values)
      return (await query(statement.text, [...statement.values])).map(decodeRow<T>)
    }

    const schemas = JSON.stringify(options.schemas)
    const columnTypes = await large(this.#columnTypes, introspectionQuery('column-types', schemas))
    const tables = await large(this.#tables, introspectionQuery('tables', schemas))
    const routines = await large(this.#routines, routinesQuery(options))
    const representations = await small<Representation>('representations')
    const mediaHandlers = await small<MediaHandlerRow>('media-handlers', schemas)
    const proofs = await large(this.#proofs, introspectionQuery('stable-relations', schemas))
    const textTypes = await small<CatalogObjects['textTypes'][number]>('text-types')
    const [server] = await small<{ version: number }>('server-version')
    if (!server) throw new Error('The server did not report its version')
    const { preRequest } = options
    const [preRequestRow] = preRequest ? await query(preRequestStability, [preRequest.schema, preRequest.name]) : []
    const [product] = await small<{ checksSessions: boolean; keepsResponses: boolean; hasCitus: boolean }>(
      'product-functions',
    )
    const distributed =
      product?.hasCitus === true ? await large(this.#distributed, introspectionQuery('distributed-relations')) : none
    return {
      columnTypes,
      tables,
      routines,
      representations,
      mediaHandlers,
      proofs,
      isPreRequestStable: preRequestRow?.is_stable === true,
      textTypes,
      distributed,
      postgresVersion: server.version,
      checksSessions: product?.checksSessions === true,
      keepsResponses: product?.keepsResponses === true,
    }
  }
}

const none: readonly DistributedRelation[] = []

const decodeComputed = (row: CatalogRow): ComputedRelationship => ({
  kind: 'computed',
  ...decodeRow<Omit<ComputedRelationship, 'kind'>>(row),
})

type Named<T> = T extends { readonly key: string } ? Omit<T, 'key'> & QualifiedIdentifier : T

function decodeProof(row: CatalogRow): Proof {
  const proof = decodeRow<Named<Proof>>(row)
  if (proof.kind === 'database') return proof
  const key = qualifiedKey(proof.schema, proof.name)
  if (proof.kind === 'routine') return { kind: 'routine', key }
  const { isQuiet, isQuietlyWritten } = proof
  return { kind: 'relation', key, isQuiet, isQuietlyWritten }
}

/** Fetches the rows of a statement in batches, between which requests are handled. */
async function readRows<T>(
  query: RunQuery,
  { text, values }: IntrospectionQuery,
  decoded: DecodedRows<T>,
  { batch, batchRest = noRest }: FetchPace,
): Promise<readonly T[]> {
  const rows = decoded.begin()
  if (batch === Infinity) {
    rows.add(await query(text, [...values]))
    return rows.end()
  }
  await query(`declare introspection no scroll cursor for ${text}`, [...values])
  for (;;) {
    const start = performance.now()
    const fetched = await query(`fetch ${batch} from introspection`, [])
    rows.add(fetched)
    if (fetched.length < batch) break
    const rest = batchRest(performance.now() - start)
    if (rest > 0) await setTimeout(rest)
  }
  await query('close introspection', [])
  return rows.end()
}
