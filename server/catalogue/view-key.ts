// Keys that views take over from their underlying tables, found by tracing view columns to the columns that they copy.
import { identifierOf, type CatalogueRelation, type Constraint } from './constraint.ts'
import { qualifiedKey, type QualifiedIdentifier } from './identifier.ts'
import { decodeRow, type CatalogRow } from './introspection.ts'
import { columnOrigins, type ColumnOrigin } from './node-tree.ts'
import { eachOf, flatMapOf, mapOf, type Steps } from './steps.ts'
import { compareText } from '../text/code-point-order.ts'

/** A view of the exposed or extra schemas. */
export type StoredView = CatalogueRelation & {
  /** Only exposed views get keys; others only link exposed views to tables. */
  readonly isExposed: boolean
  /** Column names by number. */
  readonly columns: Readonly<Record<string, string>>
  /** Its query as `pg_node_tree` text. */
  readonly query: string
}

/** Decodes a row of the statement `views`. */
export const decodeView = (row: CatalogRow): StoredView => ({
  ...decodeRow<Omit<StoredView, 'query'>>(row),
  query: String(row.query),
})

/** The role of a key for its table: primary key, foreign key, or the target of another table's foreign key. */
export type KeyRole = 'primary' | 'foreign' | 'referenced'

/** A key that a view shows, with all view columns that copy each of its columns. */
export type ViewKey = {
  readonly view: QualifiedIdentifier
  readonly table: QualifiedIdentifier
  readonly role: KeyRole
  readonly constraint: string
  /** In key order; no inner list is empty. */
  readonly viewColumns: readonly (readonly string[])[]
}

/** View columns by the relation (oid) and column number that they copy. */
type Copies = Map<string, Map<number, string[]>>

/** The key columns of one table under one constraint name. */
type TableKey = {
  readonly role: KeyRole
  readonly constraint: string
  readonly table: QualifiedIdentifier
  readonly length: number
  /** [attribute number, position in the key], without duplicates. */
  readonly columns: Map<string, readonly [number, number]>
}

/**
 * The keys of the exposed views: every constraint whose columns the view shows in full. Sorted by table, view and
 * constraint.
 */
export function* viewKeysOf(views: readonly StoredView[], constraints: readonly Constraint[]): Steps<ViewKey[]> {
  if (views.length === 0) return []
  const origins = yield* mapOf(views, ({ oid, query }) => [oid, indexOrigins(query)] as const)
  const copied = new Set<string>()
  yield* eachOf(origins.values(), (columns) => {
    for (const { relation } of columns.values()) copied.add(relation)
  })
  const tableKeys = yield* indexTableKeys(constraints, copied)
  const keys = yield* flatMapOf(views, (view) => (view.isExposed ? keysOfView(view, origins, tableKeys) : []))
  return keys.sort(
    (a, b) =>
      compareText(a.table.schema, b.table.schema) ||
      compareText(a.table.name, b.table.name) ||
      compareText(a.view.schema, b.view.schema) ||
      compareText(a.view.name, b.view.name) ||
      compareText(a.constraint, b.constraint),
  )
}

function keysOfView(
  view: StoredView,
  origins: ReadonlyMap<string, ReadonlyMap<number, ColumnOrigin>>,
  tableKeys: ReadonlyMap<string, readonly TableKey[]>,
): ViewKey[] {
  const keys: ViewKey[] = []
  for (const [relation, copies] of copiesOf(view, origins)) {
    for (const { role, constraint, table, length, columns } of tableKeys.get(relation) ?? []) {
      const shown = [...columns.values()].filter(([attribute]) => copies.has(attribute))
      if (shown.length !== length) continue
      shown.sort(([, a], [, b]) => a - b)
      const viewColumns = shown.map(([attribute]) => copies.get(attribute) ?? [])
      keys.push({ view: identifierOf(view), table, role, constraint, viewColumns })
    }
  }
  return keys
}

/**
 * Primary key columns of views by `qualifiedKey(view)`, one view column for each key column. A view of several tables has
 * all keys that it shows in full, the last table first, as in PostgREST's Location headers.
 */
export function viewPrimaryKeys(keys: readonly ViewKey[]): Map<string, readonly string[]> {
  const primaryKeys = new Map<string, readonly string[]>()
  for (const { view, role, viewColumns } of keys) {
    if (role !== 'primary') continue
    const name = qualifiedKey(view.schema, view.name)
    const columns = viewColumns.flatMap((copies) => copies.slice(0, 1))
    primaryKeys.set(name, [...columns, ...(primaryKeys.get(name) ?? [])])
  }
  return primaryKeys
}

const indexOrigins = (query: string): Map<number, ColumnOrigin> =>
  new Map(columnOrigins(query).map((origin) => [origin.column, origin]))

/** Every column that a view copies, at any depth: from the views it reads, down to their tables. */
function copiesOf(view: StoredView, origins: ReadonlyMap<string, ReadonlyMap<number, ColumnOrigin>>): Copies {
  const copies: Copies = new Map()
  let level = [...(origins.get(view.oid)?.values() ?? [])].map((origin) => ({
    origin,
    name: view.columns[origin.column],
  }))
  const seen = new Set<string>()
  // Level by level, so that the most direct copy of a column comes first.
  while (level.length > 0) {
    const next: typeof level = []
    for (const { origin, name } of level) {
      // An entry without a name is a sort key, not a column of the view. Views can form a cycle, hence `seen`.
      const step = `${name} ${origin.relation} ${origin.relationColumn}`
      if (name === undefined || seen.has(step)) continue
      seen.add(step)
      const columns = copies.get(origin.relation) ?? new Map<number, string[]>()
      copies.set(origin.relation, columns)
      const names = columns.get(origin.relationColumn) ?? []
      columns.set(origin.relationColumn, [...names, name])
      const deeper = origins.get(origin.relation)?.get(origin.relationColumn)
      if (deeper) next.push({ origin: deeper, name })
    }
    level = next
  }
  return copies
}

/**
 * The keys of each of the tables, by oid. Constraints are identified by name, not by oid: the inherited keys of partitions have
 * the columns and name of their parent's key and are one key.
 */
function* indexTableKeys(
  constraints: readonly Constraint[],
  tables: ReadonlySet<string>,
): Steps<Map<string, TableKey[]>> {
  const keys = new Map<string, Map<string, TableKey>>()
  const add = (role: KeyRole, constraint: string, relation: CatalogueRelation, attributes: readonly number[]): void => {
    if (!tables.has(relation.oid)) return
    const ofTable = keys.get(relation.oid) ?? new Map<string, TableKey>()
    keys.set(relation.oid, ofTable)
    const name = `${role} ${attributes.length} ${constraint}`
    const key = ofTable.get(name) ?? {
      role,
      constraint,
      table: identifierOf(relation),
      length: attributes.length,
      columns: new Map<string, readonly [number, number]>(),
    }
    ofTable.set(name, key)
    attributes.forEach((attribute, position) => key.columns.set(`${attribute} ${position}`, [attribute, position]))
  }
  yield* eachOf(constraints, ({ type, name, relation, attributes, foreign }) => {
    if (type === 'p') add('primary', name, relation, attributes)
    if (type === 'f') add('foreign', name, relation, attributes)
    if (foreign) add('referenced', name, foreign.relation, foreign.attributes)
  })
  return yield* mapOf(keys, ([oid, ofTable]) => [oid, [...ofTable.values()]] as const)
}
