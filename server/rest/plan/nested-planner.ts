// Plans nested writes: POST with keys that name relationships.
import { isToOne, type ForeignKeyRelationship } from '../../schema-cache/relationship.ts'
import { qualifiedKey, type QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import type { SchemaCache } from '../../schema-cache/schema-cache.ts'
import type { Column, Table } from '../../schema-cache/table.ts'
import { jsonObject } from '../../text/json-members.ts'
import { kindOfJson, memberTexts } from '../../text/json-parts.ts'
import { ApiError, errors } from '../errors.ts'
import { maxNesting } from '../request/combinators.ts'
import { columnField, fromJson } from './field-resolution.ts'
import { atPath, nestedErrors, pointerToken } from './nested-errors.ts'
import { nestedRelationship } from './nested-relationship.ts'
import { nestedSources, rootSources, SourceList, type ReadSource, type Source } from './nested-source.ts'
import type {
  LinkedColumn,
  NestedConflict,
  NestedLink,
  NestedPairs,
  NestedPlan,
  NestedRow,
  NestedStep,
  RowsStep,
} from './nested-write.ts'

/** Maximum number of statements of a nested write. */
const maxSteps = 500
/** Maximum number of rows of a level that are written one by one. */
const maxSingleRows = 20

/** The write of the root, as its preferences and parameters have it. */
export type NestedRoot = {
  readonly table: Table
  /** JSON text: an object or an array of objects. */
  readonly body: string
  /** The `columns` parameter. */
  readonly namedColumns: readonly string[] | undefined
  readonly resolution: NestedConflict['resolution'] | undefined
  readonly onConflict: readonly string[] | undefined
  readonly applyDefaults: boolean
  /** Columns of the root that the response needs, if any. */
  readonly returning: readonly string[]
}

type MutableLevel = { number: number; into: QualifiedIdentifier; keys: Column[]; isKept: boolean; table: Table }

/** The part of a level that depends on how it is reached. */
type Reached = {
  readonly role: 'root' | 'child' | 'referenced'
  readonly place: string
  readonly depth: number
  /** The key of the body, and the rows of the parent. */
  readonly parent?: { readonly key: string; readonly link: Omit<NestedLink, 'columns'>; readonly columns: Columns }
  readonly onlyPaired?: RowsStep['onlyPaired']
}

/** Pairs of columns: of the row itself, and of the level that it refers to. */
type Columns = readonly (readonly [own: string, other: string])[]

type Related = { readonly relationship: ForeignKeyRelationship; readonly table: Table }

/**
 * Plans a nested write.
 *
 * @throws ApiError PGRST201 and PGRST204 with pointers into the body; PGRSTX20 to PGRSTX26
 */
export function planNestedWrite(root: NestedRoot, cache: SchemaCache): NestedPlan {
  const { table, body, returning } = root
  if (returning.length > 0 && table.primaryKey.length === 0) throw nestedErrors.noPrimaryKey(table.name)
  const planner = new NestedPlanner(root, cache)
  const place = kindOfJson(body) === 'object' ? '' : '/*'
  const level = planner.addLevel(table, rootSources(body), { role: 'root', place, depth: 0 })
  level.isKept = true
  const primaryKey = returning.length === 0 ? [] : table.primaryKey.map((name) => keyOf(level, name, name))
  return { steps: planner.steps, root: level, primaryKey }
}

/** The key of a level for a column, which is added if it is new. @param name of the column that gets its value */
function keyOf(level: MutableLevel, column: string, name: string): LinkedColumn {
  level.isKept = true
  const at = level.keys.findIndex((key) => key.name === column)
  if (at >= 0) return { name, key: at }
  const found = level.table.columns.get(column)
  if (!found) throw errors.noColumn(level.table.name, column)
  return { name, key: level.keys.push(found) - 1 }
}

class NestedPlanner {
  readonly steps: NestedStep[] = []
  readonly #root: NestedRoot
  readonly #cache: SchemaCache
  #levels = 0
  readonly #relations = new Map<string, Related | undefined>()

  constructor(root: NestedRoot, cache: SchemaCache) {
    this.#root = root
    this.#cache = cache
  }

  /** Adds the steps of rows of a table, of what they refer to before them, and of what refers to them after them. */
  addLevel(table: Table, sources: readonly Source[], reached: Reached): MutableLevel {
    const { place, depth } = reached
    if (depth > maxNesting) throw nestedErrors.tooDeep(maxNesting, place)
    const into = { schema: table.schema, name: table.name }
    const level: MutableLevel = { number: this.#levels++, into, keys: [], isKept: false, table }
    const rows = sources.map((source, number) => this.#read(table, source, number, reached))
    const keys = [...new Set(rows.flatMap(({ nested }) => [...nested.keys()]))]
    const related = keys.map((key) => ({ key, ...this.#related(table, key, `${place}${pointerToken(key)}`) }))
    const links = new Map<string, { readonly level: MutableLevel; readonly columns: Columns }>()
    for (const { key, relationship, table: target } of related) {
      const columns = ownColumns(relationship)
      if (columns) links.set(key, { level: this.#addReferenced(rows, key, target, columns, reached), columns })
    }
    this.#addRows(level, rows, links, reached)
    for (const { key, relationship, table: target } of related) {
      const { cardinality } = relationship
      if (cardinality.kind === 'many-to-many') {
        const { junction } = cardinality
        const { sourceColumns, targetColumns } = junction
        const into = this.#tableOf(junction.table)
        this.#addJunction(level, rows, key, target, { into, sourceColumns, targetColumns }, reached)
      } else if (!links.has(key)) {
        this.#addChildren(level, rows, key, target, relationship, reached)
      }
    }
    return level
  }

  /** Separates the columns of a row from its related rows. */
  #read(table: Table, { text, path }: Source, number: number, { role }: Reached): ReadSource {
    const own = new Map<string, string>()
    const nested = new Map<string, string>()
    const { namedColumns } = this.#root
    for (const [name, value] of memberTexts(text)) {
      if (role === 'root' && namedColumns?.includes(name) === false) continue
      if (table.columns.has(name)) own.set(name, value)
      else nested.set(name, value)
    }
    // Makes the error of an unknown column point to the row that has it.
    for (const key of nested.keys()) this.#related(table, key, path + pointerToken(key))
    return { number, path, own, nested, toOne: new Map() }
  }

  #related(table: Table, key: string, path: string): Related {
    const memo = `${qualifiedKey(table.schema, table.name)}\0${key}`
    const known = this.#relations.get(memo)
    if (known) return known
    try {
      const relationship = nestedRelationship(this.#cache, table, key)
      if (!relationship) throw errors.noColumn(table.name, key)
      if (relationship.kind === 'computed') throw nestedErrors.computed(key, path)
      const found = { relationship, table: this.#tableOf(relationship.foreignTable) }
      this.#relations.set(memo, found)
      return found
    } catch (error) {
      throw error instanceof ApiError && !error.code.startsWith('PGRSTX') ? ofKey(error, path) : error
    }
  }

  #tableOf({ schema, name }: QualifiedIdentifier): Table {
    const table = this.#cache.tables.get(qualifiedKey(schema, name))
    if (!table) throw errors.noTable(schema, name, null)
    return table
  }

  /** Adds the rows that foreign keys of `rows` refer to. A null sets the foreign key to null. */
  #addReferenced(
    rows: readonly ReadSource[],
    key: string,
    target: Table,
    columns: Columns,
    { place, depth }: Reached,
  ): MutableLevel {
    const sources = new SourceList(target, this.#root.resolution !== undefined)
    for (const { path, own, nested, toOne } of rows) {
      const text = nested.get(key)
      if (text === undefined) continue
      const at = path + pointerToken(key)
      const [column = ''] = columns.map(([name]) => name)
      if (columns.every(([name]) => own.has(name)))
        throw nestedErrors.setTwice(column, key, path + pointerToken(column))
      const kind = kindOfJson(text)
      if (kind === 'null') {
        for (const [name] of columns) if (!own.has(name)) own.set(name, 'null')
      } else if (kind === 'object') toOne.set(key, sources.add({ text, path: at }))
      else throw nestedErrors.wrongKind(key, 'an object or null', at)
    }
    const reached: Reached = { role: 'referenced', place: place + pointerToken(key), depth: depth + 1 }
    return this.addLevel(target, sources.list, reached)
  }

  /** Adds one step for all rows of a level that have the same columns. */
  #addRows(
    level: MutableLevel,
    rows: readonly ReadSource[],
    links: ReadonlyMap<string, { readonly level: MutableLevel; readonly columns: Columns }>,
    reached: Reached,
  ): void {
    const { parent, role, place, onlyPaired = null } = reached
    const { table } = level
    let isFirst = true
    for (const group of this.#groups(rows, role)) {
      const [first] = group
      if (!first) continue
      const set = new Set(role === 'root' ? this.#rootColumns(rows, table) : first.own.keys())
      const found: NestedLink[] = []
      const linked = new Set<string>()
      const add = (link: Omit<NestedLink, 'columns'>, to: MutableLevel, columns: Columns): void => {
        const free = columns.filter(([name]) => !set.has(name) && !linked.has(name))
        found.push({ ...link, columns: free.map(([name, other]) => keyOf(to, other, name)) })
        for (const [name] of free) linked.add(name)
      }
      if (parent) {
        for (const { own, path } of group) rejectSetTwice(parent, own, path)
        add(parent.link, parent.link.level as MutableLevel, parent.columns)
      }
      for (const [key, { level: to, columns }] of links) {
        if (!first.toOne.has(key)) continue
        // The `columns` parameter may name a foreign key that these rows do not have.
        for (const [name] of columns) if (group.every(({ own }) => !own.has(name))) set.delete(name)
        add({ level: to, rows: group.map(({ toOne }) => toOne.get(key) ?? 0), isParent: false }, to, columns)
      }
      const rowsOf = parent?.link.rows
      const conflict = this.#conflict(table, [...set, ...linked], role)
      // Rows that exist already are referred to as they are.
      const findsExisting = role === 'referenced' && conflict?.resolution === 'ignore-duplicates'
      const step: RowsStep = {
        kind: 'rows',
        level,
        place,
        rows: group.map(rowOf),
        columns: [...set].sort().map((name) => this.#field(table, name)),
        links: found.map((link) =>
          link.isParent && rowsOf ? { ...link, rows: group.map(({ number }) => rowsOf[number] ?? 0) } : link,
        ),
        conflict,
        isFirst: isFirst && !findsExisting,
        onlyUnknown: findsExisting,
        isRoot: role === 'root',
        applyDefaults: role === 'root' && this.#root.applyDefaults,
        onlyPaired,
      }
      const asWritten = this.#root.resolution === 'merge-duplicates'
      const find = { kind: 'existing', of: step, asWritten } as const
      if (findsExisting) this.#addStep({ ...find, isFirst, isLast: false })
      this.#addStep(step)
      if (findsExisting) this.#addStep({ ...find, isFirst: false, isLast: true })
      isFirst = false
    }
  }

  /** Few rows are written one by one, so that an error tells the row; of many, those with the same columns together. */
  #groups(rows: readonly ReadSource[], role: Reached['role']): Iterable<readonly ReadSource[]> {
    if (rows.length <= maxSingleRows && this.steps.length < maxSteps / 2) return rows.map((row) => [row])
    const groups = new Map<string, ReadSource[]>()
    for (const row of rows) {
      const names = [...(role === 'root' ? [] : row.own.keys()), '', ...row.toOne.keys()]
      const shape = JSON.stringify(names.sort())
      const group = groups.get(shape)
      if (group) group.push(row)
      else groups.set(shape, [row])
    }
    return groups.values()
  }

  #addStep(step: NestedStep): void {
    if (this.steps.push(step) > maxSteps) throw nestedErrors.tooManySteps(maxSteps)
  }

  #field(table: Table, name: string) {
    const column = table.columns.get(name)
    if (!column) throw errors.noColumn(table.name, name)
    return fromJson(this.#cache.representations, columnField(column))
  }

  /** The columns that all rows of the root have, as in a write without related rows. */
  #rootColumns(rows: readonly ReadSource[], table: Table): Iterable<string> {
    const { namedColumns } = this.#root
    const added = rows.flatMap(({ own }) => [...own.keys()])
    return namedColumns ? [...namedColumns.filter((name) => table.columns.has(name)), ...added] : added
  }

  /** What happens to rows that exist already. Below the root, the primary key identifies them. */
  #conflict(table: Table, written: readonly string[], role: Reached['role']): NestedConflict | null {
    const { resolution, onConflict } = this.#root
    if (!resolution) return null
    const { primaryKey } = table
    if (role === 'root') {
      const columns = onConflict ?? primaryKey
      return columns.length === 0 ? null : { resolution, columns }
    }
    if (primaryKey.length === 0 || !primaryKey.every((name) => written.includes(name))) return null
    const isKeyOnly = written.every((name) => primaryKey.includes(name))
    const ignores = resolution === 'ignore-duplicates' || (isKeyOnly && role === 'referenced')
    return { resolution: ignores ? 'ignore-duplicates' : 'merge-duplicates', columns: primaryKey }
  }

  /** Adds the rows that refer to `rows`. */
  #addChildren(
    level: MutableLevel,
    rows: readonly ReadSource[],
    key: string,
    target: Table,
    relationship: ForeignKeyRelationship,
    { place, depth }: Reached,
  ): void {
    const { cardinality } = relationship
    if (cardinality.kind === 'many-to-many') return
    const sources: Source[] = []
    const parents: number[] = []
    for (const { source, parent } of nestedSources(rows, key, isToOne(relationship))) {
      sources.push(source)
      parents.push(parent)
    }
    if (sources.length === 0) return
    const columns = cardinality.columns.map(([own, other]) => [other, own] as const)
    level.isKept = true
    this.addLevel(target, sources, {
      role: 'child',
      place: `${place}${pointerToken(key)}${isToOne(relationship) ? '' : '/*'}`,
      depth: depth + 1,
      parent: { key, link: { level, rows: parents, isParent: true }, columns },
    })
  }

  /** Adds the rows at the other side of a junction, and then the rows of the junction. */
  #addJunction(
    level: MutableLevel,
    rows: readonly ReadSource[],
    key: string,
    target: Table,
    junction: { readonly into: Table; readonly sourceColumns: Columns; readonly targetColumns: Columns },
    { place, depth }: Reached,
  ): void {
    const { resolution } = this.#root
    const list = new SourceList(target, resolution !== undefined)
    const pairs: { readonly sources: number[]; readonly targets: number[] } = { sources: [], targets: [] }
    for (const { source, parent } of nestedSources(rows, key, false)) {
      pairs.sources.push(parent)
      pairs.targets.push(list.add(source))
    }
    if (list.list.length === 0) return
    level.isKept = true
    const at = `${place}${pointerToken(key)}/*`
    const to = this.addLevel(target, list.list, {
      role: 'referenced',
      place: at,
      depth: depth + 1,
      onlyPaired: resolution === 'ignore-duplicates' ? { level, pairs: pairs satisfies NestedPairs } : null,
    })
    const { into, sourceColumns, targetColumns } = junction
    const source = sourceColumns.map(([own, joined]) => keyOf(level, own, joined))
    const joinedColumns = new Set(source.map(({ name }) => name))
    const free = targetColumns.filter(([, joined]) => !joinedColumns.has(joined))
    this.#addStep({
      kind: 'junction',
      into: { schema: into.schema, name: into.name },
      place: at,
      source: { level, columns: source },
      target: { level: to, columns: free.map(([own, joined]) => keyOf(to, own, joined)) },
      pairs,
      ignoresDuplicates: resolution !== undefined,
    })
  }
}

/** Adds a pointer to an error of a key. An ambiguous relationship has its candidates in the details. */
function ofKey(error: ApiError, path: string): ApiError {
  if (typeof error.details === 'string' || error.details === null) return atPath(error, path)
  return new ApiError({ ...error, message: `${error.message}, at ${path}` })
}

const rowOf = ({ number, path, own }: ReadSource): NestedRow => ({ number, path, text: jsonObject(own) })

/** The columns of a relationship whose foreign key the row itself has; undefined for other relationships. */
function ownColumns({ cardinality }: ForeignKeyRelationship): Columns | undefined {
  if (cardinality.kind === 'many-to-one') return cardinality.columns
  return cardinality.kind === 'one-to-one' && !cardinality.isParent ? cardinality.columns : undefined
}

/** @throws ApiError PGRSTX23 when a row has the whole foreign key that refers to its parent */
function rejectSetTwice(
  { key, columns }: NonNullable<Reached['parent']>,
  own: ReadonlyMap<string, string>,
  path: string,
): void {
  const [column = ''] = columns.map(([name]) => name)
  if (columns.every(([name]) => own.has(name))) throw nestedErrors.setTwice(column, key, path + pointerToken(column))
}
