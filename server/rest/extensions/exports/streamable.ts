// Which responses are streamed row by row: NDJSON and CSV that may have many rows.
import { returnsSingle } from '../../../catalogue/routine.ts'
import type { RequestShape } from '../../request/api-request.ts'
import { hasAggregate } from '../../plan/aggregates.ts'
import type { CrudPlan } from '../../plan/plan.ts'

/** Responses limited to so many rows are not streamed: they are small, and may share connections. */
const fewRows = 1000

/** A plan whose rows can be streamed. */
export type RowPlan = Extract<CrudPlan, { kind: 'read' | 'call' }> & {
  readonly handler: { readonly kind: 'csv' | 'ndjson' }
}

/**
 * Whether the response begins before its last row is known. That of CSV must not, unless the client prefers it: its
 * `Content-Range` has the last row, and an error in any row is an error response, as in PostgREST.
 */
export const beginsEarly = ({ handler }: RowPlan, { preferences }: Pick<RequestShape, 'preferences'>): boolean =>
  handler.kind === 'ndjson' || preferences.stream === 'rows'

/** Whether the plan was found to be streamable. */
export const isStreamed = (plan: CrudPlan): plan is RowPlan => plan.isStreamed === true

/** Whether the response to a request may be streamed row by row. */
export function isStreamable(plan: CrudPlan, { preferences }: Pick<RequestShape, 'preferences'>): plan is RowPlan {
  if (plan.kind === 'mutate' || plan.explain) return false
  if (plan.handler.kind !== 'csv' && plan.handler.kind !== 'ndjson') return false
  if (plan.kind === 'call') {
    const { handling, maxAffected } = preferences
    if (returnsSingle(plan.routine) || (handling === 'strict' && maxAffected !== undefined)) return false
  }
  // Their headers depend on the last row.
  if (plan.page !== undefined || plan.cutAt !== undefined) return false
  const { limit } = plan.read.range
  if (limit !== null && limit <= fewRows) return false
  // The count of a response is that of the rows before they are grouped, so it does not tell how many rows there are.
  return preferences.count === undefined || !hasAggregate(plan.read)
}
