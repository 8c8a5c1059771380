// Derives every relationship that an embed can follow from the foreign keys, the keys of views and the functions.
import { qualifiedKey, type QualifiedIdentifier } from './identifier.ts'
import { compareRelationships } from './order.ts'
import {
  pairColumns,
  relationshipKey,
  type Cardinality,
  type ColumnPairs,
  type ComputedRelationship,
  type ForeignKeyRelationship,
  type Junction,
  type Relationship,
  type Relationships,
} from './relationship.ts'
import { eachOf, flatMapOf, groupsOf, type Steps } from './steps.ts'
import type { KeyRole, ViewKey } from './view-key.ts'

/** A relationship seen from the side with the foreign key. */
export type OwningRelationship = ForeignKeyRelationship & {
  readonly cardinality: Extract<Cardinality, { kind: 'many-to-one' | 'one-to-one' }>
}
type ManyToOne = OwningRelationship & { readonly cardinality: Extract<Cardinality, { kind: 'many-to-one' }> }

type Sources = {
  /** One per foreign key. */
  readonly foreignKeys: readonly ForeignKeyRelationship[]
  readonly viewKeys: readonly ViewKey[]
  readonly computed: readonly ComputedRelationship[]
  /** Primary key columns by `qualifiedKey(relation)`, including relations of internal schemas. */
  readonly primaryKeys: ReadonlyMap<string, readonly string[]>
  readonly schemas: readonly string[]
}

/**
 * All relationships between relations of the exposed schemas, by `relationshipKey(table, foreign schema)`, sorted.
 * Computed relationships are listed under the schema of their function, because requests use the function's name. They
 * replace foreign key relationships to a relation of that name. Relationships to internal relations or through internal
 * junctions are left out; their map key remains, with an empty list if there is no other.
 */
export function* relationshipsOf(sources: Sources): Steps<Relationships> {
  const { foreignKeys, viewKeys, computed, primaryKeys, schemas } = sources
  const owning = yield* owningRelationships(foreignKeys, viewKeys)
  const throughJunctions = yield* junctions(owning.filter(isManyToOne), primaryKeys)

  const exposed = new Set(schemas)
  const groups = new Map<string, Relationship[]>()
  const add = (relationship: Relationship, targetSchema: string): void => {
    if (!exposed.has(relationship.table.schema)) return
    const key = relationshipKey(relationship.table, targetSchema)
    const group = groups.get(key) ?? []
    groups.set(key, group)
    if (exposed.has(relationship.foreignTable.schema) && !hasInternalJunction(relationship, exposed)) {
      group.push(relationship)
    }
  }
  const overridden = new Set(computed.map((relationship) => pathKey(relationship.table, relationship.function)))
  const addUnlessOverridden = (relationship: ForeignKeyRelationship): void => {
    if (overridden.size > 0 && overridden.has(pathKey(relationship.table, relationship.foreignTable))) return
    add(relationship, relationship.foreignTable.schema)
  }
  yield* eachOf(owning, addUnlessOverridden)
  yield* eachOf(throughJunctions, addUnlessOverridden)
  yield* eachOf(owning, (relationship) => addUnlessOverridden(inverse(relationship)))
  yield* eachOf(computed, (relationship) => add(relationship, relationship.function.schema))
  yield* eachOf(groups.values(), (group) => group.sort(compareRelationships))
  return groups
}

/** The foreign keys, and the same between all views that show the key columns of either side. */
export function* owningRelationships(
  foreignKeys: readonly ForeignKeyRelationship[],
  viewKeys: readonly ViewKey[],
): Steps<OwningRelationship[]> {
  const tables = foreignKeys.filter(isOwning)
  return [...tables, ...(yield* throughViews(tables, viewKeys))]
}

const isOwning = (relationship: ForeignKeyRelationship): relationship is OwningRelationship =>
  relationship.cardinality.kind === 'many-to-one' || relationship.cardinality.kind === 'one-to-one'

const isManyToOne = (relationship: OwningRelationship): relationship is ManyToOne =>
  relationship.cardinality.kind === 'many-to-one'

const hasInternalJunction = (relationship: Relationship, exposed: ReadonlySet<string>): boolean =>
  relationship.kind === 'foreign-key' &&
  relationship.cardinality.kind === 'many-to-many' &&
  !exposed.has(relationship.cardinality.junction.table.schema)

const pathKey = (from: QualifiedIdentifier, to: QualifiedIdentifier): string =>
  `${qualifiedKey(from.schema, from.name)}\0${qualifiedKey(to.schema, to.name)}`

/** The same relationships with one or both sides replaced by the views that show the key columns of that side. */
function* throughViews(
  relationships: readonly OwningRelationship[],
  viewKeys: readonly ViewKey[],
): Steps<OwningRelationship[]> {
  const keys = yield* groupsOf(viewKeys, ({ table, role, constraint }) => viewKeyIndex(table, role, constraint))
  const shown = new Set(viewKeys.map(({ table }) => qualifiedKey(table.schema, table.name)))
  const isShown = ({ schema, name }: QualifiedIdentifier): boolean => shown.has(qualifiedKey(schema, name))
  return yield* flatMapOf(relationships, (relationship): OwningRelationship[] => {
    const { table, foreignTable, cardinality } = relationship
    if (!isShown(table) && !isShown(foreignTable)) return []
    const { constraint, columns } = cardinality
    // A view can show a key column several times: every combination makes a separate side.
    const choices = (side: QualifiedIdentifier, role: KeyRole): ViewSide[] =>
      (keys.get(viewKeyIndex(side, role, constraint)) ?? []).flatMap(({ view, viewColumns }) =>
        combinations(viewColumns).map((names) => ({ view, names })),
      )
    const sources = choices(table, 'foreign')
    const targets = choices(foreignTable, 'referenced')
    const ownColumns = columns.map(([column]) => column)
    const foreignColumns = columns.map(([, column]) => column)
    const between = (source: ViewSide | null, target: ViewSide | null): OwningRelationship => ({
      ...relationship,
      table: source?.view ?? table,
      foreignTable: target?.view ?? foreignTable,
      isSelf: source !== null && target !== null && isSame(source.view, target.view),
      cardinality: {
        ...cardinality,
        columns: pairColumns(source?.names ?? ownColumns, target?.names ?? foreignColumns),
      },
      tableIsView: source !== null,
      foreignTableIsView: target !== null,
    })
    return [
      ...sources.map((source) => between(source, null)),
      ...targets.map((target) => between(null, target)),
      ...sources.flatMap((source) => targets.map((target) => between(source, target))),
    ]
  })
}

type ViewSide = { readonly view: QualifiedIdentifier; readonly names: readonly string[] }

const viewKeyIndex = (table: QualifiedIdentifier, role: KeyRole, constraint: string): string =>
  `${qualifiedKey(table.schema, table.name)}\0${role}\0${constraint}`

/** Many-to-many relationships through relations whose primary key contains two foreign keys. */
function* junctions(
  relationships: readonly ManyToOne[],
  primaryKeys: ReadonlyMap<string, readonly string[]>,
): Steps<ForeignKeyRelationship[]> {
  // Both foreign keys must be within the primary key, so all others are ruled out before pairing.
  const candidates = yield* flatMapOf(relationships, (relationship) => {
    const { table, cardinality } = relationship
    const primaryKey = primaryKeys.get(qualifiedKey(table.schema, table.name)) ?? []
    return cardinality.columns.every(([column]) => primaryKey.includes(column)) ? [relationship] : []
  })
  const byJunction = yield* groupsOf(candidates, ({ table }) => qualifiedKey(table.schema, table.name))
  return yield* flatMapOf(byJunction.values(), (sides) =>
    sides.flatMap((source) =>
      sides
        .filter((target) => target.cardinality.constraint !== source.cardinality.constraint)
        .map((target): ForeignKeyRelationship => {
          const junction: Junction = {
            table: source.table,
            sourceConstraint: source.cardinality.constraint,
            targetConstraint: target.cardinality.constraint,
            sourceColumns: swap(source.cardinality.columns),
            targetColumns: swap(target.cardinality.columns),
          }
          return {
            kind: 'foreign-key',
            table: source.foreignTable,
            foreignTable: target.foreignTable,
            isSelf: isSame(source.foreignTable, target.foreignTable),
            cardinality: { kind: 'many-to-many', junction },
            tableIsView: source.foreignTableIsView,
            foreignTableIsView: target.foreignTableIsView,
          }
        }),
    ),
  )
}

/** The relationship seen from the other side. */
function inverse(relationship: OwningRelationship): ForeignKeyRelationship {
  const { cardinality } = relationship
  const columns = swap(cardinality.columns)
  return {
    ...relationship,
    table: relationship.foreignTable,
    foreignTable: relationship.table,
    cardinality:
      cardinality.kind === 'many-to-one'
        ? { kind: 'one-to-many', constraint: cardinality.constraint, columns }
        : { kind: 'one-to-one', constraint: cardinality.constraint, columns, isParent: !cardinality.isParent },
    tableIsView: relationship.foreignTableIsView,
    foreignTableIsView: relationship.tableIsView,
  }
}

const isSame = (a: QualifiedIdentifier, b: QualifiedIdentifier): boolean => a.schema === b.schema && a.name === b.name

const swap = (columns: ColumnPairs): ColumnPairs => columns.map(([a, b]) => [b, a])

/** Every way to take one item of each list. */
const combinations = (lists: readonly (readonly string[])[]): (readonly string[])[] =>
  lists.reduce<(readonly string[])[]>(
    (heads, list) => heads.flatMap((head) => list.map((item) => [...head, item])),
    [[]],
  )
