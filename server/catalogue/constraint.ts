// Primary, unique and foreign keys of the catalog, and the primary keys and relationships derived from them.
import { qualifiedKey, type QualifiedIdentifier } from './identifier.ts'
import { compareText } from '../text/code-point-order.ts'
import { pairColumns, type ForeignKeyRelationship } from './relationship.ts'
import { hasSameElements } from './catalog-memory.ts'
import { eachOf, flatMapOf, mapOf, type Steps } from './steps.ts'

/** A relation of the catalog. Its oid is a string, as in a stored query. */
export type CatalogueRelation = QualifiedIdentifier & { readonly oid: string }

/** Names and attribute numbers of a key's columns, in key order. */
type KeyColumns = { readonly columns: readonly string[]; readonly attributes: readonly number[] }

export type Constraint = KeyColumns & {
  /** Primary, unique or foreign key: `pg_constraint.contype`. */
  readonly type: 'p' | 'u' | 'f'
  readonly name: string
  /** Whether a partition inherits it from its parent. */
  readonly isInherited: boolean
  /** `isListed` is false for partitions and system tables, which the API does not expose. */
  readonly relation: CatalogueRelation & { readonly isListed: boolean }
  /** The referenced side of a foreign key; null for other constraints. */
  readonly foreign: (KeyColumns & { readonly relation: CatalogueRelation }) | null
}

/** A row of the statement `constraints`: a relation with its keys. */
export type KeyedRelationRow = Constraint['relation'] & {
  /** Names of its columns by number. */
  readonly columns: Readonly<Record<string, string>>
  readonly keys: readonly KeyRow[]
}

/** In the order of the statement. An array, because the names of members would be most of the text. */
type KeyRow = readonly [
  type: Constraint['type'],
  name: string,
  isInherited: boolean,
  attributes: readonly number[],
  /** The oid of the referenced relation. */
  foreign: string | null,
  foreignAttributes: readonly number[] | null,
]

/** Keys by the oid of their relation, in the order of the relations. */
export type RelationKeys = ReadonlyMap<
  string,
  {
    /** The rows that they were made from: of their relation, and of those that it refers to. */
    readonly sources: readonly KeyedRelationRow[]
    readonly constraints: readonly Constraint[]
  }
>

/**
 * The keys of the relations.
 *
 * @param known keys that are used again if they are the same
 */
export function* relationKeysOf(
  rows: readonly KeyedRelationRow[],
  known: RelationKeys = new Map(),
): Steps<RelationKeys> {
  const byOid = yield* mapOf(rows, (row) => [row.oid, row] as const)
  return yield* mapOf(rows, (row) => {
    const foreign = row.keys.flatMap(([, , , , oid]) => (oid === null ? [] : (byOid.get(oid) ?? [])))
    const sources = foreign.length === 0 ? [row] : [row, ...foreign]
    const last = known.get(row.oid)
    if (last && hasSameElements(last.sources, sources)) return [row.oid, last] as const
    const constraints = constraintsOfRow(row, byOid)
    // A row also changes with columns that are not part of a key.
    const isEqual = last !== undefined && JSON.stringify(last.constraints) === JSON.stringify(constraints)
    return [row.oid, { sources, constraints: isEqual ? last.constraints : constraints }] as const
  })
}

/** All keys in the order of their relations. */
export const constraintsOf = (keys: RelationKeys): Steps<Constraint[]> =>
  flatMapOf(keys.values(), ({ constraints }) => constraints)

function constraintsOfRow(row: KeyedRelationRow, byOid: ReadonlyMap<string, KeyedRelationRow>): readonly Constraint[] {
  const { columns, keys, ...relation } = row
  return keys.map(([type, name, isInherited, attributes, foreignOid, foreignAttributes]): Constraint => {
    const foreign = foreignOid === null ? undefined : byOid.get(foreignOid)
    return {
      type,
      name,
      isInherited,
      relation,
      attributes,
      columns: columnNames(columns, attributes),
      foreign:
        foreign && foreignAttributes
          ? {
              relation: foreignRelation(foreign),
              attributes: foreignAttributes,
              columns: columnNames(foreign.columns, foreignAttributes),
            }
          : null,
    }
  })
}

const foreignRelation = ({ oid, schema, name }: CatalogueRelation): CatalogueRelation => ({ oid, schema, name })

function columnNames(names: KeyedRelationRow['columns'], attributes: readonly number[]): readonly string[] {
  const columns: string[] = []
  for (const attribute of attributes) {
    const name = names[attribute]
    if (name !== undefined) columns.push(name)
  }
  return columns
}

export const identifierOf = ({ schema, name }: QualifiedIdentifier): QualifiedIdentifier => ({ schema, name })

/** Primary key columns by `qualifiedKey(table)`, sorted by name. */
export function* primaryKeysOf(constraints: readonly Constraint[]): Steps<Map<string, readonly string[]>> {
  const keys = new Map<string, readonly string[]>()
  yield* eachOf(constraints, ({ type, relation, columns }) => {
    if (type === 'p' && relation.isListed) {
      keys.set(qualifiedKey(relation.schema, relation.name), [...columns].sort(compareText))
    }
  })
  return keys
}

/** Primary key and unique constraints by `qualifiedKey(table)`, with columns in key order, the primary key first. */
export function* uniqueKeysOf(constraints: readonly Constraint[]): Steps<Map<string, readonly (readonly string[])[]>> {
  const keys = new Map<string, (readonly string[])[]>()
  yield* eachOf(constraints, ({ type, relation, columns }) => {
    if (type === 'f' || !relation.isListed) return
    const name = qualifiedKey(relation.schema, relation.name)
    const known = keys.get(name) ?? []
    keys.set(name, type === 'p' ? [columns, ...known] : [...known, columns])
  })
  return keys
}

/**
 * One relationship per foreign key, from the referencing table to the referenced one. It is one-to-one when its columns
 * are exactly those of a primary or unique key, otherwise many-to-one.
 */
export function* foreignKeyRelationships(constraints: readonly Constraint[]): Steps<ForeignKeyRelationship[]> {
  const attributeSet = ({ relation, attributes }: Constraint): string =>
    [relation.oid, ...[...attributes].sort((a, b) => a - b)].join()
  const referencing = new Set<string>()
  yield* eachOf(constraints, ({ type, relation }) => {
    if (type === 'f') referencing.add(relation.oid)
  })
  const unique = new Set<string>()
  yield* eachOf(constraints, (key) => {
    if (key.type !== 'f' && referencing.has(key.relation.oid)) unique.add(attributeSet(key))
  })
  return yield* flatMapOf(constraints, (key): ForeignKeyRelationship[] => {
    if (key.foreign === null || key.isInherited) return []
    const foreign = key.foreign
    const columns = pairColumns(key.columns, foreign.columns)
    return [
      {
        kind: 'foreign-key',
        table: identifierOf(key.relation),
        foreignTable: identifierOf(foreign.relation),
        isSelf: key.relation.oid === foreign.relation.oid,
        cardinality: unique.has(attributeSet(key))
          ? { kind: 'one-to-one', constraint: key.name, columns, isParent: false }
          : { kind: 'many-to-one', constraint: key.name, columns },
        tableIsView: false,
        foreignTableIsView: false,
      },
    ]
  })
}
