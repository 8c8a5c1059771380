// The explanation of a request, as `--json` prints it and HTTP responds with it. Documented in this folder's README; fields may be
// added, not renamed.
import type { ShownExplanation, ShownRelation, ShownTest } from '../../services/console/policy-protocol.ts'
import type { Effect } from './effects.ts'
import type { MissingPrivilege, RelationRow } from './relations.ts'

export type ExplainedTest = ShownTest

export type ExplainedPolicy = ExplainedRelation['policies'][number]

export type ExplainedRelation = ShownRelation & Pick<RelationRow, 'kind' | 'grants'>

/** Why a row was denied or hidden. */
export type DeniedRow = Denial['rows'][number]

export type Denial = Omit<NonNullable<ShownExplanation['denied']>, 'privileges'> & {
  readonly privileges: readonly MissingPrivilege[]
}

/** Rows of the request's own relation. */
export type RowCounts = ShownExplanation['rows']

export type PolicyCost = NonNullable<ShownExplanation['cost']> & {
  /** Execution times in milliseconds of the runs, in turn, with and without row-level security. */
  readonly withPolicies: readonly number[]
  readonly withoutPolicies: readonly number[]
}

export type Explanation = Omit<ShownExplanation, 'effects' | 'relations' | 'denied' | 'cost'> & {
  readonly effects: { readonly refused: readonly Effect[]; readonly remaining: readonly string[] }
  readonly relations: readonly ExplainedRelation[]
  readonly denied: Denial | null
  readonly cost: PolicyCost | null
}
