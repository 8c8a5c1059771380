// The relations of which a plan selects `*`, if `*` means the columns that the role may read (`db-select-readable-columns`).
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { ActionPlan } from '../../plan/plan.ts'
import type { ReadPlan, Starred } from '../../plan/read-plan.ts'

/** What is known about the privileges of one role. Privileges may have changed since. */
export type RoleColumns = {
  /** Equal for roles with the same restrictions; empty for a role without any. */
  readonly key: string
  /** The columns that the role may read; undefined for all or none of them, for which Postgres's `*` is right. */
  of(relation: QualifiedIdentifier): readonly string[] | undefined
}

/** The relations of which the statement of a plan reads `*`. */
export function starredRelations(plan: ActionPlan): readonly Starred[] {
  switch (plan.kind) {
    case 'read':
    case 'call':
      return starredIn(plan.read)
    case 'mutate':
      return plan.mutate.returning.length === 0 ? [] : starredIn(plan.read)
    default:
      return []
  }
}

const starredIn = ({ starred, embeds }: ReadPlan): readonly Starred[] => [
  ...(starred ? [starred] : []),
  ...embeds.flatMap(starredIn),
]
