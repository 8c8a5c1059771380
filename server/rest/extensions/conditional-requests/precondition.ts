// Checks the precondition of a write (`If-Match`, `If-None-Match: *`) by its result. RFC 9110, section 13.2.1: without a
// row, a request that would fail anyway gets its usual error.
import type { RawRow } from '../../row-transfer.ts'
import { errors, type ApiError } from '../../errors.ts'
import type { Requirement } from '../../extension.ts'
import type { CrudPlan } from '../../plan/plan.ts'
import type { PlannedRequest } from '../../request/api-request.ts'
import type { Precondition } from './version-plan.ts'
import { render } from '../../sql/fragment.ts'
import { probeStatement } from './row-version-sql.ts'
import type { ResultRow } from '../../response/result.ts'

/**
 * The precondition of a write: it may be false, or the filters may match several rows. Undefined for other requests.
 *
 * @param request `tableShape` is set when the row is addressed by its key in the path
 */
export function preconditionOfPlan(plan: CrudPlan, { input }: PlannedRequest): Requirement | undefined {
  if (plan.kind !== 'mutate' || !plan.precondition) return undefined
  const { precondition, mutation, mutate } = plan
  if (mutation === 'single-upsert') return { statement: undefined, errorOf: (row) => putError(precondition, row) }
  return {
    statement: { ...render(probeStatement(mutate, precondition)), isUnprepared: true },
    errorOf: (row, probed) => {
      if (row.queryTotal > 1 || (row.tableTotal ?? 0) > 1) return errors.severalRowsMatch()
      if (row.queryTotal === 1) return undefined
      const [first] = probed ?? []
      const failsAnyway = input.tableShape !== undefined || plan.mediaType.kind === 'single-json'
      const isFulfilled = first === undefined ? failsAnyway : isSatisfied(precondition, first)
      return isFulfilled ? undefined : errors.preconditionFailed(precondition.kind)
    },
  }
}

/** Whether a row that was not written satisfies the precondition: a policy or a trigger has left it as it is. */
function isSatisfied(precondition: Precondition, [version]: RawRow): boolean {
  return precondition.kind !== 'version' || precondition.versions.includes(version?.toString() ?? '')
}

/** The error of a PUT. A row of the body that does not match the URL is not counted, and has PostgREST's error. */
function putError({ kind }: Precondition, { queryTotal, inserted }: ResultRow): ApiError | undefined {
  const created = inserted ?? 0
  if (kind === 'absent') return queryTotal === 0 && created > 0 ? errors.preconditionFailed(kind) : undefined
  return created > 0 ? errors.preconditionFailed(queryTotal === 0 ? kind : 'exists') : undefined
}
