// Measures what a missing index for a policy costs: reads the table once as the role of the policy, in a read-only transaction
// and within a time limit. What an index would save is an estimate, and is called so: PostgreSQL has no hypothetical indexes.
import { set, setIdentity, SettingsText } from '../../identity/settings-text.ts'
import { identifier } from '../../text/sql-text.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { fewRows } from './schema-lints.ts'
import type { UnindexedColumn } from './cost-lints.ts'
import type { LintFinding } from './finding.ts'

export type Measurement = {
  /** Milliseconds. */
  readonly time: number
  /** Pages of 8 kB that were read, from memory or disk. */
  readonly pages: number
  /** Rows that the policies refused. */
  readonly removed: number
  /** Rows that the planner expects to remain. */
  readonly expected: number
}

/** One statement may take this long, in milliseconds. */
const statementLimit = 1000
/** A table that is locked for longer, in milliseconds, is not measured: the time would be that of the lock. */
const lockLimit = 200
/** No further table is measured after this time, in milliseconds. */
const totalLimit = 5000

const settings = new SettingsText([
  ...['statement_timeout', 'lock_timeout', 'jit', 'search_path', 'request.jwt.claim.sub'].map(set),
  ...setIdentity,
])

type PlanNode = {
  readonly 'Plan Rows'?: number
  readonly 'Actual Rows'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Relation Name'?: string
  readonly Schema?: string
  readonly 'Parent Relationship'?: string
  readonly Plans?: readonly PlanNode[]
}

type Explained = readonly { readonly 'Execution Time': number; readonly Plan: PlanNode }[]

export type MeasureOptions = {
  /** The schemas of requests: policies may call functions without their schema. */
  readonly searchPath: readonly string[]
  /** Whether a policy of a table calls a volatile function, which might have effects: it is not measured. */
  readonly isVolatile: (relation: number) => boolean
}

/** The id of no user: the claims are well-formed, and the policies refuse the rows of all users. */
const stranger = '00000000-0000-4000-8000-000000000000'

/**
 * Measures the findings whose table a role can read. A table that is empty, or that the connected role cannot read as that
 * role, is not measured; its finding stays as it is.
 *
 * @param query runs statements on one connection without an open transaction
 */
export async function measureFindings(
  query: RunClientQuery,
  columns: readonly UnindexedColumn[],
  { searchPath, isVolatile }: MeasureOptions,
): Promise<LintFinding[]> {
  const start = performance.now()
  const findings: LintFinding[] = []
  for (const column of columns) {
    const mayMeasure =
      column.role !== null && !isVolatile(column.relation.oid) && performance.now() - start < totalLimit
    findings.push(mayMeasure ? await measured(query, column, searchPath) : column.finding)
  }
  return findings
}

async function measured(
  query: RunClientQuery,
  column: UnindexedColumn,
  searchPath: readonly string[],
): Promise<LintFinding> {
  try {
    const measurement = await measure(query, column, searchPath)
    return measurement ? withMeasurement(column.finding, measurement) : column.finding
  } catch (error) {
    // query_canceled: the time limit.
    if (sqlState(error) === '57014') {
      return {
        ...column.finding,
        level: 'WARN',
        reason: `${column.finding.reason} Measured: more than ${statementLimit} ms for one statement.`,
        metadata: { ...column.finding.metadata, measured: { time: statementLimit, isLimit: true } },
      }
    }
    // The role cannot be switched to, or its policies fail with these claims.
    if (sqlState(error) !== undefined) return column.finding
    throw error
  }
}

async function measure(
  query: RunClientQuery,
  { relation, column, role }: UnindexedColumn,
  searchPath: readonly string[],
): Promise<Measurement | undefined> {
  const claims = JSON.stringify({ role, sub: stranger, email: '', app_metadata: {}, user_metadata: {} })
  await query('begin transaction read only')
  try {
    await query(settings.plain, [
      String(statementLimit),
      String(lockLimit),
      'off',
      searchPath.map(identifier).join(', '),
      stranger,
      role,
      claims,
    ])
    const { rows } = await query(
      `explain (analyze, buffers, timing off, format json) select ${column.quoted} from only ${relation.quoted}`,
    )
    const plan = Object.values(rows[0] ?? {})[0]
    const [explained] = (typeof plan === 'string' ? JSON.parse(plan) : plan) as Explained
    const scan = explained && scanOf(explained.Plan, relation.name)
    if (!explained || !scan) return undefined
    return {
      time: explained['Execution Time'],
      pages: (scan['Shared Hit Blocks'] ?? 0) + (scan['Shared Read Blocks'] ?? 0),
      removed: scan['Rows Removed by Filter'] ?? 0,
      expected: scan['Plan Rows'] ?? 0,
    }
  } finally {
    await query('rollback')
  }
}

/** The node that scans the table itself; subqueries of policies have their own. */
function scanOf(plan: PlanNode, name: string): PlanNode | undefined {
  if (
    plan['Relation Name'] === name &&
    plan['Parent Relationship'] !== 'SubPlan' &&
    plan['Parent Relationship'] !== 'InitPlan'
  )
    return plan
  for (const child of plan.Plans ?? []) {
    if (child['Parent Relationship'] === 'SubPlan' || child['Parent Relationship'] === 'InitPlan') continue
    const found = scanOf(child, name)
    if (found) return found
  }
  return undefined
}

/** Inner pages of an index on millions of rows; each row may be on a page of its own. */
const indexDepth = 4

function withMeasurement(finding: LintFinding, measurement: Measurement): LintFinding {
  const { time, pages, removed, expected } = measurement
  if (removed === 0) return finding
  const withIndex = Math.min(pages, indexDepth + Math.ceil(expected))
  return {
    ...finding,
    level: removed >= fewRows ? 'WARN' : finding.level,
    reason:
      `${finding.reason} Measured: ${time.toFixed(1)} ms, ${pages} pages and ${removed} refused rows per statement; ` +
      `with the index at most about ${withIndex} pages (estimated for ${Math.round(expected)} rows).`,
    metadata: { ...finding.metadata, measured: { ...measurement, pagesWithIndex: withIndex } },
  }
}
