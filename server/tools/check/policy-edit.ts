// Changes to the conditions of a policy, which can be put together when several findings are about the same policy.
import type { PolicyRow, Relation } from '../../catalogue/description.ts'
import { wrapCalls, type SourceName } from './sql-source.ts'

export type PolicyOf = { readonly relation: Relation; readonly policy: PolicyRow }

export type PolicyEdit = PolicyOf & {
  /** Conditions to add to USING and WITH CHECK. */
  readonly using?: string | null
  readonly check?: string | null
  /** Calls to put into subqueries. */
  readonly wraps?: (name: SourceName) => boolean
  /** Text of constants to replace. */
  readonly renames?: readonly [from: string, to: string]
}

/** Identifies the policy. */
export const policyKey = ({ relation, policy }: PolicyOf): string => `${relation.quoted} ${policy.quoted}`

/** Whether the text of a condition is one of the forms of "always true". */
export const isAlwaysTrue = (text: string | null): boolean =>
  text !== null && ['true', '(true)', '1=1', '(1=1)'].includes(text.toLowerCase().replace(/[ \n\t]/g, ''))

/** The statement that makes all changes to one policy; null if they change nothing. */
export function alterPolicy(edits: readonly PolicyEdit[]): string | null {
  const [first] = edits
  if (!first) return null
  const { relation, policy } = first
  const add = (text: string | null, part: string | null | undefined): string | null => {
    if (part === null || part === undefined || text === part) return text
    return text === null || isAlwaysTrue(text) ? part : `(${text}) and (${part})`
  }
  const finish = (text: string | null): string | null => {
    if (text === null) return null
    const renamed = edits.reduce((done, { renames }) => (renames ? done.replaceAll(...renames) : done), text)
    return wrapCalls(renamed, (name) => edits.some(({ wraps }) => wraps?.(name)))
  }
  const using = finish(edits.reduce((text, edit) => add(text, edit.using), policy.using))
  // Without a WITH CHECK, PostgreSQL takes the USING, which stays as it is when only new rows are narrowed.
  const givenCheck = policy.check ?? (edits.some(({ check }) => typeof check === 'string') ? policy.using : null)
  const check = finish(edits.reduce((text, edit) => add(text, edit.check), givenCheck))
  const clauses = [
    ...(using !== null && using !== policy.using ? [`\n  using (${using})`] : []),
    ...(check !== null && check !== policy.check ? [`\n  with check (${check})`] : []),
  ]
  return clauses.length === 0 ? null : `alter policy ${policy.quoted} on ${relation.quoted}${clauses.join('')};`
}
