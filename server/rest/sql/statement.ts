// The main statement of a request: one row with all data of the response.
import type { RestSettings } from '../settings.ts'
import { returnsSingle } from '../../catalogue/routine.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { ReadPlan } from '../plan/read-plan.ts'
import type { RequestShape } from '../request/api-request.ts'
import { callStatement } from './call.ts'
import { countStatement, mostCounted, tableTotalOf } from './count.ts'
import { cutCte, cutRows, cutRowsSql, cutSql } from './cut.ts'
import { responseHeaders, responseStatus } from './current-setting.ts'
import { explainSql } from './explain.ts'
import type { Fragment } from './fragment.ts'
import { bodySql, resultAlias, sourceName } from './handler.ts'
import { locationSql, noLocation } from './location.ts'
import { mutateStatement, writeCounts } from './mutate.ts'
import type { LimitForm } from './order.ts'
import { readStatement } from './read.ts'

/** The part of the request that the statement depends on, in addition to the plan. */
export type StatementShape = Pick<RequestShape, 'preferences' | 'topLevelRange'>
export type StatementSettings = Pick<RestSettings, 'dbMaxRows'>

// Counting rows is faster than counting row values. Row values are counted in execution plans, like in PostgREST, and
// without a body, so that Postgres evaluates what is selected, and HEAD fails if GET does.
const pageCount = ({ kind, explain, handler }: CrudPlan): string =>
  explain || (handler.kind === 'none' && kind !== 'mutate') ? `pg_catalog.count(${resultAlias})` : 'pg_catalog.count(*)'

const limitForm = ({ explain }: CrudPlan): LimitForm => (explain ? 'parameter' : 'text')

/** Alias of rows with a column named like `resultAlias`. */
const rowsAlias = '_postgrest_v'

type Columns = {
  readonly total: Fragment
  readonly page: string
  /** Data for headers: the key of a created row, the edges of a page. Undefined for other statements. */
  readonly location?: Fragment
  readonly inserted?: string
  /** Undefined for statements that return no version. */
  readonly version?: string | undefined
  readonly body: string
}

/**
 * Selects the columns of the result from the rows of `source`.
 *
 * The body comes last, so that it can be streamed. Creating it may set headers and status of the response, so these
 * must be read afterwards: aggregates finish before the select list is evaluated, and a handler that is not an
 * aggregate is called in a subquery. In execution plans, the columns have PostgREST's order.
 */
function resultSelect(
  { total, page, location, inserted = "''", version, body }: Columns,
  source: Fragment,
  { kind, explain, handler }: CrudPlan,
): Fragment {
  const counts: Fragment = [total, ` AS total_result_set, ${page} AS page_total`]
  const versioned = version === undefined ? '' : `, ${version} AS version`
  const overrides = `${responseHeaders} AS response_headers, ${responseStatus} AS response_status, ${inserted} AS response_inserted${versioned}`
  const from: Fragment = [' FROM (', source, `) ${version !== undefined && kind === 'read' ? rowsAlias : resultAlias}`]
  if (explain) {
    const key: Fragment = location === undefined ? '' : [', ', location, ' AS header']
    return ['SELECT ', counts, key, `, ${body} AS body, ${overrides}`, from]
  }
  const key: Fragment = [location ?? noLocation, ' AS header']
  if (handler.kind !== 'custom') return ['SELECT ', counts, ', ', key, `, ${overrides}, ${body} AS body`, from]
  return [
    `SELECT total_result_set, page_total, header, ${overrides}, body FROM (SELECT `,
    counts,
    ', ',
    key,
    `, ${body} AS body`,
    from,
    ' OFFSET 0) _postgrest_r',
  ]
}

type Count = { readonly cte: Fragment; readonly total: string }

/** Counts the whole table. Without any limit, the page is the whole table, so its count is used. */
function countSql(
  rows: Fragment,
  page: string,
  shape: StatementShape,
  { dbMaxRows }: StatementSettings,
  plan: CrudPlan,
): Count {
  switch (tableTotalOf(shape, dbMaxRows, plan.page)) {
    case 'none':
      return { cte: '', total: 'null::bigint' }
    case 'page':
      return { cte: '', total: page }
    case 'column':
      return {
        cte: [', pgrst_source_count AS (', rows, ')'],
        total: '(SELECT pg_catalog.count(*) FROM pgrst_source_count)',
      }
  }
}

/** Data for headers. An execution plan has PostgREST's statement, without them. */
const located = ({ explain }: CrudPlan, location: Fragment | undefined): Pick<Columns, 'location'> =>
  explain || location === undefined ? {} : { location }

function readSql(plan: CrudPlan & { kind: 'read' }, shape: StatementShape, settings: StatementSettings): Fragment {
  const counted = countStatement(plan.read)
  const most = mostCounted(shape, settings.dbMaxRows)
  const limited = most === undefined ? counted : [counted, ` LIMIT ${most}`]
  const page = pageCount(plan)
  const count = countSql(limited, page, shape, settings, plan)
  const body = bodySql(plan.handler, null)
  if (plan.page) {
    const { ctes, rows, edges } = plan.page.sql(plan.read, plan.page)
    return [
      ['WITH ', ctes, `, ${sourceName} AS ( `, rows, ' ) ', count.cte, ' '],
      resultSelect({ total: count.total, page, body, ...located(plan, edges) }, ` SELECT * FROM ${sourceName} `, plan),
    ]
  }
  const cut = plan.cutAt === undefined ? undefined : cutSql(plan.read, plan.cutAt, page)
  return [
    `WITH ${sourceName} AS ( `,
    readStatement(plan.read, { limits: limitForm(plan), version: plan.version }),
    ' ) ',
    count.cte,
    ' ',
    resultSelect(
      { total: count.total, page, version: plan.version?.sql.read, body, ...located(plan, cut) },
      plan.version
        ? ` SELECT pgrst_row AS ${resultAlias}, pgrst_version FROM ${sourceName} `
        : ` SELECT * FROM ${sourceName} `,
      plan,
    ),
  ]
}

/** @param written the written rows */
function mutateSql(
  plan: CrudPlan & { kind: 'mutate' },
  shape: StatementShape,
  written: Fragment = mutateStatement(plan.mutate),
): Fragment {
  const { mutate, handler } = plan
  const hasLocation = mutate.kind === 'insert' && shape.preferences.representation === 'headers-only'
  const location = hasLocation ? locationSql(mutate.primaryKey) : noLocation
  return [
    `WITH ${sourceName} AS (`,
    written,
    ') ',
    resultSelect(
      {
        ...writeCounts(plan, shape),
        page: pageCount(plan),
        location,
        body: bodySql(handler, null),
      },
      // Without a body, the result of the write does not have the columns of `select`.
      handler.kind === 'none' ? `SELECT * FROM ${sourceName}` : readStatement(plan.read, { limits: limitForm(plan) }),
      plan,
    ),
  ]
}

function callSql(plan: CrudPlan & { kind: 'call' }, shape: StatementShape, settings: StatementSettings): Fragment {
  const page = returnsSingle(plan.routine) ? '1' : pageCount(plan)
  const count = countSql(countStatement(plan.read), page, shape, settings, plan)
  const columns = { total: count.total, page, body: bodySql(plan.handler, plan.routine) }
  const call: Fragment = [`WITH ${sourceName} AS (`, callStatement(plan.call), ') ']
  if (plan.page) {
    const { ctes, rows, edges } = plan.page.sql(plan.read, plan.page)
    return [call, ', ', ctes, count.cte, ' ', resultSelect({ ...columns, ...located(plan, edges) }, rows, plan)]
  }
  if (plan.cutAt !== undefined && !plan.explain) {
    const rows = `SELECT * FROM ${cutCte} LIMIT ${plan.cutAt}`
    const cut = { ...columns, location: cutRowsSql(plan.cutAt) }
    return [call, cutRows(plan.read, plan.cutAt), count.cte, ' ', resultSelect(cut, rows, plan)]
  }
  return [call, count.cte, ' ', resultSelect(columns, readStatement(plan.read, { limits: limitForm(plan) }), plan)]
}

function resultSql(plan: CrudPlan, shape: StatementShape, settings: StatementSettings): Fragment {
  switch (plan.kind) {
    case 'read':
      return readSql(plan, shape, settings)
    case 'mutate':
      return mutateSql(plan, shape)
    case 'call':
      return callSql(plan, shape, settings)
    default:
      return plan satisfies never
  }
}

/**
 * The statement of a plan. It returns one row (see `ResultRow`) with the columns `total_result_set`, `page_total`,
 * `header`, `response_headers`, `response_status`, `response_inserted`, `version` if the plan has one, `body`. For a `plan` media type, it returns the
 * lines of the execution plan.
 *
 * Its text depends only on the shape of the request, so that it can be prepared. Values are parameters.
 */
export function mainStatement(plan: CrudPlan, shape: StatementShape, settings: StatementSettings): Fragment {
  const statement = resultSql(plan, shape, settings)
  return plan.mediaType.kind === 'plan'
    ? explainSql(statement, plan.mediaType.format, plan.mediaType.options)
    : statement
}

/** The same for a write whose rows are already written. `written` selects them. */
export const writtenStatement = (
  plan: CrudPlan & { kind: 'mutate' },
  shape: StatementShape,
  written: Fragment,
): Fragment => mutateSql(plan, shape, written)

/** `EXPLAIN` of a count, as JSON in one row. Has the planner's estimate for `count=planned` and `count=estimated`. */
export const explainCountStatement = (read: ReadPlan): Fragment => explainSql(countStatement(read), 'json')

/** Whether a request needs `explainCountStatement`. Only reads do. */
export const needsPlannedCount = (plan: CrudPlan, { preferences: { count } }: StatementShape): boolean =>
  plan.kind === 'read' && !plan.explain && (count === 'planned' || count === 'estimated')
