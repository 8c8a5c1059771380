// Limits the cost of statements by the planner's estimate (`db-max-cost`, `pgrst.max_cost`).
import type { PipelineStatement, Precheck } from '../../database.ts'
import type { RawRow } from '../../row-transfer.ts'
import { ApiError, errors } from '../../errors.ts'
import { explainSql } from '../../sql/explain.ts'
import { render } from '../../sql/fragment.ts'

/** The beginning of a statement whose response is its execution plan. */
const explained = /^EXPLAIN \(([A-Z, ]*)\) /

/**
 * The check of the cost of statements: `EXPLAIN` with the same parameters, as the same role, before the first one runs.
 * The later statements of a nested write can be planned then, too, because only their execution reads the keys that the
 * earlier ones keep. The planner estimates their rows by the numbers of the rows, which are parameters.
 *
 * @param limit greatest cost that is allowed, of all statements together
 * @returns undefined for statements that are only planned
 */
export function costCheck(statements: readonly PipelineStatement[], limit: number): Precheck | undefined {
  const executed = statements.filter(({ text }) => (explained.exec(text)?.[1] ?? 'ANALYZE').includes('ANALYZE'))
  if (executed.length === 0) return undefined
  return {
    statements: executed.map(explainStatement),
    check: (results) =>
      costError(
        executed.map((_, index) => results[index]?.[0] ?? []),
        limit,
      ),
  }
}

/**
 * `EXPLAIN` of a statement with the same parameters. It also fails like the statement when the role lacks a privilege that the
 * statement needs, on tables, columns and functions.
 */
export function explainStatement({ text, values }: PipelineStatement): PipelineStatement {
  const explain = render(explainSql(text.replace(explained, ''), 'json'))
  return { text: explain.text, values, isUnprepared: true, hasNoEffect: true }
}

/**
 * The error for statements that are too expensive.
 *
 * @param rows the row of each `EXPLAIN (FORMAT JSON)`
 */
export function costError(rows: readonly RawRow[], limit: number): ApiError | undefined {
  if (rows.length === 0) throw noCost()
  const sum = rows.reduce((sum, [plan]) => sum + totalCost(plan?.toString() ?? 'null'), 0)
  const cost = Math.round(sum * 100) / 100
  return cost > limit ? errors.costTooHigh(cost, limit) : undefined
}

const noCost = (): Error => new Error('EXPLAIN returned no cost')

/** @throws Error if the plan has no cost, so that a statement never runs unchecked */
function totalCost(explained: string): number {
  const plans = JSON.parse(explained) as readonly { readonly Plan?: { readonly 'Total Cost'?: unknown } }[] | null
  const cost = plans?.[0]?.Plan?.['Total Cost']
  if (typeof cost !== 'number') throw noCost()
  return cost
}
