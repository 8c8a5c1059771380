// The form of a main statement that returns the rows of the response, which the server writes as JSON. Postgres aggregates
// nothing, and sends what its output functions write. Everything else of the response is known without the database, or in
// columns before those of the rows.
import {
  returnsScalar,
  returnsSetOfScalar,
  returnsSingle,
  returnsSingleComposite,
  returnsVoid,
} from '../../catalogue/routine.ts'
import type { MediaHandler } from '../../catalogue/media-handler.ts'
import type { PagePlan } from '../extensions/keyset-pages/page-plan.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { ReadPlan } from '../plan/read-plan.ts'
import { callStatement } from './call.ts'
import { limitedSum } from '../request/integer.ts'
import { countStatement, dependsOnEmbeds, mostCounted, tableTotalOf, type TableTotal } from './count.ts'
import { encodableRead, type SelectOptions } from './encodable-select.ts'
import type { Fragment } from './fragment.ts'
import { relationOf } from './from.ts'
import { sourceName } from './handler.ts'
import { readStatement } from './read.ts'
import type { StatementSettings, StatementShape } from './statement.ts'

/** The rows of a response, and what they become. */
export type RowsSql = RowsForm & { readonly sql: Fragment }

/** What the server makes of rows. */
export type RowsForm = {
  /** Whether the body is an array of the rows, or the first of them alone, or empty, because the rows are only counted. */
  readonly body: 'array' | 'first' | 'none'
  /** Whether the only column is the value itself. */
  readonly isScalar: boolean
  /** Number of rows in the result: those that arrive, or one. */
  readonly pageTotal: 'rows' | 'one'
  /** Number of all rows: unknown, that of the result, or in the first column. */
  readonly tableTotal: TableTotal
  /** Whether the next column has what the links of a keyset page need, in one of the rows. */
  readonly hasEdges?: boolean
  /** Whether the version of the row precedes the columns, or is in the last row. */
  readonly hasVersion: boolean
  /**
   * Whether a last row has what the statement knows at its end: in the first column, which is null in all other rows, the texts
   * of the number of all rows, headers, status, number of created rows, and the version if there is one, as an array of PostgreSQL.
   */
  readonly hasEnd?: boolean
  /** Whether no other statement can run in place of this one, so that all rows are encoded. */
  readonly isOnlyForm?: boolean
  /** Whether what runs may set `response.headers` and `response.status`, so that `settingsStatement` has to follow. */
  readonly isLoud?: boolean
  /** Whether an error may be of a column that the statement does not return. */
  readonly isListed?: boolean
  /** Number of rows after which one more only tells that there are more (`db-max-rows`). */
  readonly cutAt?: number | undefined
}

/**
 * Whether columns of the result precede those of the rows. Then the last of them is not null, and a result without rows has one row
 * in which it is null.
 */
export const hasHead = ({ tableTotal, hasEdges }: RowsForm): boolean => tableTotal === 'column' || hasEdges === true

/** Whether the body is JSON that the server can write: an array or an object with all its members. */
export const isPlainJson = (handler: MediaHandler): boolean =>
  handler.kind === 'json' || (handler.kind === 'single-json' && !handler.stripNulls)

/** Whether the body is one row, instead of an array of all. */
export function isSingle(plan: CrudPlan): boolean {
  if (plan.handler.kind === 'single-json') return true
  return plan.kind === 'call' && (returnsScalar(plan.routine) || returnsSingleComposite(plan.routine))
}

/**
 * The rows of a read or call. Undefined for plans whose response needs more of the database, such as other media types.
 *
 * Whether the plan is quiet (`isQuiet`) is for the caller to know.
 */
export function rowsSql(plan: CrudPlan, shape: StatementShape, { dbMaxRows }: StatementSettings): RowsSql | undefined {
  if (plan.kind === 'mutate' || plan.explain) return undefined
  if (!isPlainJson(plan.handler) || plan.isStreamed === true) return undefined
  if (plan.page) return pageRowsSql(plan, plan.page, shape, dbMaxRows)
  // What is counted are all rows, even if limits of embeds leave some of them out.
  if (plan.cutAt !== undefined && dependsOnEmbeds(plan.read)) return undefined
  const tableTotal = tableTotalOf(shape, dbMaxRows)
  const body = isSingle(plan) ? 'first' : 'array'
  const { cutAt } = plan
  const read =
    cutAt === undefined ? plan.read : { ...plan.read, range: { ...plan.read.range, limit: limitedSum(cutAt, 1) } }
  // Distinct rows have a select list of their own.
  if (read.distinct && (tableTotal === 'column' || (plan.kind === 'read' && plan.version))) return undefined
  if (plan.kind === 'call') {
    const { routine, handler } = plan
    if (returnsVoid(routine)) return undefined
    return {
      sql: [
        `WITH ${sourceName} AS (`,
        callStatement(plan.call),
        ') ',
        countedRowsSql(read, tableTotal, countedSql(read)),
      ],
      body,
      isScalar: returnsScalar(routine) || (handler.kind === 'json' && returnsSetOfScalar(routine)),
      pageTotal: returnsSingle(routine) ? 'one' : 'rows',
      tableTotal,
      hasVersion: false,
      cutAt,
    }
  }
  const { version } = plan
  const leading = version ? [`${version.sql.of(relationOf(read), version)} AS pgrst_version`] : []
  return {
    sql: countedRowsSql(read, tableTotal, countedSql(read, mostCounted(shape, dbMaxRows)), leading),
    body,
    isScalar: false,
    pageTotal: 'rows',
    tableTotal,
    hasVersion: version !== undefined,
    cutAt,
  }
}

/**
 * Rows, after the number of all rows if that is in a column.
 *
 * @param counted selects it
 * @param leading columns of each row before those of the plan
 */
function countedRowsSql(
  read: ReadPlan,
  tableTotal: TableTotal,
  counted: Fragment,
  leading: readonly string[] = [],
): Fragment {
  if (tableTotal !== 'column') return readStatement(read, { leading })
  return [
    'SELECT pgrst_total.total, pgrst_rows.* FROM (',
    counted,
    ') pgrst_total LEFT JOIN (',
    readStatement(read, { leading: ['TRUE AS pgrst_row', ...leading] }),
    ') pgrst_rows ON TRUE',
  ]
}

/**
 * The rows of a call that has no other result, because it cannot run twice. It may set headers and status. Undefined if the
 * columns are not known that the response has, and for a function that returns nothing.
 *
 * @param selected of the result of the function. What is known can be encoded whatever the function sets
 */
export function calledRowsSql(
  plan: CrudPlan & { kind: 'call' },
  shape: StatementShape,
  settings: StatementSettings,
  selected: SelectOptions,
): RowsSql | undefined {
  if (plan.page) return undefined
  const read = encodableRead(plan.read, selected)
  const rows = read && rowsSql({ ...plan, read }, shape, settings)
  return rows && { ...rows, isOnlyForm: true, isLoud: true }
}

/** The rows of a keyset page. */
function pageRowsSql(
  plan: CrudPlan & { kind: 'read' | 'call' },
  page: PagePlan,
  shape: StatementShape,
  dbMaxRows: number | null,
): RowsSql {
  const tableTotal = tableTotalOf(shape, dbMaxRows, page)
  const { ctes, numberedRows } = page.sql(plan.read, page)
  const source = plan.kind === 'call' ? [`${sourceName} AS (`, callStatement(plan.call), '), '] : ''
  const most = plan.kind === 'read' ? mostCounted(shape, dbMaxRows) : undefined
  const total = tableTotal === 'column' ? ['(', countedSql(plan.read, most), ')'] : undefined
  return {
    sql: ['WITH ', source, ctes, ' ', numberedRows(total)],
    body: isSingle(plan) ? 'first' : 'array',
    isScalar: false,
    pageTotal: 'rows',
    tableTotal,
    hasEdges: true,
    hasVersion: false,
  }
}

/** The number of all rows, or `most` if there are more. */
const countedSql = (read: ReadPlan, most?: number): Fragment => [
  'SELECT pg_catalog.count(*) AS total FROM (',
  countStatement(read),
  most === undefined ? '' : ` LIMIT ${most}`,
  ') pgrst_counted',
]
