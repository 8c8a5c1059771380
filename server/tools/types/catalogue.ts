// What the generated types describe: relations, functions and types of a database, as plain data.
import {
  constraintsOf,
  foreignKeyRelationships,
  relationKeysOf,
  type KeyedRelationRow,
} from '../../catalogue/constraint.ts'
import { decodeRow, introspectionQuery, type RunClientQuery, type RunQuery } from '../../catalogue/introspection.ts'
import { introspectionSettings } from '../../catalogue/load.ts'
import { owningRelationships, type OwningRelationship } from '../../catalogue/relationship-graph.ts'
import { atOnce } from '../../catalogue/steps.ts'
import { decodeView, viewKeysOf } from '../../catalogue/view-key.ts'

/** A type of `pg_type`. For an array, oid and name are those of its elements. */
export type PostgresType = { readonly oid: number; readonly name: string; readonly isArray: boolean }

export type TypedColumn = {
  readonly name: string
  /** For a domain, the type that it is declared with. */
  readonly type: PostgresType
  readonly isNullable: boolean
  readonly identity: 'always' | 'by default' | null
  /** Whether it has a default or is generated. */
  readonly hasDefault: boolean
  /** Whether it is generated, so that no statement can set it. */
  readonly isGenerated: boolean
  /** For a view: whether INSERT and UPDATE may name it. */
  readonly isUpdatable: boolean
}

export type TypedRelation = {
  readonly oid: string
  /** The type of its rows, by oid. */
  readonly rowType: number
  readonly schema: string
  readonly name: string
  readonly kind: 'table' | 'foreign table' | 'view' | 'materialized view'
  /** Whether it is a view that PostgreSQL can update and delete from without triggers. */
  readonly isUpdatable: boolean
  readonly columns: readonly TypedColumn[]
}

/** The relation of a row type, or the description of a composite type. */
export type RowType = {
  readonly oid: string
  readonly name: string
  readonly isForeign: boolean
  /** Whether it is a composite type of its own, not the row of a relation. */
  readonly isComposite: boolean
}

export type TypedArgument = {
  /** Empty for an unnamed argument. */
  readonly name: string
  readonly mode: 'in' | 'out' | 'inout' | 'variadic' | 'table'
  readonly hasDefault: boolean
  readonly type: PostgresType
  readonly typeOid: number
  /** The name in `pg_type`, which for an array begins with an underscore. */
  readonly typeName: string
  readonly relation: RowType | null
}

export type TypedFunction = {
  readonly oid: string
  readonly schema: string
  readonly name: string
  /** In the order of their declaration, those of the result included. */
  readonly arguments: readonly TypedArgument[]
  readonly returns: {
    readonly type: PostgresType
    readonly typeName: string
    readonly relation: RowType | null
    readonly isSet: boolean
    /** The estimated number of rows. */
    readonly rows: number
  }
  readonly signature: Signature
}

/** As PostgreSQL prints it: types of `public` have no schema. */
export type Signature = {
  readonly arguments: string
  readonly result: string
  /** The type of the first argument. */
  readonly argumentType: string
}

/** An enum, a domain or a composite type. */
export type NamedType = {
  readonly oid: number
  readonly schema: string
  readonly name: string
  /** The labels of an enum, in their order. */
  readonly values: readonly string[] | null
  /** The attributes of a composite type, in their order. */
  readonly attributes: readonly { readonly name: string; readonly type: PostgresType }[] | null
  /** The type that a domain is declared with. */
  readonly base: PostgresType | null
}

export type Catalogue = {
  /** In the order of `compareNames`. */
  readonly schemas: readonly string[]
  readonly relations: readonly TypedRelation[]
  readonly functions: readonly TypedFunction[]
  /** Those of all schemas. */
  readonly namedTypes: readonly NamedType[]
  /** Those of all schemas, also through views of the schemas. */
  readonly relationships: readonly OwningRelationship[]
}

export type CatalogueScope = {
  readonly schemas: readonly string[]
  /** `db-extra-search-path`: relationships are also traced through views of these schemas. */
  readonly extraSearchPath: readonly string[]
}

/** Signatures name types of these schemas without the schema, as in the default search_path of Supabase. */
const signatureSettings = `select pg_catalog.set_config('search_path', 'public, extensions', true)`

const collator = new Intl.Collator('en')

/** The order of names in the generated types: the same on every machine. */
export const compareNames = (a: string, b: string): number => collator.compare(a, b)

/**
 * Reads the catalogue in one read-only transaction. No privileges on the relations are needed.
 *
 * @param query runs statements on one connection
 * @throws PostgreSQL's error 3F000 when a schema does not exist
 */
export async function readCatalogue(query: RunClientQuery, scope: CatalogueScope): Promise<Catalogue> {
  await query('begin transaction isolation level repeatable read, read only')
  try {
    return await readWithin(async (text, values) => (await query(text, values)).rows, scope)
  } finally {
    await query('rollback')
  }
}

/**
 * The same in the caller's transaction, of which it changes the search path.
 *
 * @throws PostgreSQL's error 3F000 when a schema does not exist
 */
export async function readWithin(query: RunQuery, { schemas, extraSearchPath }: CatalogueScope): Promise<Catalogue> {
  const wanted = JSON.stringify(schemas)
  const rows = async (name: string, ...values: string[]): ReturnType<RunQuery> => {
    const statement = introspectionQuery(name, ...values)
    return query(statement.text, [...statement.values])
  }
  const read = async <T>(name: string, ...values: string[]): Promise<T[]> =>
    (await rows(name, ...values)).map(decodeRow<T>)

  await query(introspectionSettings, [])
  const relations = await read<TypedRelation>('typed-relations', wanted)
  const functions = await read<Omit<TypedFunction, 'signature'>>('typed-functions', wanted)
  const namedTypes = await read<NamedType>('named-types')
  const constraints = atOnce(constraintsOf(atOnce(relationKeysOf(await read<KeyedRelationRow>('constraints')))))
  const views = (await rows('views', wanted, JSON.stringify(extraSearchPath))).map(decodeView)
  await query(signatureSettings, [])
  const signatures = new Map(
    (await read<Signature & { oid: string }>('function-signatures', wanted)).map((it) => [it.oid, it] as const),
  )
  return {
    schemas: [...new Set(schemas)].sort(compareNames),
    relations,
    functions: functions.map((it) => ({ ...it, signature: signatures.get(it.oid) ?? noSignature })),
    namedTypes,
    relationships: atOnce(
      owningRelationships(atOnce(foreignKeyRelationships(constraints)), atOnce(viewKeysOf(views, constraints))),
    ),
  }
}

const noSignature: Signature = { arguments: '', result: '', argumentType: '' }
