// The `select` parameter.
import type { Field } from './field.ts'

export type AggregateFunction = 'sum' | 'avg' | 'max' | 'min' | 'count'
export type JoinType = 'inner' | 'left'

export type SelectItem =
  /** `alias:field.aggregate()::cast` */
  | {
      readonly kind: 'field'
      readonly field: Field
      readonly aggregate: AggregateFunction | null
      /** Cast of the aggregate's result. */
      readonly aggregateCast: string | null
      /** Cast of the field itself. */
      readonly cast: string | null
      readonly alias: string | null
    }
  /** `alias:relation!hint!inner(…)` */
  | {
      readonly kind: 'embed'
      readonly relation: string
      readonly alias: string | null
      readonly hint: string | null
      readonly joinType: JoinType | null
      readonly select: readonly SelectItem[]
    }
  /** `...relation!hint!inner(…)` */
  | {
      readonly kind: 'spread'
      readonly relation: string
      readonly hint: string | null
      readonly joinType: JoinType | null
      readonly select: readonly SelectItem[]
    }
