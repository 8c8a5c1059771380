// Checks the precondition of a write (`If-Match`, `If-None-Match: *`) by its result. RFC 9110, section 13.2.1: without a
// row, a request that would fail anyway gets its usual error.
import type { PipelineStatement, RawRow } from '../../database.ts'
import { errors, type ApiError } from '../../errors.ts'
import type { CrudPlan } from '../../plan/plan.ts'
import type { Precondition } from './row-version.ts'
import { render } from '../../sql/fragment.ts'
import { probeStatement } from './row-version-sql.ts'
import type { ResultRow } from '../../response/result.ts'

/** The statement that runs after a conditional UPDATE or DELETE; undefined for other requests. */
export function probeOf(plan: CrudPlan): PipelineStatement | undefined {
  if (plan.kind !== 'mutate' || !plan.precondition || plan.mutation === 'single-upsert') return undefined
  return { ...render(probeStatement(plan.mutate, plan.precondition)), isUnprepared: true }
}

/**
 * The error of a write whose precondition is false, or whose filters match several rows. The transaction is rolled back.
 *
 * @param probed the rows of `probeOf`
 * @param prepared `tableShape` is set when the row is addressed by its key in the path
 */
export function preconditionError(
  plan: CrudPlan,
  row: ResultRow,
  probed: readonly RawRow[] | undefined,
  prepared: { readonly tableShape: unknown },
): ApiError | undefined {
  if (plan.kind !== 'mutate' || !plan.precondition || plan.explain) return undefined
  const { precondition } = plan
  if (plan.mutation === 'single-upsert') return putError(precondition, row)
  if (row.queryTotal > 1 || (row.tableTotal ?? 0) > 1) return errors.severalRowsMatch()
  if (row.queryTotal === 1) return undefined
  const [first] = probed ?? []
  if (first === undefined) {
    const failsAnyway = prepared.tableShape !== undefined || plan.mediaType.kind === 'single-json'
    return failsAnyway ? undefined : errors.preconditionFailed(precondition.kind)
  }
  return isSatisfied(precondition, first) ? undefined : errors.preconditionFailed(precondition.kind)
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
