// The statements of a streamed response: one row of the result for each row of the response, so that nothing is
// aggregated in the database.
import type { RestSettings } from '../settings.ts'
import { returnsSetOfScalar } from '../../schema-cache/routine.ts'
import type { RowPlan } from '../plan/streamable.ts'
import { callStatement } from './call.ts'
import { countStatement } from './count.ts'
import { responseHeaders, responseStatus } from './current-setting.ts'
import type { Fragment } from './fragment.ts'
import { resultAlias, scalarValue, sourceName } from './handler.ts'
import { readStatement } from './read.ts'
import type { StatementShape } from './statement.ts'

/** A line of the body. Lines of CSV are in parentheses, which whoever reads them removes. */
function lineSql(plan: RowPlan): string {
  if (plan.handler.kind === 'csv') return `${resultAlias}::text`
  return plan.kind === 'call' && returnsSetOfScalar(plan.routine)
    ? `coalesce(to_json(${scalarValue})::text, 'null')`
    : `row_to_json(${resultAlias})::text`
}

// As uncorrelated subqueries these are evaluated once, when the first row is returned: a function has ended by then.
const settings = `(SELECT ${responseHeaders}) AS response_headers, (SELECT ${responseStatus}) AS response_status`

/** The rows that count, of which `count=estimated` needs at most one more than `db-max-rows`. */
function countedRows(plan: RowPlan, { preferences }: StatementShape, dbMaxRows: RestSettings['dbMaxRows']): Fragment {
  const counted = countStatement(plan.read)
  const isLimited = plan.kind === 'read' && preferences.count === 'estimated' && dbMaxRows !== null
  return isLimited ? [counted, ` LIMIT ${dbMaxRows + 1}`] : counted
}

/**
 * Returns the columns `line`, `response_headers`, `response_status` for each row. If the rows are counted, there is a fourth
 * column with their total, and one row without a line if the response has none: so page and total are of one snapshot.
 */
export function rowStatement(
  plan: RowPlan,
  shape: StatementShape,
  { dbMaxRows }: Pick<RestSettings, 'dbMaxRows'>,
): Fragment {
  const { count } = shape.preferences
  const source: Fragment = plan.kind === 'call' ? [`${sourceName} AS (`, callStatement(plan.call), ')'] : ''
  const rows: Fragment = [`SELECT ${lineSql(plan)} AS line`, ' FROM (', readStatement(plan.read), `) ${resultAlias}`]
  if (count !== 'exact' && count !== 'estimated') {
    const from: Fragment = [' FROM (', readStatement(plan.read), `) ${resultAlias}`]
    return [source === '' ? '' : ['WITH ', source, ' '], `SELECT ${lineSql(plan)} AS line, ${settings}`, from]
  }
  return [
    'WITH ',
    source === '' ? '' : [source, ', '],
    'pgrst_source_count AS (',
    countedRows(plan, shape, dbMaxRows),
    `) SELECT pgrst_lines.line, ${settings}, pgrst_total.total`,
    ' FROM (SELECT (SELECT pg_catalog.count(*) FROM pgrst_source_count) AS total) pgrst_total LEFT JOIN LATERAL (',
    rows,
    ') pgrst_lines ON true',
  ]
}

/**
 * The statement whose columns are the header of a CSV: what a function returns, as in PostgREST, even if `select` has
 * fewer columns.
 */
export const headerStatement = (plan: RowPlan): Fragment =>
  plan.kind === 'call' ? callStatement(plan.call) : readStatement(plan.read)

/** Reads the settings that functions of the database have set for the response. */
export const settingsAfterwards = `SELECT ${responseHeaders} AS response_headers, ${responseStatus} AS response_status`
