// Adds the version of a row, and the precondition of the request, to the plan of a read or a write.
import type { Table } from '../../../catalogue/table.ts'
import type { MutatePlan } from '../../plan/mutate-plan.ts'
import type { CrudPlan } from '../../plan/plan.ts'
import type { PlannedContext } from '../../extension.ts'
import { qualifiedKey } from '../../../catalogue/identifier.ts'
import { matchedCount } from './row-version-sql.ts'
import { isByKey, preconditionOf, versionOfRead, versionOfWrite } from './row-version.ts'
import type { Precondition } from './version-plan.ts'

type ReadPlan = Extract<CrudPlan, { kind: 'read' }>
type WritePlan = Extract<CrudPlan, { kind: 'mutate' }>

/**
 * Adds the version that a read of one row or a write returns, and the precondition of a write.
 *
 * @throws ApiError see `preconditionOf`
 */
export function withVersion(plan: CrudPlan, context: PlannedContext): CrudPlan {
  const { cache, relation } = context
  const table = cache.tables.get(qualifiedKey(relation.schema, relation.name))
  if (!table || plan.explain || plan.kind === 'call') return plan
  return plan.kind === 'read' ? versionedRead(plan, table, context) : versionedWrite(plan, table, context)
}

function versionedRead(plan: ReadPlan, table: Table, { request, settings, bodyHandler }: PlannedContext): CrudPlan {
  if (plan.page) return plan
  const version = versionOfRead(table, request, plan.read, bodyHandler, settings)
  // The entity tag of a HEAD request for one row is that of the body of a GET request.
  return version === undefined ? plan : { ...plan, handler: bodyHandler, version }
}

function versionedWrite(plan: WritePlan, table: Table, { request, settings }: PlannedContext): CrudPlan {
  if (plan.handler.kind === 'custom') return plan
  const precondition = preconditionOf(table, request, plan.mutation, settings)
  const version = versionOfWrite(table, request, plan.mutation, precondition, settings)
  if (version === undefined && precondition === undefined) return plan
  const returned = version?.kind === 'column' ? returning(plan.mutate, version.name) : plan.mutate
  if (precondition === undefined) return { ...plan, mutate: returned, version }
  const mutate = restricted(returned, precondition)
  const isCounted = mutate.kind !== 'insert' && !isByKey(table, request)
  return { ...plan, mutate, version, precondition, ...(isCounted && { matchedCount }) }
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
