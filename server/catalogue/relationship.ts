// Relationships between relations: what an embed can follow.
import type { QualifiedIdentifier } from './identifier.ts'

/** Pairs of joined columns: [column of the relationship's table, column of the foreign table (or junction)]. */
export type ColumnPairs = readonly (readonly [string, string])[]

/** Pairs the columns of two sides, up to the length of the shorter list. */
export const pairColumns = (left: readonly string[], right: readonly string[]): ColumnPairs =>
  left.flatMap((column, index) => {
    const other = right[index]
    return other === undefined ? [] : [[column, other] as const]
  })

export type Junction = {
  readonly table: QualifiedIdentifier
  /** Constraint from the junction to the source table. */
  readonly sourceConstraint: string
  /** Constraint from the junction to the target table. */
  readonly targetConstraint: string
  /** [source column, junction column] pairs. */
  readonly sourceColumns: ColumnPairs
  /** [target column, junction column] pairs. */
  readonly targetColumns: ColumnPairs
}

export type Cardinality =
  | { readonly kind: 'one-to-many'; readonly constraint: string; readonly columns: ColumnPairs }
  | { readonly kind: 'many-to-one'; readonly constraint: string; readonly columns: ColumnPairs }
  | {
      readonly kind: 'one-to-one'
      readonly constraint: string
      readonly columns: ColumnPairs
      readonly isParent: boolean
    }
  | { readonly kind: 'many-to-many'; readonly junction: Junction }

/** A relationship derived from foreign keys, possibly through views. */
export type ForeignKeyRelationship = {
  readonly kind: 'foreign-key'
  readonly table: QualifiedIdentifier
  readonly foreignTable: QualifiedIdentifier
  readonly isSelf: boolean
  readonly cardinality: Cardinality
  readonly tableIsView: boolean
  readonly foreignTableIsView: boolean
}

/** A relationship computed by a function that takes a row of `table` and returns rows of `foreignTable`. */
export type ComputedRelationship = {
  readonly kind: 'computed'
  readonly function: QualifiedIdentifier
  readonly table: QualifiedIdentifier
  readonly foreignTable: QualifiedIdentifier
  readonly isToOne: boolean
  readonly isSelf: boolean
}

export type Relationship = ForeignKeyRelationship | ComputedRelationship

/**
 * Relationships by `relationshipKey(table, foreign schema)`: all relationships from `table` to that schema (for computed
 * ones, the schema of the function). A list may be empty. The order is deterministic, because error messages list the
 * candidates in this order.
 */
export type Relationships = ReadonlyMap<string, readonly Relationship[]>

export const relationshipKey = (table: QualifiedIdentifier, foreignSchema: string): string =>
  `${table.schema}\0${table.name}\0${foreignSchema}`

/** Whether following the relationship yields at most one row. */
export function isToOne(relationship: Relationship): boolean {
  if (relationship.kind === 'computed') return relationship.isToOne
  return relationship.cardinality.kind === 'many-to-one' || relationship.cardinality.kind === 'one-to-one'
}
