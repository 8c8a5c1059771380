// EXPLAIN. https://www.postgresql.org/docs/current/sql-explain.html
import type { PlanOption } from '../media-type.ts'
import type { Fragment } from './fragment.ts'

export function explainSql(
  statement: Fragment,
  format: 'json' | 'text',
  options: readonly PlanOption[] = [],
): Fragment {
  const list = [`FORMAT ${format}`, ...options].join(', ').toUpperCase()
  return [`EXPLAIN (${list}) `, statement]
}
