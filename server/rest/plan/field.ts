// Fields with what the schema cache knows of them.
import type { Field, JsonOperation } from '../request/field.ts'
import type { LogicTree, Operation } from '../request/filter.ts'
import type { OrderDirection, OrderNulls } from '../request/order.ts'
import type { AggregateFunction } from '../request/select.ts'

/** A field of a relation of the query, with its types and the conversion it needs in the place where it is used. */
export type PlannedField = {
  readonly name: string
  readonly jsonPath: readonly JsonOperation[]
  /** Whether the column is turned into jsonb before the JSON path is followed. */
  readonly toJson: boolean
  /** Set when the field is to be searched as text: its language, null for the default one. */
  readonly toTsVector: { readonly language: string | null } | null
  /** Type that values have before the transform; empty when it is not known. */
  readonly type: string
  /** Base type of a domain; otherwise the same type. Empty when it is not known. */
  readonly baseType: string
  /** Representation function that values go through. SQL-quoted. */
  readonly transform: string | null
  /** Default expression of the column, as SQL. */
  readonly default: string | null
  /** The whole row instead of a column (`count()` in a spread). */
  readonly fullRow: boolean
}

/** A condition on a field. */
export type FieldFilter = {
  readonly kind: 'field'
  readonly field: PlannedField
  readonly negated: boolean
  readonly operation: Operation
}

export type PlannedFilter =
  | FieldFilter
  /** `embed=is.null` and `embed=not.is.null`: whether the embed found anything. */
  | { readonly kind: 'null-embed'; readonly negated: boolean; readonly aggregateAlias: string }

export type FieldLogicTree = LogicTree<FieldFilter>
export type PlannedLogicTree = LogicTree<PlannedFilter>

/** Order by a field of the relation itself. */
export type FieldOrderTerm = {
  readonly kind: 'field'
  readonly field: PlannedField
  readonly direction: OrderDirection | null
  readonly nulls: OrderNulls | null
}

export type PlannedOrderTerm =
  | FieldOrderTerm
  | {
      readonly kind: 'relation'
      /** Alias of the embed's join. */
      readonly relation: string
      readonly field: Field
      readonly direction: OrderDirection | null
      readonly nulls: OrderNulls | null
    }

export type PlannedSelectField = {
  readonly field: PlannedField
  readonly aggregate: AggregateFunction | null
  readonly aggregateCast: string | null
  readonly cast: string | null
  readonly alias: string | null
}
