// From an HTTP request to a plan and its statement, or to why it is refused: by parsing and planning, or from what is
// remembered of its shape.
import { RunHistory } from '../database/run-history.ts'
import type { Snapshot } from '../runtime.ts'
import type { SchemaCache } from '../schema-cache/schema-cache.ts'
import type { Validator } from '../validation/validator.ts'
import { planAddressed } from './addressed-row.ts'
import { ApiError, errorBody } from './errors.ts'
import { checkPayload } from './payload-check.ts'
import { bind, PlanCache, refuse, sourcesOf, type KnownShape, type PreparedShape } from './plan-cache.ts'
import { planRequest } from './plan/planner.ts'
import type { ActionPlan, CrudPlan } from './plan/plan.ts'
import type { ApiRequest, HttpRequest } from './request/api-request.ts'
import { parseApiRequest } from './request/parse-api-request.ts'
import { parsePayload, type Payload } from './request/payload.ts'
import { readHeaders } from './request/headers.ts'
import { canonicalQueryString, parseQueryString } from './request/query-string.ts'
import { addressRow, parseRowAddress, type RowAddress } from './request/row-address.ts'
import { marker, shapeOf, type RequestShape } from './request-shape.ts'
import { render, type Statement } from './sql/fragment.ts'
import { mainStatement, needsPlannedCount } from './sql/statement.ts'

export type PrepareContext = {
  readonly snapshot: Snapshot
  readonly cache: SchemaCache
  readonly validator: Validator
}

export type Prepared = {
  readonly request: ApiRequest
  readonly plan: ActionPlan
  /** The main statement of a plan that has one. */
  readonly main: Statement | undefined
  /** How the statement went before, once its shape is known. */
  readonly history?: RunHistory
  /** The request as it was before it was narrowed to a row that its path addresses. */
  readonly addressed: ApiRequest | undefined
}

/** Called between parsing and planning, for those who measure stages. */
type Lap = () => void

const caches = new WeakMap<Snapshot, PlanCache>()

function cacheOf(snapshot: Snapshot): PlanCache {
  let cache = caches.get(snapshot)
  if (!cache) caches.set(snapshot, (cache = new PlanCache()))
  return cache
}

/**
 * Parses, checks and plans a request, and writes its statement. What is wrong with it is returned: throwing would cost
 * more than all the rest of a refusal that is remembered.
 */
export function prepare(http: HttpRequest, context: PrepareContext, lap: Lap): Prepared | ApiError {
  const address = parseRowAddress(http)
  const shape = address ? undefined : shapeOf(http)
  const anew = (): Prepared | ApiError => orRefusal(() => prepareAnew(http, address, context, lap))
  if (!shape) return anew()
  const cache = cacheOf(context.snapshot)
  const known = cache.get(shape.key)
  if (known === undefined) {
    const prepared = anew()
    if (cache.meet(shape.key)) cache.add(shape.key, knownShape(http, shape, prepared, context))
    return prepared
  }
  if (known === 'unsuitable') return anew()
  if (known instanceof ApiError) return refuse(known, shape.values)
  return orRefusal(() => fromShape(http, shape.values, known, context, lap)) ?? anew()
}

function orRefusal<T>(run: () => T): T | ApiError {
  try {
    return run()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** What is to be known of the shape of a request that was prepared, or refused, just now. */
function knownShape(
  http: HttpRequest,
  { template, values }: RequestShape,
  prepared: Prepared | ApiError,
  context: PrepareContext,
): KnownShape {
  if (!(prepared instanceof ApiError)) return prepareShape(http, template, values.length, prepared, context)
  // A refusal for a body depends on more than the shape.
  if (http.body.length > 0) return 'unsuitable'
  const refusal = orRefusal(() => prepareAnew({ ...http, query: template }, undefined, context, () => undefined))
  return refusal instanceof ApiError && isSame(refuse(refusal, values), prepared) ? refusal : 'unsuitable'
}

const isSame = (one: ApiError, other: ApiError): boolean =>
  one.status === other.status && errorBody(one, 'verbose') === errorBody(other, 'verbose')

function prepareAnew(http: HttpRequest, address: RowAddress | undefined, context: PrepareContext, lap: Lap): Prepared {
  const { snapshot, cache, validator } = context
  const parsed = parseApiRequest(address?.http ?? http, snapshot.config)
  const request = address ? addressRow(parsed, address.id, cache) : parsed
  lap()
  checkPayload(request, validator)
  const planned = planRequest(request, cache, snapshot.config)
  const plan = address ? planAddressed(planned) : planned
  const main = isCrud(plan) ? render(mainStatement(plan, request, snapshot.config)) : undefined
  return { request, plan, main, addressed: address ? parsed : undefined }
}

const isCrud = (plan: ActionPlan): plan is CrudPlan =>
  plan.kind === 'read' || plan.kind === 'mutate' || plan.kind === 'call'

/** Bodies that go into the statement as one text, whose first character decides how they are read. */
const isText = (payload: Payload | undefined): payload is Extract<Payload, { kind: 'json' | 'raw-json' }> =>
  payload?.kind === 'json' || payload?.kind === 'raw-json'

const firstCharacter = (text: string): string => text.trimStart().charAt(0)

/** Plans the shape of a request that was prepared just now. */
function prepareShape(
  http: HttpRequest,
  template: string,
  count: number,
  { request, plan }: Prepared,
  { snapshot, cache }: PrepareContext,
): PreparedShape | 'unsuitable' {
  const { payload } = request
  const suits =
    isCrud(plan) &&
    !plan.explain &&
    !needsPlannedCount(plan, request) &&
    !(plan.kind === 'mutate' && plan.mutation === 'single-upsert') &&
    (payload === undefined || isText(payload))
  if (!suits) return 'unsuitable'
  const bodyMarker = payload && firstCharacter(payload.text) + marker(count)
  const parsed = parseApiRequest({ ...http, query: template }, snapshot.config)
  const marked: ApiRequest =
    payload && bodyMarker !== undefined ? { ...parsed, payload: { ...payload, text: bodyMarker } } : parsed
  const shapePlan = planRequest(marked, cache, snapshot.config)
  if (!isCrud(shapePlan)) return 'unsuitable'
  const statement = render(mainStatement(shapePlan, marked, snapshot.config))
  const sources = sourcesOf(statement, count, bodyMarker)
  return sources
    ? { request: marked, plan: shapePlan, text: statement.text, sources, history: new RunHistory() }
    : 'unsuitable'
}

/** What a shape has for this request; undefined when its body is of another shape. */
function fromShape(
  http: HttpRequest,
  values: readonly string[],
  shape: PreparedShape,
  { validator }: PrepareContext,
  lap: Lap,
): Prepared | undefined {
  const { action, contentType, queryParams, payload: known } = shape.request
  const { payload, columns } = parsePayload(http.body, contentType, queryParams.columns, action)
  if (known !== undefined && !(isText(known) && isText(payload) && hasShape(payload, columns, known, shape.request))) {
    return undefined
  }
  const { others, cookies } = readHeaders(http.headers)
  const request: ApiRequest = {
    ...shape.request,
    headers: others,
    cookies,
    payload,
    queryParams:
      http.query === ''
        ? queryParams
        : { ...queryParams, canonical: canonicalQueryString(parseQueryString(http.query)) },
  }
  lap()
  checkPayload(request, validator)
  const body = isText(payload) ? payload.text : null
  return { request, plan: shape.plan, main: bind(shape, values, body), history: shape.history, addressed: undefined }
}

/** Whether a body is read into the same columns, and is an object or array as the one of the shape was. */
function hasShape(
  payload: Extract<Payload, { kind: 'json' | 'raw-json' }>,
  columns: readonly string[],
  known: Extract<Payload, { kind: 'json' | 'raw-json' }>,
  request: ApiRequest,
): boolean {
  return (
    payload.kind === known.kind &&
    firstCharacter(payload.text) === known.text.charAt(0) &&
    columns.length === request.columns.length &&
    columns.every((name, index) => name === request.columns[index])
  )
}
