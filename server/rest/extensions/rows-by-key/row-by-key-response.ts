// Changes plan and response of a request for a row by its key (see `row-by-key-request.ts`).
import { errors } from '../../errors.ts'
import type { ActionPlan, CrudPlan } from '../../plan/plan.ts'
import type { RequestShape } from '../../request/api-request.ts'
import type { RestResponse, ResultRow } from '../../response/result.ts'

/** Makes a JSON body a single object instead of an array. */
export function planRowByKey(plan: ActionPlan): ActionPlan {
  if (plan.kind !== 'read' && plan.kind !== 'mutate') return plan
  if (plan.handler.kind === 'json') return { ...plan, handler: { kind: 'single-json', stripNulls: false } }
  if (plan.handler.kind === 'array-json-strip') return { ...plan, handler: { kind: 'single-json', stripNulls: true } }
  return plan
}

/**
 * Changes the status 204 of an update to 200.
 *
 * @param shape of the request before the filter by key was added
 * @throws ApiError PGRST116 with status 404 when no visible row has the key
 */
export function respondRowByKey(
  response: RestResponse,
  plan: CrudPlan,
  row: ResultRow,
  shape: RequestShape,
): RestResponse {
  const upsert = plan.kind === 'mutate' && plan.mutation === 'single-upsert'
  if (row.queryTotal === 0 && !plan.explain && !upsert) {
    throw errors.noRowWithKey()
  }
  const updates = shape.action.kind === 'mutate' && shape.action.mutation === 'update'
  if (!updates || response.status !== 204) return response
  return { ...response, status: 200, headers: [...response.headers, ['Content-Length', '0']] }
}
