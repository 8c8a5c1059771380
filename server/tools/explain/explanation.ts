// The explanation of a request, as `--json` prints it and HTTP responds with it. Documented in this folder's README; fields may be
// added, not renamed.
import type { Effect } from './effects.ts'
import type { Command } from './needs.ts'
import type { MissingPrivilege, RelationRow } from './relations.ts'

/** A part of a policy's condition that is either true or false for a row. */
export type ExplainedTest = {
  readonly text: string
  /** The same with the values of the caller's claims in place of the functions that look them up. */
  readonly resolved: string
  /** For a denied row: the result. Null is unknown, which denies as well. */
  readonly result?: boolean | null
}

export type ExplainedPolicy = {
  readonly name: string
  readonly permissive: boolean
  readonly command: Command | 'all'
  readonly roles: readonly string[]
  readonly using: string | null
  readonly check: string | null
  /** The expressions with values in place of look-ups; the same text if there are none. */
  readonly usingResolved: string | null
  readonly checkResolved: string | null
  /** How many of the examined rows pass its USING expression; null if none were examined. */
  readonly passes: number | null
}

export type ExplainedRelation = Pick<RelationRow, 'schema' | 'name' | 'kind' | 'role'> & {
  /** Null if the request names the relation; otherwise the view or policy that uses it. */
  readonly through: string | null
  readonly commands: readonly Command[]
  /** `on`, `off`, or `bypassed`: the role is not subject to row-level security. */
  readonly rowSecurity: 'on' | 'off' | 'bypassed'
  readonly grants: RelationRow['grants']
  /** Those that apply to the role and the commands. */
  readonly policies: readonly ExplainedPolicy[]
  /** Rows that were examined with the policies; null if none were. */
  readonly examined: { readonly rows: number; readonly allowed: number; readonly isComplete: boolean } | null
}

/** Why a row was denied or hidden. */
export type DeniedRow = {
  readonly relation: string
  /** `new`: a row to be written; `existing`: a row that is hidden, or may not be changed. */
  readonly kind: 'new' | 'existing'
  /** Number of the row in the body, from 1; null for an existing row. */
  readonly row: number | null
  /** Primary key of an existing row; null for a row of the body. */
  readonly key: Readonly<Record<string, unknown>> | null
  /** The policies that deny it: a restrictive one that is not true, or all permissive ones, none of which is true. */
  readonly policies: readonly {
    readonly name: string
    readonly permissive: boolean
    readonly command: Command | 'all'
    readonly clause: 'using' | 'with check'
    /** The tests that are not true. */
    readonly tests: readonly ExplainedTest[]
    /** The columns that these tests depend on, with their values if the caller may know them. */
    readonly columns: Readonly<Record<string, unknown>>
  }[]
}

export type Denial = {
  /** What the response says, or why fewer rows are changed than match. */
  readonly reason: 'privileges' | 'policies'
  readonly privileges: readonly MissingPrivilege[]
  /** At most ten. */
  readonly rows: readonly DeniedRow[]
}

/** Rows of the request's own relation. */
export type RowCounts = {
  /** Rows that match the filters, or rows of the body; null if no role is available that bypasses policies. */
  readonly before: number | null
  /** The rows that the caller sees or changes; null if the request fails. */
  readonly after: number | null
}

export type PolicyCost = {
  /** Execution times in milliseconds of the runs, in turn, with and without row-level security. */
  readonly withPolicies: readonly number[]
  readonly withoutPolicies: readonly number[]
  /** Difference of the medians, in milliseconds. Negative if the policies save more work than they cause. */
  readonly milliseconds: number
  /** The role that ran without policies. */
  readonly bypassedBy: string
}

export type Explanation = {
  readonly request: {
    readonly method: string
    readonly target: string
    readonly role: string
    readonly claims: Readonly<Record<string, unknown>>
  }
  /** The response that the request would get; null if it was not run. */
  readonly response: {
    readonly status: number
    readonly error: unknown
    readonly contentRange: string | null
  } | null
  readonly effects: { readonly refused: readonly Effect[]; readonly remaining: readonly string[] }
  /** Without the statement that sets role and claims. */
  readonly statements: readonly { readonly sql: string; readonly values: readonly (string | null)[] }[]
  readonly relations: readonly ExplainedRelation[]
  readonly rows: RowCounts
  readonly denied: Denial | null
  /** PostgreSQL's execution plan with times and buffers, in its JSON format; null if the request fails. */
  readonly plan: unknown
  readonly cost: PolicyCost | null
  readonly notes: readonly string[]
}
