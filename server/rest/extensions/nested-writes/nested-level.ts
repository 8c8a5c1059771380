// A level of a nested write: the rows of one relation at one place of the body, while they are planned.
import { errors } from '../../errors.ts'
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { Column, Table } from '../../../catalogue/table.ts'
import type { LinkedColumn, NestedLink, RowsStep } from './nested-write.ts'

/** A `NestedLevel` whose keys are still being collected. */
export type GrowingLevel = {
  readonly number: number
  readonly into: QualifiedIdentifier
  readonly keys: Column[]
  isKept: boolean
  readonly table: Table
}

/** Pairs of columns: of the row itself, and of the level that it refers to. */
export type ColumnPairs = readonly (readonly [own: string, other: string])[]

/** How a level is reached from the root. */
export type Reached = {
  readonly role: 'root' | 'child' | 'referenced'
  /** Pointer to its rows in the body, with `*` for the numbers of their ancestors. */
  readonly place: string
  /** Keys of the body that lead to it from the root. */
  readonly keys: readonly string[]
  /** The key of the body, and the rows of the parent. */
  readonly parent?: {
    readonly key: string
    readonly link: Omit<NestedLink, 'columns' | 'level'> & { readonly level: GrowingLevel }
    readonly columns: ColumnPairs
  }
  readonly onlyPaired?: RowsStep['onlyPaired']
}

/** A level that the foreign keys of other rows refer to. */
export type ReferencedLevel = { readonly level: GrowingLevel; readonly columns: ColumnPairs }

/** The key of a level for a column, which is added if it is new. @param name of the column that gets its value */
export function keyOf(level: GrowingLevel, column: string, name: string): LinkedColumn {
  level.isKept = true
  const at = level.keys.findIndex((key) => key.name === column)
  if (at >= 0) return { name, key: at }
  const found = level.table.columns.get(column)
  if (!found) throw errors.noColumn(level.table.name, column)
  return { name, key: level.keys.push(found) - 1 }
}
