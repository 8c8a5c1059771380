// Plans nested writes: POST with keys that name relationships.
import { isToOne, type ForeignKeyRelationship } from '../../../catalogue/relationship.ts'
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'
import type { Table } from '../../../catalogue/table.ts'
import { JsonDocument } from '../../../text/json-document.ts'
import { errors } from '../../errors.ts'
import { maxNesting } from '../../request/combinators.ts'
import { nestedErrors, pointerToken } from './nested-errors.ts'
import { keyOf, type ColumnPairs, type GrowingLevel, type Reached, type ReferencedLevel } from './nested-level.ts'
import { NestedRelations } from './nested-relationship.ts'
import { nestedSources, rootSources, SourceList, type ReadSource, type Source } from './nested-source.ts'
import { NestedSteps } from './nested-steps.ts'
import type { NestedPairs, NestedPlan, NestedRoot, RowsStep } from './nested-write.ts'

/** Maximum number of rows of all levels: planning one takes some 10 µs. */
const maxRows = 5000

/**
 * Plans a nested write.
 *
 * @throws ApiError PGRST201 and PGRST204 with pointers into the body; PGRSTX20 to PGRSTX26
 */
export function planNestedWrite(root: NestedRoot, cache: SchemaCache): NestedPlan {
  const { table, body, returning } = root
  if (returning.length > 0 && table.primaryKey.length === 0) throw nestedErrors.noPrimaryKey(table.name)
  const document = new JsonDocument(body)
  const planner = new NestedPlanner(root, document, cache)
  const place = document.kindAt(document.start) === 'object' ? '' : '/*'
  const level = planner.addLevel(table, rootSources(document), { role: 'root', place, keys: [] })
  level.isKept = true
  const primaryKey = returning.length === 0 ? [] : table.primaryKey.map((name) => keyOf(level, name, name))
  return { steps: planner.steps.list, root: level, primaryKey }
}

class NestedPlanner {
  readonly steps: NestedSteps
  readonly #root: NestedRoot
  /** The body. Each part of it is read once, however deep it is. */
  readonly #body: JsonDocument
  readonly #namedColumns: ReadonlySet<string> | undefined
  readonly #relations: NestedRelations
  #levels = 0
  #rows = 0

  constructor(root: NestedRoot, body: JsonDocument, cache: SchemaCache) {
    this.#root = root
    this.#body = body
    this.#namedColumns = root.namedColumns && new Set(root.namedColumns)
    this.steps = new NestedSteps(root, cache)
    this.#relations = new NestedRelations(cache)
  }

  /** Adds the steps of rows of a table, of what they refer to before them, and of what refers to them after them. */
  addLevel(table: Table, sources: readonly Source[], reached: Reached): GrowingLevel {
    const { place, keys: path } = reached
    const depth = path.length
    const { maxDepth } = this.#root
    if (maxDepth !== null && depth > maxDepth) throw errors.embedTooDeep(path, maxDepth)
    if (depth > maxNesting) throw nestedErrors.tooDeep(maxNesting, place)
    const into = { schema: table.schema, name: table.name }
    this.#rows += sources.length
    if (this.#rows > maxRows) throw nestedErrors.tooManyRows(maxRows, place)
    const level: GrowingLevel = { number: this.#levels++, into, keys: [], isKept: false, table }
    const rows = sources.map((source, number) => this.#read(table, source, number, reached))
    const keys = [...new Set(rows.flatMap(({ nested }) => [...nested.keys()]))]
    const related = keys.map((key) => ({ key, ...this.#relations.find(table, key, `${place}${pointerToken(key)}`) }))
    const links = new Map<string, ReferencedLevel>()
    for (const { key, relationship, table: target } of related) {
      const columns = ownColumns(relationship)
      if (columns) links.set(key, { level: this.#addReferenced(rows, key, target, columns, reached), columns })
    }
    this.steps.addRows(level, rows, links, reached)
    for (const { key, relationship, table: target } of related) {
      const { cardinality } = relationship
      if (cardinality.kind === 'many-to-many') {
        const { junction } = cardinality
        const { sourceColumns, targetColumns } = junction
        const into = this.#relations.table(junction.table)
        this.#addJunction(level, rows, key, target, { into, sourceColumns, targetColumns }, reached)
      } else if (!links.has(key)) {
        this.#addChildren(level, rows, key, target, relationship, reached)
      }
    }
    return level
  }

  /** Separates the columns of a row from its related rows. */
  #read(table: Table, { start, path }: Source, number: number, { role }: Reached): ReadSource {
    const own = new Map<string, string>()
    const nested = new Map<string, number>()
    for (const [name, value] of this.#body.membersAt(start)) {
      if (role === 'root' && this.#namedColumns?.has(name) === false) continue
      if (table.columns.has(name)) own.set(name, this.#body.textAt(value))
      else nested.set(name, value)
    }
    // Makes the error of an unknown column point to the row that has it.
    for (const key of nested.keys()) this.#relations.find(table, key, path + pointerToken(key))
    return { number, path, own, nested, toOne: new Map() }
  }

  /** Adds the rows that foreign keys of `rows` refer to. A null sets the foreign key to null. */
  #addReferenced(
    rows: readonly ReadSource[],
    key: string,
    target: Table,
    columns: ColumnPairs,
    from: Reached,
  ): GrowingLevel {
    const { place, keys } = from
    const sources = new SourceList(this.#body, target, this.#root.resolution !== undefined)
    for (const { path, own, nested, toOne } of rows) {
      const start = nested.get(key)
      if (start === undefined) continue
      const at = path + pointerToken(key)
      const [column = ''] = columns.map(([name]) => name)
      if (columns.every(([name]) => own.has(name)))
        throw nestedErrors.setTwice(column, key, path + pointerToken(column))
      const kind = this.#body.kindAt(start)
      if (kind === 'null') {
        for (const [name] of columns) if (!own.has(name)) own.set(name, 'null')
      } else if (kind === 'object') toOne.set(key, sources.add({ start, path: at }))
      else throw nestedErrors.wrongKind(key, 'an object or null', at)
    }
    return this.addLevel(target, sources.list, {
      role: 'referenced',
      place: place + pointerToken(key),
      keys: [...keys, key],
      onlyPaired: this.#pairedThrough(rows, key, from),
    })
  }

  /** What the rows at `key` depend on: if `rows` are left out as part of an object that exists, so are these. */
  #pairedThrough(rows: readonly ReadSource[], key: string, { parent, onlyPaired }: Reached): RowsStep['onlyPaired'] {
    if (this.#root.resolution !== 'ignore-duplicates') return null
    const gate = parent
      ? { level: parent.link.level, pairs: { sources: parent.link.rows, targets: [...parent.link.rows.keys()] } }
      : onlyPaired
    if (!gate) return null
    const { level, pairs } = gate
    const through: { readonly sources: number[]; readonly targets: number[] } = { sources: [], targets: [] }
    for (const [index, target] of pairs.targets.entries()) {
      const number = rows[target]?.toOne.get(key)
      if (number === undefined) continue
      through.sources.push(pairs.sources[index] ?? 0)
      through.targets.push(number)
    }
    return { level, pairs: through satisfies NestedPairs }
  }

  /** Adds the rows that refer to `rows`. */
  #addChildren(
    level: GrowingLevel,
    rows: readonly ReadSource[],
    key: string,
    target: Table,
    relationship: ForeignKeyRelationship,
    { place, keys }: Reached,
  ): void {
    const { cardinality } = relationship
    if (cardinality.kind === 'many-to-many') return
    const sources: Source[] = []
    const parents: number[] = []
    for (const { source, parent } of nestedSources(this.#body, rows, key, isToOne(relationship))) {
      sources.push(source)
      parents.push(parent)
    }
    if (sources.length === 0) return
    const columns = cardinality.columns.map(([own, other]) => [other, own] as const)
    level.isKept = true
    this.addLevel(target, sources, {
      role: 'child',
      place: `${place}${pointerToken(key)}${isToOne(relationship) ? '' : '/*'}`,
      keys: [...keys, key],
      parent: { key, link: { level, rows: parents, isParent: true }, columns },
    })
  }

  /** Adds the rows at the other side of a junction, and then the rows of the junction. */
  #addJunction(
    level: GrowingLevel,
    rows: readonly ReadSource[],
    key: string,
    target: Table,
    junction: { readonly into: Table; readonly sourceColumns: ColumnPairs; readonly targetColumns: ColumnPairs },
    { place, keys }: Reached,
  ): void {
    const { resolution } = this.#root
    const list = new SourceList(this.#body, target, resolution !== undefined)
    const pairs: { readonly sources: number[]; readonly targets: number[] } = { sources: [], targets: [] }
    for (const { source, parent } of nestedSources(this.#body, rows, key, false)) {
      pairs.sources.push(parent)
      pairs.targets.push(list.add(source))
    }
    if (list.list.length === 0) return
    level.isKept = true
    const at = `${place}${pointerToken(key)}/*`
    const to = this.addLevel(target, list.list, {
      role: 'referenced',
      place: at,
      keys: [...keys, key],
      onlyPaired: resolution === 'ignore-duplicates' ? { level, pairs: pairs satisfies NestedPairs } : null,
    })
    const { into, sourceColumns, targetColumns } = junction
    const source = sourceColumns.map(([own, joined]) => keyOf(level, own, joined))
    const joinedColumns = new Set(source.map(({ name }) => name))
    const free = targetColumns.filter(([, joined]) => !joinedColumns.has(joined))
    this.steps.add({
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

/** The columns of a relationship whose foreign key the row itself has; undefined for other relationships. */
function ownColumns({ cardinality }: ForeignKeyRelationship): ColumnPairs | undefined {
  if (cardinality.kind === 'many-to-one') return cardinality.columns
  return cardinality.kind === 'one-to-one' && !cardinality.isParent ? cardinality.columns : undefined
}
