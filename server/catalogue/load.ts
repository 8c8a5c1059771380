// Loads the schema cache from the system catalog of PostgreSQL 12 and later.
import { EqualValues, Remembered, sameOrNext } from './catalog-memory.ts'
import {
  CatalogReader,
  type CatalogKeys,
  type CatalogObjects,
  type FetchPace,
  type Proof,
  type SchemaCacheOptions,
} from './catalog-reader.ts'
import {
  constraintsOf,
  foreignKeyRelationships,
  primaryKeysOf,
  relationKeysOf,
  uniqueKeysOf,
  type Constraint,
  type KeyedRelationRow,
  type RelationKeys,
} from './constraint.ts'
import { qualifiedKey } from './identifier.ts'
import type { RunQuery } from './introspection.ts'
import { mediaHandlersOf } from './media-handler.ts'
import { NameIndex } from './name-index.ts'
import type { ComputedRelationship, Relationships } from './relationship.ts'
import { relationshipsOf } from './relationship-graph.ts'
import { representationKey } from './representation.ts'
import { routinesOf } from './routine-row.ts'
import type { SchemaCache } from './schema-cache.ts'
import { eachOf, inSlices, isSorted, type Rest, type Steps } from './steps.ts'
import {
  CatalogTable,
  columnTypesOf,
  compareTables,
  type ColumnTypes,
  type TableFacts,
  type TableRow,
  type DistributedRelation,
} from './table-row.ts'
import type { Tables } from './table.ts'
import { viewKeysOf, viewPrimaryKeys, type ViewKey } from './view-key.ts'

export { introspectionSettings, type SchemaCacheOptions } from './catalog-reader.ts'

/** How much is done at a time, between which requests are handled. */
export type LoadPace = FetchPace & {
  /** Milliseconds that building the cache takes at a time; Infinity for building it in one piece. */
  readonly slice: number
  /** The rest after a slice. */
  readonly sliceRest?: Rest
}

/** While no requests are answered. */
export const startPace: LoadPace = { slice: 50, batch: 5000 }

/** While requests are answered, and there is so little to load that a change should be seen at once. */
const shortPace: LoadPace = { slice: 2, batch: Infinity }

/** Relations and functions of a schema cache that is loaded at the short pace, at most: some tenths of a second. */
const shortSize = 1000

/**
 * Milliseconds of rest at once, and in one load, at most. On a server that is slow for another reason, a change should be seen,
 * too.
 */
const longestRest = { once: 100, load: 30_000 }

/**
 * While requests are answered. What is done at a time is short, so that a request that meets it waits little; and it is rare,
 * because fewer than one request in a hundred may wait at all. With 10,000 tables and 200 reads a second on two processors,
 * their p99 was 1.33 and 1.36 times that without a reload, which took 15 seconds (without requests: less than two). Even
 * longer rests were no better; in pieces twice as long, it was 1.5 times.
 */
function longPace(isQuiet: () => boolean): LoadPace {
  let left = longestRest.load
  const restFor =
    (multiple: number): Rest =>
    (elapsed) => {
      if (isQuiet()) return 0
      const rest = Math.min(elapsed * multiple, longestRest.once, left)
      left -= rest
      return rest
    }
  return { slice: 0.5, sliceRest: restFor(25), batch: 20, batchRest: restFor(10) }
}

/**
 * The pace of the next load, and of no other.
 *
 * @param cache the one that requests use; undefined before the first load
 * @param isQuiet whether there are no requests at the moment, so that a large schema cache is loaded without rests
 */
export function paceAfter(
  cache: Pick<SchemaCache, 'tables' | 'routines'> | undefined,
  isQuiet: () => boolean,
): LoadPace {
  if (!cache) return startPace
  return cache.tables.size + cache.routines.size <= shortSize ? shortPace : longPace(isQuiet)
}

/**
 * What one load leaves to the next, which reads the whole catalog, but decodes and builds only what has changed. A load
 * with a new memory has the same result. A memory serves one load at a time.
 */
export class SchemaCacheMemory {
  readonly reader = new CatalogReader()
  readonly #columnTypes = new Remembered(columnTypesOf)
  readonly #relationKeys = new Remembered((rows: readonly KeyedRelationRow[]) => this.#buildRelationKeys(rows))
  readonly #constraints = new Remembered(constraintsOf)
  readonly #viewKeys = new Remembered(viewKeysOf)
  readonly #tableKeys = new Remembered(tableKeysOf)
  readonly #relationships = new Remembered(buildRelationships)
  readonly #tables = new Remembered((...sources: TableSources) => this.#buildTables(...sources))
  readonly #routines = new Remembered(routinesOf)
  readonly #proven = new Remembered(provenOf)
  readonly #equalTables = new EqualValues<CatalogTable>((last, next) => last.isSame(next))
  #lastKeys: RelationKeys = new Map()
  #lastConstraints: readonly Constraint[] = [];

  /** Builds what depends on keys alone. */
  *relate({ keyedRelations, views, computed }: CatalogKeys, { schemas }: SchemaCacheOptions): Steps<Related> {
    const relationKeys = yield* this.#relationKeys.of(keyedRelations)
    const constraints = (this.#lastConstraints = sameOrNext(
      this.#lastConstraints,
      yield* this.#constraints.of(relationKeys),
    ))
    const viewKeys = yield* this.#viewKeys.of(views, constraints)
    const keys = yield* this.#tableKeys.of(constraints, viewKeys)
    const exposed = JSON.stringify(schemas)
    return {
      keys,
      relationships: yield* this.#relationships.of(constraints, viewKeys, computed, keys.primaryKeys, exposed),
    }
  }

  /** Builds the schema cache. */
  *build(
    catalog: CatalogObjects,
    { keys, relationships }: Related,
    { preRequest }: SchemaCacheOptions,
  ): Steps<SchemaCache> {
    const columnTypes = yield* this.#columnTypes.of(catalog.columnTypes)
    const named = {
      tables: yield* this.#tables.of(catalog.tables, columnTypes, keys, catalog.distributed),
      relationships,
      routines: yield* this.#routines.of(catalog.routines),
    }
    const { postgresVersion, checksSessions, keepsResponses } = catalog
    return {
      ...named,
      names: new NameIndex(named),
      representations: new Map(
        catalog.representations.map((cast) => [representationKey(cast.sourceType, cast.targetType), cast] as const),
      ),
      mediaHandlers: mediaHandlersOf(catalog.mediaHandlers),
      ...(yield* this.#proven.of(catalog.proofs)),
      isDistributed: catalog.distributed.length > 0,
      ...(preRequest && catalog.isPreRequestStable ? { stablePreRequest: preRequest } : {}),
      textTypes: {
        types: new Set(catalog.textTypes.map(({ type }) => type)),
        arrays: new Set(catalog.textTypes.map(({ array }) => array).filter((oid) => oid !== 0)),
      },
      postgresVersion,
      checksSessions,
      keepsResponses,
    }
  }

  *#buildRelationKeys(rows: readonly KeyedRelationRow[]): Steps<RelationKeys> {
    return (this.#lastKeys = yield* relationKeysOf(rows, this.#lastKeys))
  }

  *#buildTables(...[rows, types, keys, distributed]: TableSources): Steps<Tables> {
    // Usually they are in this order already: see `tables.sql`.
    const sorted = (yield* isSorted(rows, compareTables)) ? rows : [...rows].sort(compareTables)
    const facts = { ...keys, distributed: new Map(distributed.map((one) => [qualifiedKey(one.schema, one.name), one])) }
    const entries = function* (): Iterable<readonly [string, CatalogTable]> {
      for (const row of sorted) yield [qualifiedKey(row.schema, row.name), new CatalogTable(row, types, facts)]
    }
    return yield* this.#equalTables.of(entries())
  }
}

type TableSources = [
  rows: readonly TableRow[],
  types: ColumnTypes,
  keys: TableKeys,
  distributed: readonly DistributedRelation[],
]

type TableKeys = Pick<TableFacts, 'primaryKeys' | 'uniqueKeys'>

type Related = { readonly keys: TableKeys; readonly relationships: Relationships }

function* tableKeysOf(constraints: readonly Constraint[], viewKeys: readonly ViewKey[]): Steps<TableKeys> {
  const primaryKeys = yield* primaryKeysOf(constraints)
  yield* eachOf(viewPrimaryKeys(viewKeys), ([key, columns]) => primaryKeys.set(key, columns))
  return { primaryKeys, uniqueKeys: yield* uniqueKeysOf(constraints) }
}

/** @param schemas JSON of the exposed schemas */
function* buildRelationships(
  constraints: readonly Constraint[],
  viewKeys: readonly ViewKey[],
  computed: readonly ComputedRelationship[],
  primaryKeys: TableFacts['primaryKeys'],
  schemas: string,
): Steps<Relationships> {
  const foreignKeys = yield* foreignKeyRelationships(constraints)
  return yield* relationshipsOf({
    foreignKeys,
    viewKeys,
    computed,
    primaryKeys,
    schemas: JSON.parse(schemas) as readonly string[],
  })
}

type Proven = Pick<SchemaCache, 'isSound' | 'stableRelations' | 'quietRelations' | 'quietlyWritten' | 'quietRoutines'>

function* provenOf(proofs: readonly Proof[]): Steps<Proven> {
  let isSound = false
  const [stableRelations, quietRelations] = [new Set<string>(), new Set<string>()]
  const [quietlyWritten, quietRoutines] = [new Set<string>(), new Set<string>()]
  yield* eachOf(proofs, (proof) => {
    if (proof.kind === 'database') {
      isSound = proof.isSound
    } else if (proof.kind === 'routine') {
      quietRoutines.add(proof.key)
    } else {
      stableRelations.add(proof.key)
      if (proof.isQuiet) quietRelations.add(proof.key)
      if (proof.isQuietlyWritten) quietlyWritten.add(proof.key)
    }
  })
  return { isSound, stableRelations, quietRelations, quietlyWritten, quietRoutines }
}

/**
 * Reads the snapshot of the database's metadata that requests are planned against, with PostgREST v16's rules.
 *
 * `query` runs the statements in order within one transaction, preferably read-only and `repeatable read`, so that all
 * see the same catalog. The first statement applies `introspectionSettings` to the rest of the transaction. All
 * parameters are text. Rejects with Postgres's error when a schema does not exist (SQLSTATE 3F000) or the connection
 * fails.
 *
 * @param memory of the loads before this one
 */
export async function loadSchemaCache(
  query: RunQuery,
  options: SchemaCacheOptions,
  pace: LoadPace = startPace,
  memory: SchemaCacheMemory = new SchemaCacheMemory(),
): Promise<SchemaCache> {
  const catalogKeys = await memory.reader.readKeys(query, options, pace)
  // One after the other: together they would occupy a processor here, and another one in the database.
  const related = await inSlices(memory.relate(catalogKeys, options), pace.slice, pace.sliceRest)
  const objects = await memory.reader.readObjects(query, options, pace)
  return inSlices(memory.build(objects, related, options), pace.slice, pace.sliceRest)
}
