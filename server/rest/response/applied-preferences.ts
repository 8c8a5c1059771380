// The header `Preference-Applied`: the preferences that affected the plan. RFC 7240, section 3.
import type { CrudPlan } from '../plan/plan.ts'
import type { RequestShape } from '../request/api-request.ts'
import { preferenceApplied } from '../request/preferences.ts'
import type { Preferences } from '../request/preferences.ts'

type AppliedShape = Pick<RequestShape, 'preferences' | 'onConflict'>

function resolution(plan: CrudPlan, { preferences, onConflict }: AppliedShape): Preferences['resolution'] {
  if (plan.kind !== 'mutate' || plan.mutation !== 'create' || plan.mutate.kind !== 'insert') return undefined
  // Without a key there are no duplicates to resolve.
  const hasKey = plan.mutate.primaryKey.length > 0 || onConflict !== undefined
  return hasKey ? preferences.resolution : undefined
}

function limitsAffected(plan: CrudPlan): boolean {
  if (plan.kind === 'mutate') return plan.mutation === 'update' || plan.mutation === 'delete'
  return plan.kind === 'call'
}

/** The value of the header; undefined when no preference was applied. */
export function appliedPreferences(plan: CrudPlan, shape: AppliedShape): string | undefined {
  const { count, transaction, handling, timezone, representation, missing, maxAffected } = shape.preferences
  const { pagination, stream, read } = shape.preferences
  const isMutation = plan.kind === 'mutate'
  const takesRows = isMutation && (plan.mutation === 'create' || plan.mutation === 'update')
  return preferenceApplied({
    resolution: resolution(plan, shape),
    representation: isMutation ? representation : undefined,
    count,
    transaction,
    missing: takesRows ? missing : undefined,
    handling,
    timezone,
    maxAffected: limitsAffected(plan) ? maxAffected : undefined,
    ...(!isMutation && plan.page && pagination ? { pagination } : {}),
    ...(stream && plan.isStreamed ? { stream } : {}),
    ...(plan.readOnly && read ? { read } : {}),
    invalid: [],
  })
}
