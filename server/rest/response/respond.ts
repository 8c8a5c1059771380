// Builds status, headers and body of the responses to reads, writes and calls.
import type { RestSettings } from '../settings.ts'
import { returnsVoid } from '../../catalogue/routine.ts'
import { errorBody, errors } from '../errors.ts'
import { contentTypeOf } from '../media-type.ts'
import type { CrudPlan, InspectPlan } from '../plan/plan.ts'
import type { RequestInput, RequestShape } from '../request/api-request.ts'
import { appliedPreferences } from './applied-preferences.ts'
import { HeaderList, queryText } from './header.ts'
import { override } from './override.ts'
import { contentRange, cursorRange, rangeResult } from './range.ts'
import type { Body, RestResponse, ResultRow } from './result.ts'

export type ResponseShape = Pick<
  RequestShape,
  'preferences' | 'onConflict' | 'topLevelRange' | 'schema' | 'negotiatedByProfile'
>
/** The part of the request that affects its response. */
export type ResponseRequest = { readonly shape: ResponseShape; readonly input: Pick<RequestInput, 'canonicalQuery'> }
export type ResponseSettings = Pick<RestSettings, 'clientErrorVerbosity'>

/**
 * Maximum length of `Content-Location`, which repeats the URL. Longer URLs have none, because clients limit the size of
 * headers: Node's fetch fails above 16 KiB in total.
 */
const longestLocation = 2048

type StatusAndBody = { readonly status: number; readonly body: Body }
type MutatePlan = CrudPlan & { kind: 'mutate' }

function addProfile(list: HeaderList, { schema, negotiatedByProfile }: ResponseShape): void {
  if (negotiatedByProfile) list.add('Content-Profile', schema)
}

function addContentType(list: HeaderList, { mediaType }: CrudPlan, shape: ResponseShape): void {
  list.add('Content-Type', contentTypeOf(mediaType))
  addProfile(list, shape)
}

function addApplied(list: HeaderList, plan: CrudPlan, shape: ResponseShape): void {
  const applied = appliedPreferences(plan, shape)
  if (applied !== undefined) list.add('Preference-Applied', applied)
}

const countedTotal = ({ preferences: { count } }: ResponseShape, { queryTotal }: ResultRow): number | null =>
  count === 'exact' || count === 'estimated' ? queryTotal : null

/** Status and `Content-Range` of a read or a call. */
const rowRange = ({ page }: CrudPlan, { queryTotal, tableTotal }: ResultRow, { topLevelRange }: ResponseShape) =>
  page?.cursor ? cursorRange(queryTotal, tableTotal) : rangeResult(topLevelRange, queryTotal, tableTotal)

/** The rows, or an error if the offset is beyond them. */
function rangeBody(status: number, row: ResultRow, shape: ResponseShape, settings: ResponseSettings) {
  if (status !== 416) return row.body
  const offset = String(shape.topLevelRange.offset)
  const error = errors.rangeNotSatisfiable({ offset, total: String(row.tableTotal ?? 0) })
  return errorBody(error, settings.clientErrorVerbosity)
}

function respondToRead(
  plan: CrudPlan & { kind: 'read' },
  row: ResultRow,
  { shape, input }: ResponseRequest,
  settings: ResponseSettings,
  basePath: string,
  list: HeaderList,
): StatusAndBody {
  const { status, range } = rowRange(plan, row, shape)
  const body = rangeBody(status, row, shape, settings)
  const query = input.canonicalQuery === '' ? '' : `?${input.canonicalQuery}`
  list.add('Content-Range', range)
  const location = `${basePath}/${plan.relation.name}${query}`
  if (location.length <= longestLocation) list.add('Content-Location', location)
  if (!plan.headersOnly) list.addLength(body)
  addContentType(list, plan, shape)
  addApplied(list, plan, shape)
  return { status, body: plan.headersOnly ? '' : body }
}

function respondToCreate(
  plan: MutatePlan,
  row: ResultRow,
  shape: ResponseShape,
  basePath: string,
  list: HeaderList,
): StatusAndBody {
  const { resolution, representation } = shape.preferences
  const isFull = representation === 'representation'
  const body = isFull ? row.body : ''
  list.addLength(body)
  if (row.location.length > 0) {
    const pairs = row.location.map(([key, value]) => `${queryText(key)}=${queryText(value)}`)
    list.add('Location', `${basePath}/${plan.relation.name}?${pairs.join('&')}`)
  }
  list.add('Content-Range', contentRange(1, 0, countedTotal(shape, row)))
  addApplied(list, plan, shape)
  if (isFull) addContentType(list, plan, shape)
  const onlyUpdated = row.inserted === null || (row.inserted <= 0 && resolution === 'merge-duplicates')
  return { status: onlyUpdated ? 200 : 201, body }
}

/** Responds with the written rows if they were requested, otherwise with 204. */
function respondWithRows(
  status: number,
  plan: MutatePlan,
  { body }: ResultRow,
  shape: ResponseShape,
  list: HeaderList,
): StatusAndBody {
  addApplied(list, plan, shape)
  if (shape.preferences.representation !== 'representation') return { status: 204, body: '' }
  list.addLength(body)
  addContentType(list, plan, shape)
  return { status, body }
}

function respondToMutation(
  plan: MutatePlan,
  row: ResultRow,
  shape: ResponseShape,
  basePath: string,
  list: HeaderList,
): StatusAndBody {
  switch (plan.mutation) {
    case 'create':
      return respondToCreate(plan, row, shape, basePath, list)
    case 'update':
      list.add('Content-Range', contentRange(0, row.queryTotal - 1, countedTotal(shape, row)))
      return respondWithRows(200, plan, row, shape, list)
    case 'single-upsert':
      return respondWithRows((row.inserted ?? 0) > 0 ? 201 : 200, plan, row, shape, list)
    case 'delete':
      list.add('Content-Range', contentRange(1, 0, countedTotal(shape, row)))
      return respondWithRows(200, plan, row, shape, list)
    default:
      return plan.mutation satisfies never
  }
}

function respondToCall(
  plan: CrudPlan & { kind: 'call' },
  row: ResultRow,
  shape: ResponseShape,
  settings: ResponseSettings,
  list: HeaderList,
): StatusAndBody {
  const { status, range } = rowRange(plan, row, shape)
  list.add('Content-Range', range)
  addApplied(list, plan, shape)
  if (returnsVoid(plan.routine)) return { status: 204, body: '' }
  const body = rangeBody(status, row, shape, settings)
  const isHead = plan.method === 'head'
  if (!isHead) list.addLength(body)
  addContentType(list, plan, shape)
  return { status, body: isHead ? '' : body }
}

function respondToPlan(
  plan: CrudPlan,
  row: ResultRow,
  request: ResponseRequest,
  settings: ResponseSettings,
  basePath: string,
  list: HeaderList,
): StatusAndBody {
  switch (plan.kind) {
    case 'read':
      return respondToRead(plan, row, request, settings, basePath, list)
    case 'mutate':
      return respondToMutation(plan, row, request.shape, basePath, list)
    case 'call':
      return respondToCall(plan, row, request.shape, settings, list)
    default:
      return plan satisfies never
  }
}

/**
 * Builds the response from the result of a plan.
 *
 * @param row for an explained plan, its body is the result of `explainBody`
 * @param basePath mount path without a slash at its end
 * @throws ApiError PGRST111 and PGRST112 when the database has set invalid headers or an invalid status
 */
export function respond(
  plan: CrudPlan,
  row: ResultRow,
  request: ResponseRequest,
  settings: ResponseSettings,
  basePath: string,
): RestResponse {
  const list = new HeaderList()
  if (plan.explain) {
    list.addLength(row.body)
    addContentType(list, plan, request.shape)
    return { status: 200, headers: list.headers, body: row.body }
  }
  const { status, body } = respondToPlan(plan, row, request, settings, basePath, list)
  if (row.statusSetting === null && row.headersSetting === null) return { status, headers: list.headers, body }
  const final = override(row, status, list)
  return { ...final, headers: list.headers, body }
}

/** The response to a request for the description of a schema. */
export function respondInspect(plan: InspectPlan, document: string, shape: ResponseShape): RestResponse {
  const list = new HeaderList()
  list.add('Content-Type', contentTypeOf({ kind: 'openapi' }))
  if (!plan.headersOnly) list.addLength(document)
  addProfile(list, shape)
  return { status: 200, headers: list.headers, body: plan.headersOnly ? '' : document }
}
