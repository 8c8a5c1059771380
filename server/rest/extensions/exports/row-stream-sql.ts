// The statements of a streamed response: one row of the result for each row of the response, so that nothing is
// aggregated in the database.
import type { RestSettings } from '../../settings.ts'
import { returnsSetOfScalar } from '../../../catalogue/routine.ts'
import { beginsEarly, type RowPlan } from './streamable.ts'
import { callStatement } from '../../sql/call.ts'
import { countStatement } from '../../sql/count.ts'
import { responseHeaders, responseStatus } from '../../sql/current-setting.ts'
import type { Fragment } from '../../sql/fragment.ts'
import { resultAlias, scalarValue, sourceName } from '../../sql/handler.ts'
import { readStatement } from '../../sql/read.ts'
import type { StatementShape } from '../../sql/statement.ts'

/** A line of the body. Lines of CSV are in parentheses, which whoever reads them removes. */
function lineSql(plan: RowPlan): string {
  if (plan.handler.kind === 'csv') return `${resultAlias}::text`
  return plan.kind === 'call' && returnsSetOfScalar(plan.routine)
    ? `coalesce(to_json(${scalarValue})::text, 'null')`
    : `row_to_json(${resultAlias})::text`
}

// As uncorrelated subqueries these are evaluated once, when the first row is returned: a function has ended by then.
const responseSettings = `(SELECT ${responseHeaders}) AS response_headers, (SELECT ${responseStatus}) AS response_status`

/** The rows that count, of which `count=estimated` needs at most one more than `db-max-rows`. */
function countedRows(plan: RowPlan, { preferences }: StatementShape, dbMaxRows: RestSettings['dbMaxRows']): Fragment {
  const counted = countStatement(plan.read)
  const isLimited = plan.kind === 'read' && preferences.count === 'estimated' && dbMaxRows !== null
  return isLimited ? [counted, ` LIMIT ${dbMaxRows + 1}`] : counted
}

/** The number of rows that count, or null. */
function totalSql(plan: RowPlan, shape: StatementShape, { dbMaxRows }: StreamSettings): Fragment {
  const { count } = shape.preferences
  if (count !== 'exact' && count !== 'estimated') return 'SELECT null::bigint AS total'
  return ['SELECT pg_catalog.count(*) AS total FROM (', countedRows(plan, shape, dbMaxRows), ') pgrst_source_count']
}

type StreamSettings = Pick<RestSettings, 'dbMaxRows'>

/**
 * Returns the columns `line`, `response_headers`, `response_status`, `total`, `page`, `has_source` for each row, or at least
 * `line` and the settings. `total` is the number of rows if it is requested; `page` is the number of lines, of a response
 * that begins only when all of them are known: the database then keeps them, on disk if there are many. A response without
 * rows has one row without a line. So lines and numbers are of one snapshot. `has_source` tells whether a function has
 * returned rows, which filters and ranges may leave out.
 */
export function rowStatement(plan: RowPlan, shape: StatementShape, settings: StreamSettings): Fragment {
  const { count } = shape.preferences
  const source: Fragment = plan.kind === 'call' ? [`${sourceName} AS (`, callStatement(plan.call), ')'] : ''
  const lines: Fragment = [`SELECT ${lineSql(plan)} AS line`, ' FROM (', readStatement(plan.read), `) ${resultAlias}`]
  const isCounted = count === 'exact' || count === 'estimated'
  if (beginsEarly(plan, shape) && !isCounted) {
    const from: Fragment = [' FROM (', readStatement(plan.read), `) ${resultAlias}`]
    return [source === '' ? '' : ['WITH ', source, ' '], `SELECT ${lineSql(plan)} AS line, ${responseSettings}`, from]
  }
  const numbers: Fragment = ['(', totalSql(plan, shape, settings), ') pgrst_total']
  const ctes = (more: Fragment): Fragment =>
    source === '' ? (more === '' ? '' : ['WITH ', more, ' ']) : ['WITH ', source, more === '' ? ' ' : [', ', more, ' ']]
  if (beginsEarly(plan, shape)) {
    return [
      ctes(''),
      `SELECT pgrst_lines.line, ${responseSettings}, pgrst_total.total FROM `,
      numbers,
      ' LEFT JOIN LATERAL (',
      lines,
      ') pgrst_lines ON true',
    ]
  }
  const hasSource = plan.kind === 'call' ? `, EXISTS (SELECT FROM ${sourceName}) AS has_source` : ''
  return [
    ctes(['pgrst_lines AS (', lines, ')']),
    `SELECT pgrst_lines.line, ${responseSettings}, pgrst_total.total, pgrst_page.page${hasSource} FROM `,
    numbers,
    ', (SELECT pg_catalog.count(*) AS page FROM pgrst_lines) pgrst_page LEFT JOIN pgrst_lines ON true',
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
