// Answers a request with rows that are streamed one by one: the memory of server and database does not depend on their
// number. A response that turns out to be small is the same as one that is not streamed.
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'
import type { Caller, PipelineStatement, TransactionResult } from '../../database.ts'
import { errors } from '../../errors.ts'
import { beginsEarly, type RowPlan } from './streamable.ts'
import type { PlannedRequest } from '../../request/api-request.ts'
import type { Header } from '../../response/header.ts'
import { rangeResult } from '../../response/range.ts'
import type { RestResponse, ResultRow } from '../../response/result.ts'
import { plannedRows, tableTotal } from '../../response/total.ts'
import type { RestSettings } from '../../settings.ts'
import { TracelessError } from '../../../common/traceless-error.ts'
import { render } from '../../sql/fragment.ts'
import { StreamedRows } from '../../encode/streamed-rows.ts'
import type { RefusedRows } from './refused-rows.ts'
import { headerStatement, isSetOfScalar, rowStatement, settingsAfterwards, type RowsAs } from './row-stream-sql.ts'
import { explainCountStatement, needsPlannedCount } from '../../sql/statement.ts'
import { chooseEncoding, type ContentEncoding } from './content-encoding.ts'
import type { ExportSlots } from './export-slots.ts'
import type { LeadingFields } from './leading-fields.ts'
import { FirstField } from './first-field.ts'
import { RowBody } from './row-body.ts'

export type RowStreamContext = {
  readonly config: RestSettings
  readonly slots: ExportSlots
  readonly refused: RefusedRows
  readonly schemaCache: SchemaCache
  /** Whether the statement may run twice. */
  readonly hasNoEffect: boolean
  /** Who waits for the response. */
  readonly caller: Caller
  /** Runs statements in the transaction of the request. */
  readonly run: (
    statements: readonly PipelineStatement[],
    receiver: RowBody,
  ) => Promise<Pick<TransactionResult, 'rows'>>
  readonly respond: (row: ResultRow) => RestResponse
}

/**
 * Runs a plan and streams its rows. Resolves when all rows have arrived, or as soon as there are too many to be kept.
 *
 * @throws ApiError PGRSTX60 when too many responses are being streamed; errors of the database before the first byte
 */
export async function streamRows(
  plan: RowPlan,
  request: PlannedRequest,
  context: RowStreamContext,
): Promise<RestResponse> {
  const { refused, schemaCache, hasNoEffect } = context
  if (plan.handler.kind === 'csv') return streamRowsAs('columns', plan, request, context)
  const { text } = render(rowStatement(plan, request.shape, context.config, 'columns'))
  // What has an effect must not run again when the types of its columns turn out to be unknown.
  if (!hasNoEffect || refused.has(schemaCache, text)) return streamRowsAs('json', plan, request, context)
  try {
    return await streamRowsAs('columns', plan, request, context)
  } catch (error) {
    if (!(error instanceof NotEncoded)) throw error
    refused.add(schemaCache, text)
    return streamRowsAs('json', plan, request, context)
  }
}

/** The rows have columns of types that only Postgres can write as JSON. Nothing was sent. */
class NotEncoded extends TracelessError {}

async function streamRowsAs(
  as: RowsAs,
  plan: RowPlan,
  request: PlannedRequest,
  context: RowStreamContext,
): Promise<RestResponse> {
  const { config, slots, caller, schemaCache, run, respond } = context
  const { shape } = request
  const format = plan.handler.kind
  const header = headerStatement(plan)
  const columns = { format, isScalar: as === 'json' || isSetOfScalar(plan) }
  const body = new RowBody(
    format,
    beginsEarly(plan, shape),
    caller,
    (described, pass) => StreamedRows.of(columns, described, schemaCache.textTypes, pass),
    header && render(header).text,
  )
  const explained = needsPlannedCount(plan, shape) ? new FirstField() : undefined
  const statements: PipelineStatement[] = [
    { ...render(rowStatement(plan, shape, config, as)), isUnprepared: true, receiver: body },
    { text: settingsAfterwards, values: [], isUnprepared: true },
  ]
  if (explained) {
    statements.unshift({ ...render(explainCountStatement(plan.read)), isUnprepared: true, receiver: explained })
  }
  const done = run(statements, body)
  const outcome = await Promise.race([done, body.opened]).catch((error: unknown) => {
    body.drop()
    throw body.isRefused ? new NotEncoded('the rows cannot be encoded', undefined) : error
  })
  const total = totalOf(plan, body, explained, request, config)
  if (outcome !== 'opened') {
    const [headers, status] = outcome.rows.at(-1)?.[0] ?? []
    const row = resultRow(total, body.rows, body.whole(), {
      headersSetting: headers?.toString() ?? null,
      statusSetting: status?.toString() ?? null,
    })
    body.drop()
    return respond(row)
  }
  done.then(
    () => body.end(),
    (error: unknown) => body.fail(error instanceof Error ? error : new Error(String(error))),
  )
  const free = slots.take(config.restExportLimit)
  if (!free) {
    body.drop()
    throw errors.tooManyExports(config.restExportLimit)
  }
  body.onEnd(free)
  try {
    const response = begun(plan, request, body, total, context)
    // The client has the representation whose tag the database has set.
    if (response.body !== body) body.drop()
    return response
  } catch (error) {
    body.drop()
    throw error
  }
}

const resultRow = (
  total: number | null,
  rows: number,
  body: Buffer | RowBody,
  set: Pick<LeadingFields, 'headersSetting' | 'statusSetting'> | undefined,
): ResultRow => ({
  tableTotal: total,
  queryTotal: rows,
  location: [],
  body,
  headersSetting: set?.headersSetting ?? null,
  statusSetting: set?.statusSetting ?? null,
  inserted: 0,
  version: undefined,
})

/** The total number of rows, if it was requested. */
function totalOf(
  plan: RowPlan,
  { first }: RowBody,
  explained: FirstField | undefined,
  { shape }: PlannedRequest,
  { dbMaxRows }: RestSettings,
): number | null {
  const counted = first?.total ?? null
  // The rows of a function are always counted.
  if (plan.kind === 'call') return counted
  return tableTotal(shape.preferences.count, counted, plannedRows(explained?.value ?? 'null'), dbMaxRows)
}

/** The response whose rows still arrive. Its headers are those of a complete response, as far as they are known. */
function begun(
  plan: RowPlan,
  request: PlannedRequest,
  body: RowBody,
  total: number | null,
  { config, respond }: RowStreamContext,
): RestResponse {
  const { count } = request.shape.preferences
  const { offset, limit } = plan.read.range
  const most = limit === null ? Infinity : Number(limit)
  // Without any number, one will do: it does not get into the response.
  const known = body.first?.page ?? null
  const page = known ?? (total === null ? 1 : Math.min(Math.max(total - Number(offset), 1), most))
  const row = resultRow(total, page, body, body.first)
  const encoding = config.restExportCompression ? chooseEncoding(headerOf(request, 'accept-encoding')) : undefined
  body.encode(encoding)
  const response = respond(row)
  const { range } = rangeResult(request.shape.topLevelRange, page, total)
  // Otherwise, only an exact count tells how many rows will follow.
  const isKnown = known !== null || count === 'exact' || (count === 'estimated' && plan.kind === 'call')
  const headers = response.headers.map((header): Header =>
    !isKnown && header[0] === 'Content-Range' && header[1] === range
      ? ['Content-Range', `${offset}-*/${total ?? '*'}`]
      : header,
  )
  return config.restExportCompression
    ? { ...response, headers: encoded(headers, encoding), variesByEncoding: true }
    : { ...response, headers }
}

const headerOf = ({ input }: PlannedRequest, name: string): string | undefined => {
  const values = input.headers.filter(([other]) => other === name).map(([, value]) => value)
  return values.length === 0 ? undefined : values.join(', ')
}

/** The headers of a response that depends on `Accept-Encoding`. Extends a `Vary` that the database has set. */
function encoded(headers: readonly Header[], encoding: ContentEncoding | undefined): readonly Header[] {
  return [
    ...headers.map(([name, value]): Header => {
      const lowerCase = name.toLowerCase()
      if (lowerCase === 'vary' && value !== '*') return [name, `${value}, Accept-Encoding`]
      // The compressed bytes are another representation. RFC 9110, section 8.8.1
      if (lowerCase === 'etag' && encoding && !value.startsWith('W/')) return [name, `W/${value}`]
      return [name, value]
    }),
    ...(encoding ? [['Content-Encoding', encoding] as const] : []),
  ]
}
