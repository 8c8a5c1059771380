// A finding of `rowhouse check`.
import { closeFunction, type FunctionClosing } from './function-closing.ts'
import type { Level } from '../findings.ts'
import { alterPolicy, type PolicyEdit } from './policy-edit.ts'

export type FindingObject = {
  /** `table`, `view`, `function`, … */
  readonly type: string
  readonly schema: string | null
  readonly name: string
}

export type LintFinding = {
  /** The name of the lint: stable, and for Supabase's lints that of splinter. */
  readonly code: string
  readonly level: Level
  readonly object: FindingObject
  /** Identifies the finding between runs: `cache_key` in splinter's results. */
  readonly key: string
  /** One sentence: what is wrong and what follows from it. */
  readonly reason: string
  /** Statements that mend it; null when only a person can decide how. */
  readonly fix: string | null
  /** Statements that stand for `fix` when it is tried, where it would work on all rows of a table. */
  readonly trial: string | null
  /** What to consider, or what to do when there are no statements. */
  readonly advice: string | null
  /** The change to a policy that `fix` makes, if it is one. */
  readonly edit: PolicyEdit | null
  /** The EXECUTE privileges that `fix` revokes, if it does nothing else. */
  readonly closes: FunctionClosing | null
  /** The policies that `fix` drops or joins, by `policyKey`. */
  readonly drops: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
  /** Whether splinter has the finding as well. */
  readonly isOfSplinter: boolean
  /** Why the finding, which splinter has, is none on closer examination. */
  readonly dismissed: string | null
}

/** A finding that is not dismissed unless it says so. */
export const finding = (
  given: Pick<LintFinding, 'code' | 'level' | 'object' | 'key' | 'reason'> & Partial<LintFinding>,
): LintFinding => ({
  fix: given.edit ? alterPolicy([given.edit]) : given.closes ? closeFunction([given.closes]) : null,
  trial: null,
  advice: null,
  edit: null,
  closes: null,
  drops: [],
  metadata: {},
  isOfSplinter: true,
  dismissed: null,
  ...given,
})

/** `schema.name` for people. */
export const objectName = ({ schema, name }: FindingObject): string => (schema === null ? name : `${schema}.${name}`)

/** An array in PostgreSQL's text form: `{a,"b c"}`. */
export const arrayText = (items: readonly string[]): string =>
  `{${items
    .map((item) => (/^$|[{}",\\\s]|^null$/i.test(item) ? `"${item.replace(/["\\]/g, '\\$&')}"` : item))
    .join(',')}}`
