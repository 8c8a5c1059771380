// The parts of a read plan for `distinct` and `having`.
import type { AggregateFunction } from '../../request/select.ts'
import type { LogicTree } from '../../request/filter.ts'
import type { Field } from '../../request/field.ts'
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { FieldFilter, PlannedSelectField } from '../../plan/field.ts'
import type { Fragment } from '../../sql/fragment.ts'
import type { LimitForm } from '../../sql/order.ts'

/** A condition on an aggregate of a field, or on the field itself if there is no aggregate. */
export type PlannedGroupFilter = Omit<FieldFilter, 'kind'> & {
  readonly aggregate: AggregateFunction | null
  readonly cast: string | null
  readonly aggregateCast: string | null
}

export type GroupConditions = readonly LogicTree<PlannedGroupFilter>[]

/** What rows differ in: an expression as in the select list, or a field of an embed. */
export type PlannedDistinctKey =
  | { readonly kind: 'expression'; readonly expression: PlannedSelectField }
  /** `relation` is the alias of the embed's join. */
  | { readonly kind: 'relation'; readonly relation: string; readonly field: Field }

/** `rows`: everything that is selected. Any other row with the same keys is left out. */
export type PlannedDistinct =
  { readonly kind: 'rows' } | { readonly kind: 'on'; readonly keys: readonly PlannedDistinctKey[] }

/** The SQL of both parameters, for the plan of a relation. */
export type GroupingSql<Plan> = {
  /** ` HAVING …` */
  readonly having: (relation: QualifiedIdentifier, conditions: GroupConditions) => Fragment
  /** The rows of a read. */
  readonly distinct: (
    plan: Plan,
    distinct: PlannedDistinct,
    list: readonly Fragment[],
    source: Fragment,
    limits: LimitForm,
  ) => Fragment
}
