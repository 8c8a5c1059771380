// The statements of a nested write, in the order in which they run, and how the rows of a level become statements.
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'
import { conflictTarget, type Table } from '../../../catalogue/table.ts'
import { jsonObject } from '../../../text/json-members.ts'
import { errors } from '../../errors.ts'
import { columnField, fromJson } from '../../plan/field-resolution.ts'
import type { PlannedField } from '../../plan/field.ts'
import { nestedErrors, pointerToken } from './nested-errors.ts'
import { keyOf, type GrowingLevel, type ColumnPairs, type Reached, type ReferencedLevel } from './nested-level.ts'
import type { ReadSource } from './nested-source.ts'
import type { NestedConflict, NestedLink, NestedRoot, NestedRow, NestedStep, RowsStep } from './nested-write.ts'

/** Maximum number of statements of a nested write, and of keys of a body that name relationships. */
export const maxSteps = 500
/** Maximum number of rows of a level that are written one by one. */
const maxSingleRows = 20

/** The steps of a nested write so far. */
export class NestedSteps {
  readonly list: NestedStep[] = []
  readonly #root: NestedRoot
  readonly #cache: SchemaCache

  constructor(root: NestedRoot, cache: SchemaCache) {
    this.#root = root
    this.#cache = cache
  }

  /** @throws ApiError PGRSTX24 */
  add(step: NestedStep): void {
    if (this.list.push(step) > maxSteps) throw nestedErrors.tooManySteps(maxSteps)
  }

  /**
   * Adds one step for all rows of a level that have the same columns.
   *
   * @param links what the rows refer to, by key of the body
   * @throws ApiError PGRSTX23, PGRSTX24
   */
  addRows(
    level: GrowingLevel,
    rows: readonly ReadSource[],
    links: ReadonlyMap<string, ReferencedLevel>,
    reached: Reached,
  ): void {
    let isFirst = true
    for (const group of this.#groups(rows, reached)) {
      this.#addGroup(level, group, { rows, links, reached, isFirst })
      isFirst = false
    }
  }

  #addGroup(
    level: GrowingLevel,
    group: readonly ReadSource[],
    {
      rows,
      links,
      reached,
      isFirst,
    }: Pick<RowsStep, 'isFirst'> & {
      /** All rows of the level. */
      readonly rows: readonly ReadSource[]
      readonly links: ReadonlyMap<string, ReferencedLevel>
      readonly reached: Reached
    },
  ): void {
    const { parent, role, place, onlyPaired = null } = reached
    const { table } = level
    const [first] = group
    const own = new Set(role === 'root' ? this.#rootColumns(rows, table) : first?.own.keys())
    const linked = new LinkedColumns(group, own)
    if (parent) {
      const { link, columns, key } = parent
      linked.add(key, { ...link, rows: group.map(({ number }) => link.rows[number] ?? 0) }, columns)
    }
    // Foreign keys of few columns come first: a larger one may share some of them.
    for (const [key, { level, columns }] of [...links].sort(([, a], [, b]) => a.columns.length - b.columns.length)) {
      if (!first?.toOne.has(key)) continue
      // The `columns` parameter may name a foreign key that these rows do not have.
      for (const [name] of columns) if (group.every((row) => !row.own.has(name))) own.delete(name)
      linked.add(key, { level, rows: group.map(({ toOne }) => toOne.get(key) ?? 0), isParent: false }, columns)
    }
    const conflict = this.#conflict(table, [...own, ...linked.names], role)
    // Rows that exist already are referred to as they are.
    const findsExisting = role === 'referenced' && conflict?.resolution === 'ignore-duplicates'
    const step: RowsStep = {
      kind: 'rows',
      level,
      place,
      rows: group.map(rowOf),
      columns: [...own].sort().map((name) => this.#field(table, name)),
      links: linked.links,
      conflict,
      isFirst: isFirst && !findsExisting,
      onlyUnknown: findsExisting,
      isRoot: role === 'root',
      applyDefaults: role === 'root' && this.#root.applyDefaults,
      onlyPaired,
    }
    const asWritten = this.#root.resolution === 'merge-duplicates'
    const find = { kind: 'existing', of: step, asWritten } as const
    if (findsExisting) this.add({ ...find, isFirst, isLast: false })
    this.add(step)
    if (findsExisting) this.add({ ...find, isFirst: false, isLast: true })
  }

  /** Few rows are written one by one, so that an error tells the row; of many, those with the same columns together. */
  #groups(rows: readonly ReadSource[], { role }: Reached): Iterable<readonly ReadSource[]> {
    // A root without rows has a statement, which checks privileges and keeps that there are no keys.
    if (rows.length === 0) return role === 'root' ? [[]] : []
    if (rows.length <= maxSingleRows && this.list.length < maxSteps / 2) return rows.map((row) => [row])
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

  #field(table: Table, name: string): PlannedField {
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
    const { primaryKey, isDistributed } = table
    const distributed = isDistributed === true ? { isDistributed } : {}
    if (role === 'root') {
      const columns = onConflict ?? primaryKey
      const nullable = columns.filter((name) => table.columns.get(name)?.nullable !== false)
      // Rows that are ignored are found by their columns, which do not identify the rows of such an index.
      const target = resolution === 'merge-duplicates' ? conflictTarget(table, columns) : undefined
      const named = { columns, ...(target && { target: target.sql }) }
      return columns.length === 0 ? null : { resolution, ...named, nullable, ...distributed }
    }
    if (primaryKey.length === 0 || !primaryKey.every((name) => written.includes(name))) return null
    const isKeyOnly = written.every((name) => primaryKey.includes(name))
    const ignores = resolution === 'ignore-duplicates' || (isKeyOnly && role === 'referenced')
    return { resolution: ignores ? 'ignore-duplicates' : 'merge-duplicates', columns: primaryKey, nullable: [] }
  }
}

/** The foreign keys of rows whose values come from other levels. */
class LinkedColumns {
  readonly links: NestedLink[] = []
  readonly #keys = new Map<string, string>()
  readonly #rows: readonly ReadSource[]
  readonly #own: ReadonlySet<string>

  /** @param own columns whose values are in the body */
  constructor(rows: readonly ReadSource[], own: ReadonlySet<string>) {
    this.#rows = rows
    this.#own = own
  }

  get names(): Iterable<string> {
    return this.#keys.keys()
  }

  /**
   * Adds the foreign key of a relationship. Columns that are set already keep their value.
   *
   * @param key of the body, which names the relationship
   * @throws ApiError PGRSTX23 when all of its columns are set
   */
  add(
    key: string,
    link: Omit<NestedLink, 'columns' | 'level'> & { readonly level: GrowingLevel },
    columns: ColumnPairs,
  ): void {
    const free = columns.filter(([name]) => !this.#own.has(name) && !this.#keys.has(name))
    if (free.length === 0) throw this.#setTwice(key, columns, link.isParent)
    this.links.push({ ...link, columns: free.map(([name, other]) => keyOf(link.level, other, name)) })
    for (const [name] of free) this.#keys.set(name, key)
  }

  #setTwice(key: string, columns: ColumnPairs, isParent: boolean): Error {
    const [name = ''] = columns.map(([name]) => name)
    const row = this.#rows.find(({ own }) => columns.every(([name]) => own.has(name))) ?? this.#rows[0]
    const path = row?.path ?? ''
    const other = columns.flatMap(([name]) => this.#keys.get(name) ?? [])[0]
    return other === undefined
      ? nestedErrors.setTwice(name, key, path + pointerToken(name))
      : nestedErrors.setByTwo(name, [other, key], isParent ? path : path + pointerToken(key))
  }
}

const rowOf = ({ number, path, own }: ReadSource): NestedRow => ({ number, path, text: jsonObject(own) })
