// The execution plan of a request, and what its policies cost.
import type { PipelineStatement } from '../../rest/database.ts'
import type { PolicyCost } from './explanation.ts'
import type { Stage } from './stage.ts'

type PlanDocument = readonly { readonly 'Execution Time'?: number }[]

const explained = async (stage: Stage, statement: PipelineStatement, options: string): Promise<PlanDocument> => {
  const { values } = statement
  const [row] = await stage.run({ text: `EXPLAIN (${options}, FORMAT JSON) ${statement.text}`, values })
  return JSON.parse(row?.[0]?.toString() ?? '[]') as PlanDocument
}

/** The plan of a statement that runs as the caller, with times and buffers, as PostgreSQL writes it. */
export const readPlan = (stage: Stage, statement: PipelineStatement): Promise<PlanDocument> =>
  stage.asCaller(() => explained(stage, statement, 'ANALYZE, BUFFERS'))

/** What a plan says about a statement and the schema, and not about rows: their numbers, and estimates of these. */
const ofStatement = new Set([
  'Plan',
  'Plans',
  'Node Type',
  'Parent Relationship',
  'Parallel Aware',
  'Async Capable',
  'Join Type',
  'Strategy',
  'Partial Mode',
  'Inner Unique',
  'Scan Direction',
  'Operation',
  'Command',
  'Relation Name',
  'Schema',
  'Alias',
  'Index Name',
  'CTE Name',
  'Subplan Name',
  'Function Name',
  'Index Cond',
  'Recheck Cond',
  'Filter',
  'Hash Cond',
  'Merge Cond',
  'Join Filter',
  'One-Time Filter',
  'Order By',
  'Sort Key',
  'Presorted Key',
  'Group Key',
  'Cache Key',
  'Output',
  'Disabled',
  'Triggers',
  'Trigger Name',
  'Planning Time',
  'Execution Time',
])

/** The plan without what its nodes say about rows that policies hide. The whole times remain. */
export const withoutHiddenRows = (plan: unknown): unknown => {
  if (Array.isArray(plan)) return plan.map(withoutHiddenRows)
  if (typeof plan !== 'object' || plan === null) return plan
  const entries = Object.entries(plan).filter(([name]) => ofStatement.has(name))
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutHiddenRows(value)]))
}

const executionTime = (plan: PlanDocument): number => plan[0]?.['Execution Time'] ?? 0

/** Fewer runs of slow statements. */
const runsOf = (milliseconds: number): number => (milliseconds < 20 ? 5 : milliseconds < 200 ? 3 : 1)

/**
 * Measures a statement with and without row-level security: the same statement as the caller and as a role that bypasses
 * it, in turn, without the overhead of measuring each node. The plan was read before, so the data is in memory.
 *
 * @returns undefined if the other role cannot run it
 */
export function measurePolicies(
  stage: Stage,
  statement: PipelineStatement,
  bypassedBy: string,
  plan: PlanDocument,
): Promise<PolicyCost | undefined> {
  const options = 'ANALYZE, TIMING OFF'
  return stage.attempt(async () => {
    const [withPolicies, withoutPolicies]: [number[], number[]] = [[], []]
    for (let run = runsOf(executionTime(plan)); run > 0; run--) {
      const caller = await stage.asCaller(() => explained(stage, statement, options))
      const other = await stage.asBypass(bypassedBy, () => explained(stage, statement, options))
      withPolicies.push(executionTime(caller))
      withoutPolicies.push(executionTime(other))
    }
    const milliseconds = Math.round((median(withPolicies) - median(withoutPolicies)) * 1000) / 1000
    return { withPolicies, withoutPolicies, milliseconds, bypassedBy }
  })
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
