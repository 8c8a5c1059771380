// Rejects results that break a rule of the request. The transaction is rolled back.
import { errors } from '../errors.ts'
import type { ApiError } from '../errors.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { RequestShape } from '../request/api-request.ts'
import type { ResultRow } from './result.ts'

type CheckedShape = Pick<RequestShape, 'preferences'>

const notSingular = ({ mediaType }: CrudPlan, { queryTotal }: ResultRow): ApiError | undefined =>
  mediaType.kind === 'single-json' && queryTotal !== 1 ? errors.notSingular(queryTotal) : undefined

function tooManyAffected({ queryTotal }: ResultRow, { preferences }: CheckedShape): ApiError | undefined {
  const { maxAffected, handling } = preferences
  return handling === 'strict' && maxAffected !== undefined && queryTotal > maxAffected
    ? errors.maxAffected(queryTotal)
    : undefined
}

/**
 * The error of a result that breaks a rule: a single object that is not exactly one row (PGRST116), a PUT whose body
 * and URL are for different rows (PGRST115), more rows than `max-affected` (PGRST124). Undefined for a valid result.
 */
export function resultError(plan: CrudPlan, row: ResultRow, shape: CheckedShape): ApiError | undefined {
  if (plan.explain) return undefined
  switch (plan.kind) {
    case 'read':
      return notSingular(plan, row)
    case 'call':
      return notSingular(plan, row) ?? tooManyAffected(row, shape)
    case 'mutate':
      break
    default:
      return plan satisfies never
  }
  switch (plan.mutation) {
    case 'create':
      return notSingular(plan, row)
    case 'single-upsert':
      return row.queryTotal === 1 ? undefined : errors.putMismatch()
    case 'update':
    case 'delete':
      return notSingular(plan, row) ?? tooManyAffected(row, shape)
    default:
      return plan.mutation satisfies never
  }
}

/** Whether the result may be invalid, so that a write must be checked before it is committed. */
export function needsResultCheck(plan: CrudPlan, { preferences }: CheckedShape): boolean {
  if (plan.explain) return false
  if (plan.mediaType.kind === 'single-json') return true
  if (plan.kind === 'mutate' && plan.mutation === 'single-upsert') return true
  return preferences.handling === 'strict' && preferences.maxAffected !== undefined
}
