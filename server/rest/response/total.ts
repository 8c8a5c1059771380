// The total number of rows, by the preference `count`.
import type { Preferences } from '../request/preferences.ts'

/** The planner's estimate in the answer of `EXPLAIN (FORMAT JSON)`; null when it cannot be found there. */
export function plannedRows(explained: string): number | null {
  const plans = JSON.parse(explained) as readonly { readonly Plan?: { readonly 'Plan Rows'?: unknown } }[] | null
  const rows = plans?.[0]?.Plan?.['Plan Rows']
  return typeof rows === 'number' ? rows : null
}

/**
 * The total that a read answers with. `counted` is what the main statement counted, `planned` the planner's estimate.
 * An estimated total is the exact one as long as there are no more rows than `db-max-rows`.
 */
export function tableTotal(
  count: Preferences['count'],
  counted: number | null,
  planned: number | null,
  maxRows: number | null,
): number | null {
  if (count === 'planned') return planned
  if (count !== 'estimated' || counted === null) return counted
  if (maxRows !== null && counted <= maxRows) return counted
  return planned === null ? null : Math.max(counted, planned)
}
