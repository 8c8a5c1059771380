// Adds the version of the written row and the precondition of the request to the plan of a write.
import type { Table } from '../../../catalogue/table.ts'
import type { ApiRequest } from '../../request/api-request.ts'
import type { MutatePlan } from '../../plan/mutate-plan.ts'
import type { CrudPlan } from '../../plan/plan.ts'
import { isByKey, preconditionOf, versionOfWrite, type Precondition, type VersionSettings } from './row-version.ts'

type WritePlan = CrudPlan & { kind: 'mutate' }

/** @throws ApiError see `preconditionOf` */
export function withVersion(plan: WritePlan, table: Table, request: ApiRequest, settings: VersionSettings): WritePlan {
  const precondition = preconditionOf(table, request, plan.mutation, settings)
  const version = versionOfWrite(table, request, plan.mutation, precondition, settings)
  if (version === undefined && precondition === undefined) return plan
  const returned = version?.kind === 'column' ? returning(plan.mutate, version.name) : plan.mutate
  if (precondition === undefined) return { ...plan, mutate: returned, version }
  const mutate = restricted(returned, precondition)
  return { ...plan, mutate, version, precondition, isByKey: isByKey(table, request) }
}

function returning<P extends MutatePlan>(mutate: P, column: string): P {
  const { returning: columns } = mutate
  return columns.includes('*') || columns.includes(column) ? mutate : { ...mutate, returning: [...columns, column] }
}

/** The write of rows that satisfy a precondition. */
function restricted(mutate: MutatePlan, precondition: Precondition): MutatePlan {
  const required = precondition.kind === 'version' ? { ...mutate, versions: precondition } : mutate
  if (required.kind !== 'insert') return required
  const { onConflict } = required
  // An existing row is left as it is.
  const leavesExisting = precondition.kind === 'absent' && onConflict
  return {
    ...required,
    isConditional: true,
    onConflict: leavesExisting ? { ...onConflict, resolution: 'ignore-duplicates' } : onConflict,
  }
}
