// The plan of a nested write: the rows of a body with related rows, in the order in which they are written. Each step
// is one statement. The keys of written rows are kept by level, so that later steps can refer to them.
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { Column, Table } from '../../../catalogue/table.ts'
import type { PlannedField } from '../../plan/field.ts'

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
  /** Maximum number of relationships that are nested in each other (`db-max-embed-depth`). */
  readonly maxDepth: number | null
  /** Columns of the root that the response needs, if any. */
  readonly returning: readonly string[]
}

/** The rows of one relation at one place of the body. */
export type NestedLevel = {
  readonly number: number
  readonly into: QualifiedIdentifier
  /** Columns whose values other steps or the response need. */
  readonly keys: readonly Column[]
  /** Whether other steps or the response need to know which rows were written. */
  readonly isKept: boolean
}

export type NestedRow = {
  /** Number of the row in its level. */
  readonly number: number
  /** JSON pointer to its object in the body. */
  readonly path: string
  /** Its own columns, as a JSON object. */
  readonly text: string
}

/** A column with the value of a key of another level. */
export type LinkedColumn = { readonly name: string; readonly key: number }

/** The rows of another level that the rows of a step refer to. */
export type NestedLink = {
  readonly level: NestedLevel
  /** Numbers of those rows, in the order of the rows of the step. */
  readonly rows: readonly number[]
  readonly columns: readonly LinkedColumn[]
  /** Whether rows are left out if the row that they refer to was not written, because it is a duplicate. */
  readonly isParent: boolean
}

/** Pairs of numbers of rows of two levels. */
export type NestedPairs = { readonly sources: readonly number[]; readonly targets: readonly number[] }

export type NestedConflict = {
  readonly resolution: 'merge-duplicates' | 'ignore-duplicates'
  readonly columns: readonly string[]
  /** What names the index if the columns do not: see `ConflictTarget`. */
  readonly target?: string
  /** Those of the columns that may be null. */
  readonly nullable: readonly string[]
  /** Whether the table is distributed, so that rows that are updated cannot be counted. */
  readonly isDistributed?: boolean
}

/** Writes rows of a level that have the same columns. */
export type RowsStep = {
  readonly kind: 'rows'
  readonly level: NestedLevel
  /** Pointer to the rows in the body, with `*` for the numbers of their ancestors if these differ. */
  readonly place: string
  readonly rows: readonly NestedRow[]
  readonly columns: readonly PlannedField[]
  readonly links: readonly NestedLink[]
  readonly conflict: NestedConflict | null
  /** Whether this is the first step of its level. */
  readonly isFirst: boolean
  /** The root counts the rows that it creates, and may add defaults to rows without a value. */
  readonly isRoot: boolean
  readonly applyDefaults: boolean
  /** Whether rows that are known already are left out. */
  readonly onlyUnknown: boolean
  /** Writes only rows that are paired with a row that was written. */
  readonly onlyPaired: { readonly level: NestedLevel; readonly pairs: NestedPairs } | null
}

/** Finds the keys of rows of a step that exist already: before it, and after it those that were written meanwhile. */
export type ExistingStep = {
  readonly kind: 'existing'
  readonly of: RowsStep
  readonly isFirst: boolean
  /** Whether all rows must be known afterwards. */
  readonly isLast: boolean
  /** Whether the existing rows count as written, so that their related rows are written. */
  readonly asWritten: boolean
}

/** Writes the rows of a junction. */
export type JunctionStep = {
  readonly kind: 'junction'
  readonly into: QualifiedIdentifier
  readonly place: string
  readonly source: { readonly level: NestedLevel; readonly columns: readonly LinkedColumn[] }
  readonly target: { readonly level: NestedLevel; readonly columns: readonly LinkedColumn[] }
  readonly pairs: NestedPairs
  /** Whether pairs that exist already are left as they are. */
  readonly ignoresDuplicates: boolean
}

export type NestedStep = RowsStep | ExistingStep | JunctionStep

export type NestedPlan = {
  readonly steps: readonly NestedStep[]
  readonly root: NestedLevel
  /** Which keys of the root are its primary key. */
  readonly primaryKey: readonly LinkedColumn[]
}
