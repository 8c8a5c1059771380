// Turns requests into responses, independent of the HTTP server: adapters pass requests in and send the responses.
import { longestTimer } from '../common/timers.ts'
import type { Identity } from '../identity/identity.ts'
import type { BodyValidator } from './validation.ts'
import { admit } from './admission.ts'
import { answer } from './answer.ts'
import {
  addressedBy,
  firstOf,
  type AnswerTrace,
  type Extensions,
  type OpenBody,
  type RequestContext,
} from './extension.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { ApiError, errors } from './errors.ts'
import { bodyTypeError } from './request/payload-check.ts'
import type { HttpRequest } from './request/api-request.ts'
import { BodyBudget, type BodyShare } from './request/body-budget.ts'
import { largeBody } from './request/body.ts'
import { isCsv, smallCsv } from './request/csv.ts'
import { readLargePayload } from './request/large-payload.ts'
import { ParseQueue } from './request/parse-queue.ts'
import type { RateDecision } from './extensions/limits/rate-limiter.ts'
import { errorResponse } from './response/error.ts'
import { finish, traceHeader, type Caching, type Notices } from './response/finish.ts'
import type { Headers } from './response/header.ts'
import type { RestResponse } from './response/result.ts'
import type { RestRequest } from './rest-request.ts'
import type { EngineState, Snapshot } from './snapshot.ts'
import { withSignInHint } from './sign-in-hint.ts'
import { isConnectionLoss, withCode } from './sql-errors.ts'

/** A request with its response, for logs and metrics. */
export type RestObservation = {
  readonly request: RestRequest
  readonly response: RestResponse
  /** Undefined when the credentials were rejected. */
  readonly role: string | undefined
  /** Time from the arrival of the request's headers until the response is ready to be sent. */
  readonly milliseconds: number
  /** The error, if any. It may contain more than the response says. */
  readonly error: unknown
  /** The relation or function of the request; undefined when there is none, or it does not exist. */
  readonly route: string | undefined
  /** Texts of the statements that were run, if `log-query` is on. */
  readonly statements: readonly string[] | undefined
  /** Describes deprecated features that the request uses. */
  readonly warning: string | undefined
}

/**
 * Authenticates a request.
 *
 * @throws CredentialError or ApiError for invalid credentials; any other error causes a response with status 500, as does an
 *   identity without a role, or with claims that cannot be written as JSON
 */
export type Identify = (request: RestRequest) => Identity | Promise<Identity>

export type RestHandlerOptions = {
  readonly state: EngineState
  readonly identify: Identify
  readonly validator: BodyValidator
  readonly extensions: Extensions
  /** Called once for every request, before its response is sent. Must not throw. */
  readonly observe: (observation: RestObservation) => void
  /** Whether large results may be streamed row by row, for which the database must support receivers. By default true. */
  readonly streamsRows?: boolean
  /** Whether cookies have the attribute `Secure`; by default true. */
  readonly secureCookies?: boolean | undefined
}

/** Authenticates requests, reads their bodies, answers them, and adds the headers that all responses have. */
export class RestHandler {
  readonly #options: RestHandlerOptions
  readonly #budget: BodyBudget
  readonly #parseQueue = new ParseQueue()

  constructor(options: RestHandlerOptions) {
    const { restBodyBudget, dbPoolAcquisitionTimeout } = options.state.snapshot.config
    this.#options = options
    this.#budget = new BodyBudget({
      limit: restBodyBudget,
      maxWait: Math.min(dbPoolAcquisitionTimeout * 1000, longestTimer),
      exhausted: () => errors.bodyBudget(restBodyBudget),
    })
  }

  /** Answers a request. Every error becomes a response. */
  async answer(request: RestRequest): Promise<RestResponse> {
    const start = performance.now()
    const { state, extensions, identify, validator, observe, streamsRows = true, secureCookies = true } = this.#options
    const { snapshot } = state
    const { config } = snapshot
    const { method, headers } = request
    const origin = request.header('origin')
    const { settlingTime } = state.database
    const consistency = settlingTime === undefined ? undefined : firstOf(extensions.consistency, request, snapshot)
    let identity: Identity | undefined
    let http: HttpRequest | undefined
    let result: RestResponse | undefined
    let notices: Notices | undefined
    let rate: RateDecision | undefined
    let failure: unknown
    let share: BodyShare | undefined
    let opened: OpenBody | undefined
    const trace: AnswerTrace = {
      route: undefined,
      statements: config.logQuery ? [] : undefined,
      warning: undefined,
    }
    try {
      const preflight = method === 'OPTIONS' ? respondPreflight(request, origin, snapshot) : undefined
      if (preflight) {
        result = preflight
      } else {
        const claimed = identify(request)
        const acting = claimed instanceof Promise ? await claimed : claimed
        identity = acting
        const authenticationTime = config.serverTimingEnabled ? performance.now() - start : undefined
        const limits = snapshot.limitsOf(acting)
        const countRequests =
          limits &&
          (async (count: number): Promise<void> => {
            for (const countBy of extensions.countRequests) {
              const decision = countBy(limits, acting, count)
              rate = decision instanceof Promise ? await decision : decision
              if (rate?.error) throw rate.error
            }
          })
        if (countRequests) await countRequests(1)
        if (!snapshot.schemaCache) throw errors.noSchemaCache()
        const { basePath, target } = request
        const question = target.indexOf('?')
        const context: RequestContext = {
          database: state.database,
          extensions,
          caller: request,
          snapshot: limits ? snapshot.limitedTo(limits) : snapshot,
          schemaCache: snapshot.schemaCache,
          validator,
          basePath,
          authenticationTime,
          idempotencyKey: methodsWithKey.has(method) ? request.header('idempotency-key') : undefined,
          countRequests,
          trace,
          consistency,
          mayStream: streamsRows && request.takesUnknownLength !== false,
        }
        const bodiless = {
          method,
          path: question < 0 ? target : target.slice(0, question),
          query: question < 0 ? '' : target.slice(question + 1),
          headers,
          body: noBody,
        }
        const route = method === 'POST' ? firstOf(extensions.route, bodiless, context) : undefined
        if (methodsWithBody.has(method)) {
          share = this.#budget.open()
          const limit = Math.min(config.restBodyLimit, route?.bodyLimit ?? Infinity)
          const gate = { limit, share, admit: route ? admitAll : () => admit(bodiless, acting, context) }
          const opening = route ? undefined : firstOf(extensions.openBody, request, bodiless, gate, context)
          const body = opening ? await opening : await request.readBody(gate)
          if (Buffer.isBuffer(body)) http = { ...bodiless, body }
          else {
            opened = body
            http = bodiless
          }
        } else http = bodiless
        const { length } = http.body
        const isLarge = length > largeBody || (length > smallCsv && isCsv(request.header('content-type')))
        if (isLarge && !route && share) http = await this.#readLarge(http, request, share)
        const received = http
        const respondTo = opened?.answer ?? route?.answer ?? answer
        const pending =
          isLarge && !received.payload
            ? this.#parseQueue.run(() => (request.isGone ? errors.callerGone() : respondTo(received, acting, context)))
            : respondTo(received, acting, context)
        const outcome = pending instanceof ApiError ? pending : await pending
        if (outcome instanceof ApiError) failure = outcome
        else {
          result = outcome.response
          notices = outcome.notices
        }
      }
    } catch (error) {
      failure = withCode(error)
      if (isConnectionLoss(failure)) state.recover()
    }
    share?.release()
    if (!result) {
      if (http) failure = bodyTypeError(failure, http, config.dbSchemas, validator)
      failure = withSignInHint(failure, request, snapshot.schemaCache)
      result = errorResponse(failure instanceof ApiError ? failure : errors.internal(), config.clientErrorVerbosity)
    }
    trace.warning ??= result.warning
    if (consistency && settlingTime !== undefined) {
      const written = consistency.headers(settlingTime, secureCookies, request.basePath)
      if (written.length > 0) result = { ...result, headers: [...result.headers, ...written] }
    }
    const { serverCorsAllowedOrigins, serverTraceHeader } = config
    const response = finish(result, {
      notices,
      caching: cachingOf(request),
      cors:
        origin === undefined || method === 'OPTIONS'
          ? noHeaders
          : corsHeaders(origin, serverCorsAllowedOrigins, rate ? [...result.headers, ...rate.headers] : result.headers),
      rate: rate?.headers,
      // A body without a declared length might never end, so it is not worth waiting for.
      closesConnection: failure !== undefined && (request.isOpenEnded || opened?.isComplete() === false),
      trace: serverTraceHeader === null ? undefined : traceHeader(serverTraceHeader, headers),
    })
    observe({
      request,
      response,
      role: identity?.role,
      milliseconds: performance.now() - start,
      error: failure,
      route: trace.route,
      statements: trace.statements,
      warning: trace.warning,
    })
    return response
  }

  /** Reads a large body without blocking other requests. The memory that this takes counts like that of the body. */
  #readLarge(http: HttpRequest, request: RestRequest, share: BodyShare): Promise<HttpRequest> {
    const { state, extensions, validator } = this.#options
    const { config, schemaCache: cache } = state.snapshot
    const addressed = addressedBy(http, extensions)?.http
    const limit = config.restBodyBudget
    const options = { addressed, settings: config, further: extensions.parameter, validator, cache, limit }
    const parts = readLargePayload(http, options)
    return this.#parseQueue.runParts(parts, (bytes) => {
      if (request.isGone) throw errors.callerGone()
      return share.grow(http.body.length + bytes)
    })
  }
}

const methodsWithBody = new Set(['POST', 'PATCH', 'PUT'])
/** Methods that are not idempotent by themselves. RFC 9110, section 9.2.2. */
const methodsWithKey = new Set(['POST', 'PATCH'])
const noBody = Buffer.alloc(0)
/** What a route does is checked by the route. */
const admitAll = (): Promise<void> => Promise.resolve()
const noHeaders: Headers = []

/** Whether shared caches may store the response to a read: only without credentials. */
function cachingOf(request: RestRequest): Caching | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
  const credentials = request.header('authorization') ?? request.header('apikey') ?? request.header('cookie')
  return credentials === undefined ? 'shared' : 'private'
}

/** Answers a CORS preflight request. Browsers send no credentials with it, so none are required. */
function respondPreflight(
  request: RestRequest,
  origin: string | undefined,
  { config }: Snapshot,
): RestResponse | undefined {
  const method = request.header('access-control-request-method')
  if (origin === undefined || method === undefined) return undefined
  const preflight = { origin, method, headers: request.header('access-control-request-headers') }
  const allowed = preflightHeaders(preflight, config.serverCorsAllowedOrigins)
  return allowed && { status: 200, headers: [...allowed, ['Content-Length', '0']], body: '' }
}
