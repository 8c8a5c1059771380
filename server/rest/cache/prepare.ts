// Turns an HTTP request into a plan with its statement, or into the error that rejects it: by parsing and planning, or
// from the plan cache.
import { ApiError, errorBody } from '../errors.ts'
import { addressedBy, firstOf, type PrepareContext, type Prepared } from '../extension.ts'
import { checkPayload } from '../request/payload-check.ts'
import { bind, BoundRows, isCacheable, sourcesOf, type KnownShape, type PreparedShape } from './plan-cache.ts'
import { insteadRows, onlyRows, type PlannedRows } from './plan-rows.ts'
import { hasNoEffect, keepsSession } from '../plan/effect.ts'
import { planRequest } from '../plan/planner.ts'
import type { PlanSettings } from '../plan/plan-context.ts'
import type { RoleColumns } from '../extensions/readable-columns/starred.ts'
import type { ActionPlan, CrudPlan } from '../plan/plan.ts'
import type { ApiRequest, HttpRequest, PlannedRequest } from '../request/api-request.ts'
import { largeBody } from '../request/body.ts'
import { parseApiRequest, parseRequestHead, type RequestHead } from '../request/parse-api-request.ts'
import { parsePayload } from '../request/payload.ts'
import { type Payload } from '../request/api-request.ts'
import { conditionsOf } from '../request/headers.ts'
import type { PageCursor, ScopedCursor } from '../extensions/keyset-pages/page-cursor.ts'
import { copied } from '../request/remembered.ts'
import { keyPart, partKind } from '../request/shape-key.ts'
import { bodyMarker, shapeKey, valuesOf, withMarkers, type MarkedParams } from './request-values.ts'
import { render, type Statement } from '../sql/fragment.ts'
import { isObject } from '../sql/payload.ts'
import { mainStatement, needsPlannedCount } from '../sql/statement.ts'

/** Called between parsing and planning, to measure the stages. */
type OnParsed = () => void

/**
 * Parses, checks and plans a request, and writes its statement. Errors of the request are returned, because throwing
 * costs more than looking up a cached rejection.
 *
 * @param readableColumns the columns that the role may read, if `*` depends on them
 */
export function prepare(
  http: HttpRequest,
  given: Omit<PrepareContext, 'readableColumns'>,
  onParsed: OnParsed,
  readableColumns?: RoleColumns,
): Prepared | ApiError {
  const context: PrepareContext = readableColumns ? { ...given, readableColumns } : given
  const { plans, cursors, config } = context.snapshot
  if (context.extensions.address.some(({ has }) => has(http.path)))
    return catchApiError(() => prepareUncached(http, context, onParsed))
  const head = catchApiError(() => parseRequestHead(http, config, context.extensions.parameter))
  if (head instanceof ApiError) return head
  const uncached = (): Prepared | ApiError => catchApiError(() => prepareUncached(http, context, onParsed, head))
  // A body that does not fit its cached shape is parsed twice. For a large body that takes longer than planning.
  const isLarge = http.payload !== undefined || http.body.length > largeBody
  if (!plans.isOn || http.query.length > longestQuery || isLarge) return uncached()
  const paging = context.extensions.paging[0]
  const cursor = cursors && paging?.cursorOf(head.queryParams, cursors)
  const ofRequest = shapeKey(http, head.queryParams, cursor)
  if (ofRequest === undefined) return uncached()
  const key = readableColumns?.key ? ofRequest + keyPart(partKind.columns, readableColumns.key) : ofRequest
  if (!isCacheable(key)) return uncached()
  const opened = typeof cursor === 'string' ? undefined : cursor
  const known = plans.get(key)
  if (known === undefined) {
    const prepared = uncached()
    // If the body may be the reason for a rejection, other requests of the same shape may succeed. The same applies
    // to a cursor, which may be of another request, and to related rows.
    const mayBeOfValue =
      prepared instanceof ApiError ? http.body.length > 0 || opened !== undefined : prepared.nested !== undefined
    if (mayBeOfValue || !plans.seenBefore(key)) return prepared
    const shape = knownShape(http, head, opened, prepared, context)
    plans.add(key, shape)
    return withStats(prepared, shape)
  }
  if (known === 'uncacheable') return uncached()
  if (known instanceof ApiError) return known
  return catchApiError(() => fromShape(http, head, opened, known, context, onParsed)) ?? uncached()
}

/** Maximum length of the query string of a request that may be cached. */
const longestQuery = 2048

/** Prepares a read that returns no version of a row, without the plan cache. */
export function prepareWithoutVersion(http: HttpRequest, context: PrepareContext): Prepared | ApiError {
  const { snapshot } = context
  const config = { ...snapshot.config, readsVersions: false }
  return catchApiError(() => prepareUncached(http, { ...context, snapshot: { ...snapshot, config } }, () => undefined))
}

/** Adds the statistics of a shape to the request that it was made from. */
function withStats(prepared: Prepared | ApiError, shape: KnownShape): Prepared | ApiError {
  if (prepared instanceof ApiError || shape instanceof ApiError || shape === 'uncacheable') return prepared
  return prepared.main?.text === shape.text ? { ...prepared, stats: shape.stats } : prepared
}

function catchApiError<T>(run: () => T): T | ApiError {
  try {
    return run()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Creates the cache entry for a request that was just prepared or rejected. */
function knownShape(
  http: HttpRequest,
  head: RequestHead,
  cursor: PageCursor | undefined,
  prepared: Prepared | ApiError,
  context: PrepareContext,
): KnownShape {
  const marked = withMarkers(head.queryParams, cursor)
  const template: HttpRequest = { ...http, path: copied(http.path) }
  const markedHead = { ...head, action: structuredClone(head.action), queryParams: marked.params }
  if (!(prepared instanceof ApiError)) return prepareShape(template, markedHead, marked, prepared, context)
  const rejection = catchApiError(() => prepareUncached(template, context, () => undefined, markedHead))
  return rejection instanceof ApiError && isSame(rejection, prepared) ? rejection : 'uncacheable'
}

const isSame = (one: ApiError, other: ApiError): boolean =>
  one.status === other.status && errorBody(one, 'verbose') === errorBody(other, 'verbose')

function prepareUncached(
  http: HttpRequest,
  context: PrepareContext,
  onParsed: OnParsed,
  given?: RequestHead,
): Prepared {
  const { snapshot, schemaCache: cache, extensions, validator } = context
  const { config } = snapshot
  const addressed = addressedBy(http, extensions)
  addressed?.require(config, cache)
  const asked = addressed?.http ?? http
  const head = given ?? parseRequestHead(asked, config, extensions.parameter)
  const { request: parsed, ...read } = parseApiRequest(asked, config, head, cache)
  let request = addressed?.complete(parsed, cache) ?? parsed
  for (const change of extensions.request) request = change(request, http, context)
  onParsed()
  const settings = planSettings(context)
  const prepared = firstOf(extensions.prepare, request, settings, context)
  if (prepared) return prepared
  checkPayload(request, read, validator)
  const planned = planRequest(request, cache, settings, extensions)
  const plan = addressed?.completePlan(planned) ?? planned
  const known = { request, plan, hasNoEffect: hasNoEffect(plan, cache), keepsSession: keepsSession(plan, cache) }
  if (!isCrud(plan)) return { ...known, main: undefined }
  const { main, rows } = statementsOf(plan, request, context)
  return { ...known, main, rows: rows && { plan: rows.rows, values: rows.statement.values, isGivenUp: false } }
}

/** The main statement of a plan, and the rows that it returns, or that may run in its place. */
function statementsOf(
  plan: CrudPlan,
  request: PlannedRequest,
  context: PrepareContext,
): { readonly main: Statement; readonly rows: PlannedRows | undefined } {
  const only = onlyRows(plan, request, context)
  if (only) return { main: only.statement, rows: only }
  const main = render(mainStatement(plan, request.shape, context.snapshot.config))
  return { main, rows: insteadRows(plan, request, context) }
}

const planSettings = ({ snapshot, readableColumns }: PrepareContext): PlanSettings =>
  readableColumns ? { ...snapshot.config, readableColumns } : snapshot.config

const isCrud = (plan: ActionPlan): plan is CrudPlan =>
  plan.kind === 'read' || plan.kind === 'mutate' || plan.kind === 'call'

/** Whether a body is JSON text, which is one parameter of the statement. */
const isText = (payload: Payload | undefined): payload is Extract<Payload, { kind: 'json' | 'raw-json' }> =>
  payload?.kind === 'json' || payload?.kind === 'raw-json'

/**
 * Prepares the shape of a request that was just prepared.
 *
 * @param head that of the request with markers in place of its values
 */
function prepareShape(
  http: HttpRequest,
  head: RequestHead,
  { params, cursor }: MarkedParams,
  { request, plan }: Prepared,
  context: PrepareContext,
): PreparedShape | 'uncacheable' {
  const { snapshot, schemaCache: cache, extensions } = context
  const { payload, page } = request.input
  const isRepeatable =
    isCrud(plan) &&
    // The function may have a parameter `cursor`, whose argument is what was split as a cursor.
    (cursor === undefined || page !== undefined) &&
    !plan.explain &&
    plan.isStreamed !== true &&
    !needsPlannedCount(plan, request.shape) &&
    !(plan.kind === 'mutate' && plan.mutation === 'single-upsert') &&
    (payload === undefined || isText(payload))
  if (!isRepeatable) return 'uncacheable'
  const body = payload && { kind: payload.kind, isObject: isObject(payload.text) }
  const markers = valuesOf(params, cursor)
  const markedBody = body && (body.isObject ? '{' : '') + bodyMarker
  const { request: parsed } = parseApiRequest(http, snapshot.config, head)
  const bodied: ApiRequest =
    payload && markedBody !== undefined
      ? { ...parsed, input: { ...parsed.input, payload: { ...payload, text: markedBody } } }
      : parsed
  const marked = (page && extensions.paging[0]?.withPage(bodied, { ...page, cursor })) ?? bodied
  const shapePlan = planRequest(marked, cache, planSettings(context), extensions)
  if (!isCrud(shapePlan)) return 'uncacheable'
  const { main, rows } = statementsOf(shapePlan, marked, context)
  const sources = sourcesOf(main, markers, markedBody)
  if (!sources) return 'uncacheable'
  const { text } = main
  const sourcesOfRows = rows && sourcesOf(rows.statement, markers, markedBody)
  return {
    rows: rows && sourcesOfRows && { plan: rows.rows, sources: sourcesOfRows },
    // The planner has already rejected or ignored unknown preferences.
    shape: { ...parsed.shape, preferences: { ...parsed.shape.preferences, invalid: [] } },
    body,
    plan: shapePlan,
    hasNoEffect: hasNoEffect(shapePlan, cache),
    keepsSession: keepsSession(shapePlan, cache),
    text,
    sources,
    stats: snapshot.plans.statsOf(text),
  }
}

/** Prepares a request from its cached shape; undefined when its body does not fit. */
function fromShape(
  http: HttpRequest,
  { headers: received, queryParams }: RequestHead,
  cursor: ScopedCursor | undefined,
  known: PreparedShape,
  { extensions, validator, schemaCache: cache }: PrepareContext,
  onParsed: OnParsed,
): Prepared | undefined {
  const { shape, body, plan, hasNoEffect, keepsSession, stats } = known
  const { contentType, namedColumns, action } = shape
  const { payload, columns, value } = parsePayload(http.body, contentType, namedColumns, action, cache)
  if (!fits(payload, columns, known)) return undefined
  const { others: headers, cookies } = received
  const { canonical: canonicalQuery } = queryParams
  const page = plan.page && extensions.paging[0]?.pageInput(shape, http.query, cursor)
  const conditions = conditionsOf(received)
  const request: PlannedRequest = {
    shape,
    input: { headers, cookies, payload, canonicalQuery, conditions, ...(page && { page }) },
  }
  onParsed()
  checkPayload(request, { value }, validator)
  const text = body && isText(payload) ? payload.text : null
  const values = valuesOf(queryParams, cursor)
  const main = { text: known.text, values: bind(known.sources, values, text) }
  const rows = known.rows && new BoundRows(known.rows, values, text)
  return { request, plan, hasNoEffect, keepsSession, main, stats, rows }
}

/** Whether a body has the same columns as the shape, and is an object or an array like the body of the shape. */
function fits(payload: Payload | undefined, columns: readonly string[], { body, shape }: PreparedShape): boolean {
  if (body === undefined || !isText(payload)) return body === undefined && payload === undefined
  return (
    payload.kind === body.kind &&
    isObject(payload.text) === body.isObject &&
    columns.length === shape.columns.length &&
    columns.every((name, index) => name === shape.columns[index])
  )
}
