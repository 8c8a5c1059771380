// Answers to reads, writes and calls: the plan and its row to status, headers and body.
import type { RestSettings } from '../settings.ts'
import { returnsVoid } from '../../schema-cache/routine.ts'
import { errorBody, errors } from '../errors.ts'
import { contentTypeOf } from '../media-type.ts'
import type { CrudPlan, InspectPlan } from '../plan/plan.ts'
import type { RequestInput, RequestShape } from '../request/api-request.ts'
import { appliedPreferences } from './applied-preferences.ts'
import { contentLength, headerText, isWritable, queryText } from './header.ts'
import type { Header, Headers } from './header.ts'
import { overridden } from './override.ts'
import { contentRange, rangeAnswer } from './range.ts'
import type { Body, RestResponse, ResultRow } from './result.ts'

export type ResponseShape = Pick<
  RequestShape,
  'preferences' | 'onConflict' | 'topLevelRange' | 'schema' | 'negotiatedByProfile'
>
/** What the response depends on beside plan and row. */
export type ResponseRequest = { readonly shape: ResponseShape; readonly input: Pick<RequestInput, 'canonicalQuery'> }
export type ResponseSettings = Pick<RestSettings, 'clientErrorVerbosity'>

type Answer = { readonly status: number; readonly headers: Headers; readonly body: Body }
type MutatePlan = CrudPlan & { kind: 'mutate' }

const profile = ({ schema, negotiatedByProfile }: ResponseShape): Headers =>
  negotiatedByProfile ? [['Content-Profile', schema]] : []

const contentType = ({ mediaType }: CrudPlan, shape: ResponseShape): Headers => [
  ['Content-Type', contentTypeOf(mediaType)],
  ...profile(shape),
]

const countedTotal = ({ preferences: { count } }: ResponseShape, { queryTotal }: ResultRow): number | null =>
  count === 'exact' || count === 'estimated' ? queryTotal : null

/** The body of rows read, or that of the error when the offset lies beyond them. */
function rangeBody(status: number, row: ResultRow, shape: ResponseShape, settings: ResponseSettings) {
  if (status !== 416) return row.body
  const offset = String(shape.topLevelRange.offset)
  const error = errors.rangeNotSatisfiable({ offset, total: String(row.tableTotal ?? 0) })
  return errorBody(error, settings.clientErrorVerbosity)
}

function readAnswer(
  plan: CrudPlan & { kind: 'read' },
  row: ResultRow,
  { shape, input }: ResponseRequest,
  settings: ResponseSettings,
  basePath: string,
): Answer {
  const { status, header } = rangeAnswer(shape.topLevelRange, row.queryTotal, row.tableTotal)
  const body = rangeBody(status, row, shape, settings)
  const location = `${basePath}/${plan.relation.name}${input.canonicalQuery === '' ? '' : `?${input.canonicalQuery}`}`
  const headers: Header[] = [header, ['Content-Location', location]]
  if (!plan.headersOnly) headers.push(contentLength(body))
  headers.push(...contentType(plan, shape), ...appliedPreferences(plan, shape))
  return { status, headers, body: plan.headersOnly ? '' : body }
}

function createAnswer(plan: MutatePlan, row: ResultRow, shape: ResponseShape, basePath: string): Answer {
  const { resolution, representation } = shape.preferences
  const isFull = representation === 'representation'
  const body = isFull ? row.body : ''
  const headers: Header[] = [contentLength(body)]
  if (row.location.length > 0) {
    const pairs = row.location.map(([key, value]) => `${queryText(key)}=${queryText(value)}`)
    headers.push(['Location', `${basePath}/${plan.relation.name}?${pairs.join('&')}`])
  }
  headers.push(contentRange(1, 0, countedTotal(shape, row)), ...appliedPreferences(plan, shape))
  if (isFull) headers.push(...contentType(plan, shape))
  const onlyUpdated = row.inserted === null || (row.inserted <= 0 && resolution === 'merge-duplicates')
  return { status: onlyUpdated ? 200 : 201, headers, body }
}

/** Answers with the rows written when they are asked for, with 204 otherwise. */
function writtenAnswer(
  status: number,
  headers: Headers,
  plan: MutatePlan,
  { body }: ResultRow,
  shape: ResponseShape,
): Answer {
  if (shape.preferences.representation !== 'representation') return { status: 204, headers, body: '' }
  return { status, headers: [...headers, contentLength(body), ...contentType(plan, shape)], body }
}

function mutateAnswer(plan: MutatePlan, row: ResultRow, shape: ResponseShape, basePath: string): Answer {
  const applied = appliedPreferences(plan, shape)
  switch (plan.mutation) {
    case 'create':
      return createAnswer(plan, row, shape, basePath)
    case 'update': {
      const range = contentRange(0, row.queryTotal - 1, countedTotal(shape, row))
      return writtenAnswer(200, [range, ...applied], plan, row, shape)
    }
    case 'single-upsert':
      return writtenAnswer((row.inserted ?? 0) > 0 ? 201 : 200, applied, plan, row, shape)
    case 'delete': {
      const range = contentRange(1, 0, countedTotal(shape, row))
      return writtenAnswer(200, [range, ...applied], plan, row, shape)
    }
    default:
      return plan.mutation satisfies never
  }
}

function callAnswer(
  plan: CrudPlan & { kind: 'call' },
  row: ResultRow,
  shape: ResponseShape,
  settings: ResponseSettings,
): Answer {
  const { status, header } = rangeAnswer(shape.topLevelRange, row.queryTotal, row.tableTotal)
  const headers: Header[] = [header, ...appliedPreferences(plan, shape)]
  if (returnsVoid(plan.routine)) return { status: 204, headers, body: '' }
  const body = rangeBody(status, row, shape, settings)
  const isHead = plan.method === 'head'
  if (!isHead) headers.push(contentLength(body))
  headers.push(...contentType(plan, shape))
  return { status, headers, body: isHead ? '' : body }
}

function answer(
  plan: CrudPlan,
  row: ResultRow,
  request: ResponseRequest,
  settings: ResponseSettings,
  basePath: string,
): Answer {
  switch (plan.kind) {
    case 'read':
      return readAnswer(plan, row, request, settings, basePath)
    case 'mutate':
      return mutateAnswer(plan, row, request.shape, basePath)
    case 'call':
      return callAnswer(plan, row, request.shape, settings)
    default:
      return plan satisfies never
  }
}

const writable = (headers: Headers): Headers =>
  headers.every(([, value]) => isWritable(value)) ? headers : headers.map(([name, value]) => [name, headerText(value)])

/**
 * The answer to a plan that was carried out. An explained plan has its lines as the row's body (see `explainBody`).
 * `basePath` is where the API is mounted, without a slash at its end. Errors: PGRST111 and PGRST112, when what the
 * database set for the answer cannot be read.
 */
export function respond(
  plan: CrudPlan,
  row: ResultRow,
  request: ResponseRequest,
  settings: ResponseSettings,
  basePath: string,
): RestResponse {
  if (plan.explain) {
    const headers = [contentLength(row.body), ...contentType(plan, request.shape)]
    return { status: 200, headers: writable(headers), body: row.body }
  }
  const { status, headers, body } = answer(plan, row, request, settings, basePath)
  if (row.statusSetting === null && row.headersSetting === null) return { status, headers: writable(headers), body }
  const final = overridden(row, status, headers)
  return { ...final, headers: writable(final.headers), body }
}

/** The answer to a request for the description of a schema. */
export function respondInspect(plan: InspectPlan, document: string, shape: ResponseShape): RestResponse {
  const headers: Header[] = [['Content-Type', contentTypeOf({ kind: 'openapi' })]]
  if (!plan.headersOnly) headers.push(contentLength(document))
  headers.push(...profile(shape))
  return { status: 200, headers: writable(headers), body: plan.headersOnly ? '' : document }
}
