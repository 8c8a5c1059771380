// Results that may not stand: the transaction is rolled back and the error is answered.
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
 * Whether the result of a plan breaks a rule that only its rows can tell: a single object of other than one row
 * (PGRST116), a PUT whose body is for another row than its URL (PGRST115), more rows than `max-affected` (PGRST124).
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

/** Whether the rows can make a plan's result fault: then the transaction must not be committed unseen. */
export function needsResultCheck(plan: CrudPlan, { preferences }: CheckedShape): boolean {
  if (plan.explain) return false
  if (plan.mediaType.kind === 'single-json') return true
  if (plan.kind === 'mutate' && plan.mutation === 'single-upsert') return true
  return preferences.handling === 'strict' && preferences.maxAffected !== undefined
}
