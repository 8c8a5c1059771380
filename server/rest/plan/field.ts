// Fields with their data from the schema cache.
import type { Field, JsonOperation } from '../request/field.ts'
import type { LogicTree, Operation } from '../request/filter.ts'
import type { OrderDirection, OrderNulls } from '../request/order.ts'
import type { AggregateFunction } from '../request/select.ts'

/** A field of a relation, with its types and the conversion that its use requires. */
export type PlannedField = {
  readonly name: string
  readonly jsonPath: readonly JsonOperation[]
  /** Whether to convert the column to jsonb before the JSON path. */
  readonly toJson: boolean
  /** Set for a full-text search of text: the language, null for the default one. */
  readonly toTsVector: { readonly language: string | null } | null
  /** Type of values before the transform; empty when it is unknown. */
  readonly type: string
  /** Base type of a domain, otherwise the same as `type`. Empty when it is unknown. */
  readonly baseType: string
  /** Representation function that converts values, quoted for SQL. */
  readonly transform: string | null
  /** Default expression of the column, in SQL. */
  readonly default: string | null
  /** Whether it is the whole row instead of a column (`count()` in a spread). */
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
  /** `embed=is.null` and `embed=not.is.null`: whether the embed has no rows, or has rows. */
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
  /** Whether Postgres makes JSON of the value, because the server cannot. */
  readonly isJson?: boolean
}
