// Responses to OPTIONS: the methods that a relation, a function or the root supports.
import type { Routine } from '../../catalogue/routine.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { Table } from '../../catalogue/table.ts'
import type { InfoPlan } from '../plan/plan.ts'
import { findTable } from '../plan/planner.ts'
import type { RestResponse } from './result.ts'

const reading = 'OPTIONS,GET,HEAD'

function tableMethods({ insertable, updatable, deletable, primaryKey }: Table): string {
  const methods = [reading]
  if (insertable) methods.push('POST')
  if (insertable && updatable && primaryKey.length > 0) methods.push('PUT')
  if (updatable) methods.push('PATCH')
  if (deletable) methods.push('DELETE')
  return methods.join(',')
}

const routineMethods = ({ volatility }: Routine): string =>
  volatility === 'volatile' ? 'OPTIONS,POST' : `${reading},POST`

const allow = (methods: string): RestResponse => ({
  status: 200,
  headers: [
    ['Content-Length', '0'],
    ['Access-Control-Allow-Origin', '*'],
    ['Allow', methods],
  ],
  body: '',
})

/**
 * The response to an OPTIONS request.
 *
 * @throws ApiError PGRST205 for an unknown relation
 */
export function respondInfo(plan: InfoPlan, cache: SchemaCache): RestResponse {
  switch (plan.kind) {
    case 'relation-info':
      return allow(tableMethods(findTable(cache, plan.relation)))
    case 'routine-info':
      return allow(routineMethods(plan.routine))
    case 'schema-info':
      return allow(reading)
    default:
      return plan satisfies never
  }
}
