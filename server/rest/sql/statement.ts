// The main statement of a request: one row with everything that the answer is made of.
import type { PostgrestConfig } from '../../config/config.ts'
import { returnsSingle } from '../../schema-cache/routine.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { ReadPlan } from '../plan/read-plan.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { callStatement } from './call.ts'
import { countStatement } from './count.ts'
import { insertedCount, responseHeaders, responseStatus } from './current-setting.ts'
import { explainSql } from './explain.ts'
import type { Fragment } from './fragment.ts'
import { bodySql, resultAlias, sourceName } from './handler.ts'
import { locationSql, noLocation } from './location.ts'
import { countsInserted, mutateStatement } from './mutate.ts'
import { isAllRows } from './order.ts'
import { readStatement } from './read.ts'

export type StatementRequest = Pick<ApiRequest, 'preferences' | 'topLevelRange'>
export type StatementSettings = Pick<PostgrestConfig, 'dbMaxRows'>

const pageCount = `pg_catalog.count(${resultAlias})`

type Columns = {
  readonly total: string
  readonly page: string
  /** Undefined for statements that create nothing. */
  readonly location?: string
  readonly inserted?: string
  readonly body: string
}

/**
 * The select list. Postgres evaluates it in order, and what makes the body may set the headers and the status of the
 * answer: they come after it. Readers of execution plans know the places of the columns as PostgREST has them.
 */
function columnsSql({ total, page, location, inserted = "''", body }: Columns, explain: boolean): string {
  const key = location === undefined && explain ? '' : `${location ?? noLocation} AS header, `
  const answer = `${responseHeaders} AS response_headers, ${responseStatus} AS response_status, ${inserted} AS response_inserted`
  return `${total} AS total_result_set, ${page} AS page_total, ${key}${body} AS body, ${answer}`
}

type Count = { readonly cte: Fragment; readonly total: string }

/** How the whole table is counted. Without any limit the page is the table, and counting it once is enough. */
function countSql(rows: Fragment, page: string, request: StatementRequest, { dbMaxRows }: StatementSettings): Count {
  const { count } = request.preferences
  if (count !== 'exact' && count !== 'estimated') return { cte: '', total: 'null::bigint' }
  if (dbMaxRows === null && isAllRows(request.topLevelRange)) return { cte: '', total: page }
  return {
    cte: [', pgrst_source_count AS (', rows, ')'],
    total: '(SELECT pg_catalog.count(*) FROM pgrst_source_count)',
  }
}

function readSql(plan: CrudPlan & { kind: 'read' }, request: StatementRequest, settings: StatementSettings): Fragment {
  const counted = countStatement(plan.read)
  // One row more than `db-max-rows` tells that there are too many to count them all.
  const limited =
    request.preferences.count === 'estimated' && settings.dbMaxRows !== null
      ? [counted, ` LIMIT ${settings.dbMaxRows + 1}`]
      : counted
  const count = countSql(limited, pageCount, request, settings)
  return [
    `WITH ${sourceName} AS ( `,
    readStatement(plan.read),
    ' ) ',
    count.cte,
    ' SELECT ',
    columnsSql({ total: count.total, page: pageCount, body: bodySql(plan.handler, null) }, plan.explain),
    ` FROM ( SELECT * FROM ${sourceName} ) ${resultAlias}`,
  ]
}

function mutateSql(plan: CrudPlan & { kind: 'mutate' }, { preferences }: StatementRequest): Fragment {
  const { mutate, handler } = plan
  const hasLocation = mutate.kind === 'insert' && preferences.representation === 'headers-only'
  const location = hasLocation ? locationSql(mutate.primaryKey) : noLocation
  const inserted = countsInserted(mutate, preferences.resolution) ? insertedCount : "''"
  return [
    `WITH ${sourceName} AS (`,
    mutateStatement(mutate),
    ') SELECT ',
    columnsSql({ total: "''", page: pageCount, location, inserted, body: bodySql(handler, null) }, plan.explain),
    ' FROM (',
    // Without a body the columns of `select` need not exist in what the write returns.
    handler.kind === 'none' ? `SELECT * FROM ${sourceName}` : readStatement(plan.read),
    `) ${resultAlias}`,
  ]
}

function callSql(plan: CrudPlan & { kind: 'call' }, request: StatementRequest, settings: StatementSettings): Fragment {
  const page = returnsSingle(plan.routine) ? '1' : pageCount
  const count = countSql(countStatement(plan.read), page, request, settings)
  return [
    `WITH ${sourceName} AS (`,
    callStatement(plan.call),
    ') ',
    count.cte,
    ' SELECT ',
    columnsSql({ total: count.total, page, body: bodySql(plan.handler, plan.routine) }, plan.explain),
    ' FROM (',
    readStatement(plan.read),
    `) ${resultAlias}`,
  ]
}

function resultSql(plan: CrudPlan, request: StatementRequest, settings: StatementSettings): Fragment {
  switch (plan.kind) {
    case 'read':
      return readSql(plan, request, settings)
    case 'mutate':
      return mutateSql(plan, request)
    case 'call':
      return callSql(plan, request, settings)
    default:
      return plan satisfies never
  }
}

/**
 * The statement that does what a plan says. It yields one row (see `ResultRow`) with the columns `total_result_set`,
 * `page_total`, `header`, `body`, `response_headers`, `response_status`, `response_inserted`. For a `plan`
 * media type it yields the lines of the execution plan instead.
 *
 * Its text depends on the shape of the request alone, so that it can be prepared: values are parameters.
 */
export function mainStatement(plan: CrudPlan, request: StatementRequest, settings: StatementSettings): Fragment {
  const statement = resultSql(plan, request, settings)
  return plan.mediaType.kind === 'plan'
    ? explainSql(statement, plan.mediaType.format, plan.mediaType.options)
    : statement
}

/** `EXPLAIN` of a count: the planner's estimate, for `count=planned` and `count=estimated`. JSON in one row. */
export const explainCountStatement = (read: ReadPlan): Fragment => explainSql(countStatement(read), 'json')

/** Whether a request needs `explainCountStatement`: reads only. */
export const needsPlannedCount = (plan: CrudPlan, { preferences: { count } }: StatementRequest): boolean =>
  plan.kind === 'read' && !plan.explain && (count === 'planned' || count === 'estimated')
