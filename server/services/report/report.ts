// Vehicle reports in the database.
import { Failure, JsonText } from '../../http/envelope.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { Database } from '../../postgres/database.ts'
import { JsonStatement, type Parameter, type TextRow } from '../../postgres/json-statement.ts'
import type { Actor } from '../../postgres/identity-settings.ts'
import { cursorText, type ReportCursor } from './report-cursor.ts'

/** `schemas/create-report-dto.json`. */
export type CreateReportDto = {
  readonly manufacturer: string
  readonly model: string
  readonly year: number
  readonly mileage: number
  readonly price: number
  readonly lat: number
  readonly lng: number
}

/** `schemas/update-report-dto.json`: at least one of the fields. */
export type UpdateReportDto = Partial<CreateReportDto>

/** `schemas/estimate-query.json`. */
export type EstimateQuery = Omit<CreateReportDto, 'price'>

export type Reports = {
  /** Stores a report of the caller. */
  readonly create: (caller: Actor, dto: CreateReportDto) => Promise<object>
  /** A page of the caller's reports, newest first, without their valuations. */
  readonly list: (caller: Actor, limit: number, after: ReportCursor | undefined) => Promise<ReportPage>
  /** A page of all users' pending reports, oldest first. For administrators only. */
  readonly pending: (caller: Actor, limit: number, after: ReportCursor | undefined) => Promise<ReportPage>
  readonly find: (caller: Actor, id: string) => Promise<object>
  readonly change: (caller: Actor, id: string, dto: UpdateReportDto) => Promise<object>
  readonly remove: (caller: Actor, id: string) => Promise<void>
  readonly review: (caller: Actor, id: string, approved: boolean) => Promise<object>
  /** The valuation of a vehicle, see `schemas/valuation.json`. */
  readonly estimate: (caller: Actor, vehicle: EstimateQuery) => Promise<object>
}

export type ReportPage = { readonly reports: JsonText; readonly next: string | null }

const columns = ['manufacturer', 'model', 'year', 'mileage', 'price', 'lat', 'lng'] as const

/** `schemas/report-dto.json`. The database builds the JSON, so that numeric columns are JSON numbers. */
const dtoFields: readonly (readonly [key: string, column: string])[] = [
  ['id', 'id'],
  ...columns.map((name) => [name, name] as const),
  ['userId', 'user_id'],
  ['status', 'status'],
  ['createdAt', 'created_at'],
  ['updatedAt', 'updated_at'],
]
const dtoArguments = dtoFields.map(([key, column]) => `'${key}', report.${column}`).join(', ')
const plain = `json_build_object(${dtoArguments}) as report`
const valued = `json_build_object(${dtoArguments}, 'valuation', public.valuation(report)) as report`

/** The owner is the caller, by the default of the column `user_id`. */
const insert = `
  insert into public.reports as report (${columns.join(', ')})
  values (${columns.map((_, index) => `$${index + 1}`).join(', ')})
  returning ${valued}`

/** Written by `row_to_json`, because its text is sent as it is: without blanks, and with the price as a plain number. */
const listedDto = dtoFields
  .map(([key, column]) => `report.${column}${column === 'price' ? '::float8' : ''} as "${key}"`)
  .join(', ')

/** Filters by owner, as the policies do, so that the index on owner and time is used whatever the policies are. */
const page = (after: boolean): string => `
  select row_to_json(dto)
  from (
    select ${listedDto}
    from public.reports report
    where user_id = (select auth.uid()) ${after ? 'and (created_at, id) < ($2::timestamptz, $3::uuid)' : ''}
    order by report.created_at desc, id desc
    limit $1
  ) as dto`
const firstPage = page(false)
const laterPage = page(true)

/** In the order of the function, which only administrators may call. */
const pendingPage = `
  select row_to_json(dto)
  from (
    select ${listedDto} from rowhouse.pending_reports($1, $2, $3) report order by report.created_at, report.id
  ) as dto`

const own = 'from public.reports report where id = $1 and user_id = (select auth.uid())'

const missing = (cause?: unknown): Failure => new Failure(404, 'There is no such report', { cause })

const selectValued = `select ${valued} ${own}`
const deleteOwn = 'delete from public.reports where id = $1 and user_id = (select auth.uid()) returning to_json(id)'
const selectReviewed = `select ${plain} from public.review_report($1, $2) report`
const selectEstimate = 'select public.estimate_report($1, $2, $3, $4, $5, $6)'

export type ReportsSettings = {
  readonly database: Pick<Database, 'ask' | 'askRows' | 'transaction'>
  /** Whether a relation is known to call no volatile function when it is read, in its policies neither. */
  readonly isStable: (schema: string, name: string) => boolean
}

/**
 * The reports of a database. Each call runs in a transaction that acts for the caller, in one round trip except
 * `change`.
 *
 * @throws Failure 404 for a report that the caller cannot see; 403 when policies or privileges do not allow it; 409
 *   when the profile of the caller was deleted, or when the report to change is already reviewed
 */
export function createReports({ database, isStable }: ReportsSettings): Reports {
  const write = (text: string): JsonStatement => new JsonStatement(text, { access: 'write' })
  // They are repeated only where nothing can have an effect: policies that a database adds may have one.
  const read = (text: string, hasNoEffect: boolean | (() => boolean) = false): JsonStatement =>
    new JsonStatement(text, { access: 'read', hasNoEffect })
  const areStable = (): boolean => isStable('public', 'reports')
  const statements = {
    create: write(insert),
    firstPage: read(firstPage, areStable),
    laterPage: read(laterPage, areStable),
    pendingPage: read(pendingPage),
    find: read(selectValued),
    remove: write(deleteOwn),
    review: write(selectReviewed),
    estimate: read(selectEstimate),
  }
  const rows = (caller: Actor, statement: JsonStatement, values: readonly Parameter[]): Promise<TextRow[]> =>
    withFailures(() => database.askRows(statement, caller, values))
  const one = async (caller: Actor, statement: JsonStatement, values: readonly Parameter[]): Promise<object> => {
    const [row] = await withFailures(() => database.ask(statement, caller, values))
    if (row === undefined) throw missing()
    return row as object
  }
  return {
    create: (caller, dto) =>
      one(
        caller,
        statements.create,
        columns.map((name) => dto[name]),
      ),
    list: async (caller, limit, after) =>
      pageOf(
        after
          ? await rows(caller, statements.laterPage, [limit + 1, after.createdAt, after.id])
          : await rows(caller, statements.firstPage, [limit + 1]),
        limit,
      ),
    pending: async (caller, limit, after) =>
      pageOf(
        await rows(caller, statements.pendingPage, [limit + 1, after?.createdAt ?? null, after?.id ?? null]),
        limit,
      ),
    find: (caller, id) => one(caller, statements.find, [id]),
    change: (caller, id, dto) => withFailures(() => change(database, caller, id, dto)),
    remove: async (caller, id) => {
      await one(caller, statements.remove, [id])
    },
    review: (caller, id, approved) => one(caller, statements.review, [id, approved]),
    estimate: (caller, { manufacturer, model, year, mileage, lat, lng }) =>
      one(caller, statements.estimate, [manufacturer, model, year, mileage, lat, lng]),
  }
}

/** Changes a pending report. When that fails, a second statement finds the reason. */
function change(
  database: Pick<Database, 'transaction'>,
  caller: Actor,
  id: string,
  dto: UpdateReportDto,
): Promise<object> {
  const names = columns.filter((name) => dto[name] !== undefined)
  return database.transaction(caller, async (query) => {
    const [row] = await query(
      `update public.reports report set ${names.map((name, index) => `${name} = $${index + 2}`).join(', ')}
       where id = $1 and user_id = (select auth.uid()) and status = 'pending' returning ${valued}`,
      [id, ...names.map((name) => dto[name])],
    )
    if (row) return row.report as object
    const [reviewed] = await query(`select status ${own}`, [id])
    if (!reviewed) throw missing()
    throw new Failure(409, `This report is ${String(reviewed.status)}: only a pending one can be changed`)
  })
}

async function withFailures<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    throw failureOf(error) ?? error
  }
}

/** The page of `found`, which has one row more than `limit` if there is a next page. */
function pageOf(found: readonly TextRow[], limit: number): ReportPage {
  const reports = found.slice(0, limit).map(([report]) => report)
  const last = found.length > limit ? reports.at(-1) : undefined
  return {
    reports: new JsonText(`[${reports.join(',')}]`),
    next: last ? cursorText(JSON.parse(last) as ReportCursor) : null,
  }
}

function failureOf(error: unknown): Failure | undefined {
  switch (sqlState(error)) {
    case '23503':
      return new Failure(409, 'Your profile was deleted: sign in again to get a new one', { cause: error })
    case '23514':
      return new Failure(400, 'The database does not accept these values', { cause: error })
    case '42501':
      return new Failure(403, 'You may not do this', { cause: error })
    case 'PT404':
      return missing(error)
    default:
      return undefined
  }
}
