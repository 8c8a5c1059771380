// What is read: a tree of relations, the root and its embeds.
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import type { Relationship } from '../../schema-cache/relationship.ts'
import type { RowRange } from '../request/range.ts'
import type { AggregateFunction, JoinType } from '../request/select.ts'
import type { PlannedLogicTree, PlannedOrderTerm, PlannedSelectField } from './field.ts'

/** Name of the CTE that holds what a mutation or a function returns; the root of such a plan reads from it. */
export const sourceCte = 'pgrst_source'

/** `left.column = right.column`. */
export type JoinCondition = {
  readonly left: { readonly relation: QualifiedIdentifier; readonly column: string }
  readonly right: { readonly relation: QualifiedIdentifier; readonly column: string }
}

/** A field that a spread puts into its parent. */
export type SpreadSelectField = {
  readonly name: string
  readonly aggregate: AggregateFunction | null
  readonly aggregateCast: string | null
  readonly alias: string | null
}

/** What an embed adds to its parent's select list. */
export type RelationSelectField =
  | {
      readonly kind: 'json'
      readonly name: string
      readonly aggregateAlias: string
      readonly mode: 'object' | 'array'
      /** Nothing is selected in it (`table()`): joined, not shown. */
      readonly empty: boolean
    }
  | { readonly kind: 'spread'; readonly fields: readonly SpreadSelectField[]; readonly aggregateAlias: string }

export type Spread =
  | { readonly kind: 'to-one' }
  | {
      readonly kind: 'to-many'
      /** Fields selected only so that the arrays can be ordered by them; `relation` is set for those of a nested embed. */
      readonly extraSelect: readonly { readonly relation: string | null; readonly field: PlannedSelectField }[]
      readonly order: readonly PlannedOrderTerm[]
    }

/** A relation to be read, with its embeds: the root, or what root and embed have in common. */
export type ReadPlan = {
  readonly select: readonly PlannedSelectField[]
  readonly from: QualifiedIdentifier
  readonly fromAlias: string | null
  readonly where: readonly PlannedLogicTree[]
  readonly order: readonly PlannedOrderTerm[]
  readonly range: RowRange
  /** Name that the client used for the relation. */
  readonly relationName: string
  readonly alias: string | null
  /** Alias of the lateral join that holds an embed's result; empty for the root. */
  readonly aggregateAlias: string
  readonly joinType: JoinType | null
  /** Null for the root. */
  readonly toParent: Relationship | null
  /** For a computed relationship: the relation (or alias) whose row is its argument. */
  readonly computedArgument: QualifiedIdentifier | null
  readonly joinConditions: readonly JoinCondition[]
  readonly spread: Spread | null
  readonly relationSelect: readonly RelationSelectField[]
  /** The embed has an alias but was addressed by its relation's name (deprecated; answered with a Warning). */
  readonly addressedByLegacyName: boolean
  readonly embeds: readonly EmbedPlan[]
}

/** An embed, by the relationship that was chosen. */
export type EmbedPlan = ReadPlan & { readonly toParent: Relationship }
