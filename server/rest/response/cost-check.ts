// Limits the cost of statements by the planner's estimate (`db-max-cost`, `pgrst.max_cost`).
import type { PipelineStatement, Precheck, RawRow } from '../database.ts'
import { ApiError, errors } from '../errors.ts'
import { explainSql } from '../sql/explain.ts'
import { render } from '../sql/fragment.ts'

/** The beginning of a statement whose response is its execution plan. */
const explained = /^EXPLAIN \(([A-Z, ]*)\) /

/**
 * The check of a statement's cost: `EXPLAIN` with the same parameters, as the same role, before the statement runs.
 *
 * @param limit greatest cost that is allowed
 * @returns undefined for a statement that is only planned
 */
export function costCheck(main: PipelineStatement, limit: number): Precheck | undefined {
  const [prefix = '', options = 'ANALYZE'] = explained.exec(main.text) ?? []
  if (!options.includes('ANALYZE')) return undefined
  const { text } = render(explainSql(main.text.slice(prefix.length), 'json'))
  return {
    statement: { text, values: main.values, isUnprepared: true, hasNoEffect: true },
    check: (rows) => costError(rows, limit),
  }
}

/**
 * The error for a statement that is too expensive.
 *
 * @param rows the result of `EXPLAIN (FORMAT JSON)`
 */
export function costError(rows: readonly RawRow[], limit: number): ApiError | undefined {
  const cost = totalCost(rows[0]?.[0]?.toString() ?? 'null')
  return cost > limit ? errors.costTooHigh(cost, limit) : undefined
}

/** @throws Error if the plan has no cost, so that a statement never runs unchecked */
function totalCost(explained: string): number {
  const plans = JSON.parse(explained) as readonly { readonly Plan?: { readonly 'Total Cost'?: unknown } }[] | null
  const cost = plans?.[0]?.Plan?.['Total Cost']
  if (typeof cost !== 'number') throw new Error('EXPLAIN returned no cost')
  return cost
}
