// The total number of rows, by the preference `count`.
import type { Preferences } from '../request/preferences.ts'

/** The planner's estimate in the output of `EXPLAIN (FORMAT JSON)`; null when it is missing. */
export function plannedRows(explained: string): number | null {
  const plans = JSON.parse(explained) as readonly { readonly Plan?: { readonly 'Plan Rows'?: unknown } }[] | null
  const rows = plans?.[0]?.Plan?.['Plan Rows']
  return typeof rows === 'number' ? rows : null
}

/**
 * The total in the response to a read. An estimated total is exact if there are at most `db-max-rows` rows.
 *
 * @param counted the main statement's count
 * @param planned the planner's estimate
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
