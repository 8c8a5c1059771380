// The statements of a streamed response: one row of the result for each row of the response, so that nothing is
// aggregated in the database.
import type { RestSettings } from '../../settings.ts'
import { returnsSetOfScalar } from '../../../catalogue/routine.ts'
import { beginsEarly, type RowPlan } from './streamable.ts'
import { callStatement } from '../../sql/call.ts'
import { countStatement, dependsOnEmbeds } from '../../sql/count.ts'
import { responseHeaders, responseStatus } from '../../sql/current-setting.ts'
import type { Fragment } from '../../sql/fragment.ts'
import { resultAlias, scalarValue, sourceName } from '../../sql/handler.ts'
import { isAllRows } from '../../sql/order.ts'
import { readStatement } from '../../sql/read.ts'
import type { StatementShape } from '../../sql/statement.ts'

/**
 * What the rows of a response are: its columns, or each row as one value of JSON, for types of which only Postgres knows the
 * form in JSON.
 */
export type RowsAs = 'columns' | 'json'

function columnsSql(plan: RowPlan, as: RowsAs): string {
  if (as === 'columns') return `${resultAlias}.*`
  return isSetOfScalar(plan) ? `to_json(${scalarValue}) AS line` : `row_to_json(${resultAlias}) AS line`
}

export const isSetOfScalar = (plan: RowPlan): boolean => plan.kind === 'call' && returnsSetOfScalar(plan.routine)

// As uncorrelated subqueries these are evaluated once, when the first row is returned: a function has ended by then.
const responseSettings =
  `(SELECT ${responseHeaders}) AS response_headers, (SELECT ${responseStatus}) AS response_status, ` +
  `(SELECT pg_catalog.current_setting('DateStyle') LIKE 'ISO%') AS has_iso_dates`

/**
 * The rows that count: without a limit, those of the response; otherwise all without embeds, of which `count=estimated` needs at
 * most one more than `db-max-rows`.
 */
function countedRows(plan: RowPlan, shape: StatementShape, settings: StreamSettings): Fragment {
  if (isWhole(shape, settings) && dependsOnEmbeds(plan.read)) return readStatement(plan.read)
  const counted = countStatement(plan.read)
  const { dbMaxRows } = settings
  const isLimited = plan.kind === 'read' && shape.preferences.count === 'estimated' && dbMaxRows !== null
  return isLimited ? [counted, ` LIMIT ${dbMaxRows + 1}`] : counted
}

const isWhole = ({ topLevelRange }: StatementShape, { dbMaxRows }: StreamSettings): boolean =>
  dbMaxRows === null && isAllRows(topLevelRange)

const isCounted = ({ preferences: { count } }: StatementShape): boolean => count === 'exact' || count === 'estimated'

/** The number of rows that count, or null. */
function totalSql(plan: RowPlan, shape: StatementShape, settings: StreamSettings): Fragment {
  if (!isCounted(shape)) return 'SELECT null::bigint AS total'
  return ['SELECT pg_catalog.count(*) AS total FROM (', countedRows(plan, shape, settings), ') pgrst_source_count']
}

type StreamSettings = Pick<RestSettings, 'dbMaxRows'>

/**
 * Returns the columns `response_headers`, `response_status`, `has_iso_dates`, `total`, `page`, `has_source`, `is_row` (see
 * `leading-fields.ts`), and those of the response, for each of its rows. A response that begins only when all rows are known has
 * their number: the database then keeps them, on disk if there are many. A response without rows may have one row in which
 * `is_row` is null. So rows and numbers are of one snapshot.
 */
export function rowStatement(plan: RowPlan, shape: StatementShape, settings: StreamSettings, as: RowsAs): Fragment {
  const isEarly = beginsEarly(plan, shape)
  const isCall = plan.kind === 'call'
  const columns = columnsSql(plan, as)
  const from: Fragment = [' FROM (', readStatement(plan.read), `) ${resultAlias}`]
  const source: Fragment = isCall ? [`${sourceName} AS (`, callStatement(plan.call), ')'] : ''
  const withSource: Fragment = isCall ? ['WITH ', source, ' '] : ''
  // Only the header of a CSV depends on it.
  const hasSource = isCall && plan.handler.kind === 'csv' ? `EXISTS (SELECT FROM ${sourceName})` : 'null'
  if (isEarly && !isCounted(shape) && hasSource === 'null') {
    const leading = `${responseSettings}, null AS total, null AS page, null AS has_source, true AS is_row`
    return [withSource, `SELECT ${leading}, ${columns}`, from]
  }
  const total: Fragment = ['(', totalSql(plan, shape, settings), ') pgrst_total']
  const rows: Fragment = [`SELECT true AS is_row, ${columns}`, from]
  if (isEarly) {
    return [
      withSource,
      `SELECT ${responseSettings}, pgrst_total.total, null AS page, ${hasSource} AS has_source, pgrst_rows.* FROM `,
      total,
      ' LEFT JOIN LATERAL (',
      rows,
      ') pgrst_rows ON true',
    ]
  }
  const isPage = isCounted(shape) && isWhole(shape, settings)
  return [
    ['WITH ', isCall ? [source, ', '] : '', 'pgrst_rows AS (', rows, ') '],
    `SELECT ${responseSettings}, ${isPage ? 'pgrst_page.page' : 'pgrst_total.total'} AS total, pgrst_page.page, `,
    `${hasSource} AS has_source, pgrst_rows.* FROM `,
    isPage ? '' : [total, ', '],
    '(SELECT pg_catalog.count(*) AS page FROM pgrst_rows) pgrst_page LEFT JOIN pgrst_rows ON true',
  ]
}

/**
 * The statement whose columns are the header of a CSV: what a function returns, as in PostgREST, even if `select` has
 * fewer columns. Undefined if they are those of the rows.
 */
export const headerStatement = (plan: RowPlan): Fragment | undefined =>
  plan.kind === 'call' && plan.handler.kind === 'csv' ? callStatement(plan.call) : undefined

/** Reads the settings that functions of the database have set for the response. */
export const settingsAfterwards = `SELECT ${responseHeaders} AS response_headers, ${responseStatus} AS response_status`
