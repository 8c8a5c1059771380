// The HTTP side of the REST API, on Node's own request and response.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiKeyLookup } from '../identity/api-key/api-key-lookup.ts'
import { authenticate } from '../identity/authenticate.ts'
import type { Identity } from '../identity/identity.ts'
import type { BodyValidator } from './validation.ts'
import { admit } from './admission.ts'
import { answer, type AnswerTrace } from './answer.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { ApiError, errors } from './errors.ts'
import type { StreamedBody } from './database.ts'
import { HttpCaller } from './http-caller.ts'
import { bodyTypeFault } from './request/payload-check.ts'
import type { HttpRequest } from './request/api-request.ts'
import { BodyBudget, type BodyShare } from './request/body-budget.ts'
import { largeBody, readBody } from './request/body.ts'
import { ParseTurns } from './request/parse-turns.ts'
import { retryAfter, traced } from './response/complete.ts'
import { errorResponse } from './response/error.ts'
import { endAfterRequest, isUnfinished } from './response/unfinished.ts'
import { contentLength, hasHeader, type Headers } from './response/header.ts'
import { isStreamed, type RestResponse } from './response/result.ts'
import type { EngineState, Snapshot } from './snapshot.ts'
import { isConnectionLoss, withCode } from './sql-errors.ts'
import { serverName } from '../common/version.ts'

export type RestHandler = (request: IncomingMessage, response: ServerResponse) => void

/** What is told of every request that was answered. */
export type RestObservation = {
  readonly request: IncomingMessage
  readonly response: RestResponse
  /** Undefined when the credential did not hold. */
  readonly role: string | undefined
  readonly milliseconds: number
  /** What went wrong, if anything; it may say more than the client was told. */
  readonly error: unknown
  /** The relation or function that was asked for, once it was found. */
  readonly route: string | undefined
  /** Texts of the statements that were run, where `log-query` wants them. */
  readonly statements: readonly string[] | undefined
  /** What is deprecated in the request, in words. */
  readonly warning: string | undefined
}

export type RestHandlerOptions = {
  readonly runtime: EngineState
  readonly validator: BodyValidator
  readonly lookupApiKey: ApiKeyLookup
  readonly observe: (observation: RestObservation) => void
}

/** A handler that answers every request below the mount path (setting `restBasePath`). */
export function createRestHandler(options: RestHandlerOptions): RestHandler {
  const { restBodyBudget, dbPoolAcquisitionTimeout } = options.runtime.snapshot.config
  const bodies: Bodies = {
    budget: new BodyBudget({
      limit: restBodyBudget,
      patience: Math.min(dbPoolAcquisitionTimeout * 1000, longestTimer),
      exhausted: () => errors.bodyBudget(restBodyBudget),
    }),
    turns: new ParseTurns(),
  }
  return (request, response) => {
    serve(options, bodies, request, response).catch((error: unknown) => {
      response.destroy()
      options.observe({
        request,
        response: errorResponse(unforeseen(), 'minimal'),
        role: undefined,
        milliseconds: 0,
        error,
        route: undefined,
        statements: undefined,
        warning: undefined,
      })
    })
  }
}

/** What all requests with a body have in common. */
type Bodies = { readonly budget: BodyBudget; readonly turns: ParseTurns }

async function serve(
  { runtime, validator, lookupApiKey, observe }: RestHandlerOptions,
  bodies: Bodies,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const start = performance.now()
  const { snapshot } = runtime
  const { config } = snapshot
  const headers = headerPairs(request)
  const { origin } = request.headers
  let identity: Identity | undefined
  let http: HttpRequest | undefined
  let result: RestResponse | undefined
  let failure: unknown
  let share: BodyShare | undefined
  const trace: AnswerTrace = {
    route: undefined,
    statements: config.logQuery ? [] : undefined,
    warning: undefined,
  }
  try {
    const preflight = preflightAnswer(request, snapshot)
    if (preflight) {
      result = preflight
    } else {
      const claimed = authenticate(
        request.headers.authorization,
        single(request.headers.apikey),
        snapshot.verifier,
        lookupApiKey,
      )
      const acting = claimed instanceof Promise ? await claimed : claimed
      identity = acting
      const authenticationTime = config.serverTimingEnabled ? performance.now() - start : undefined
      if (!snapshot.cache) throw errors.noSchemaCache()
      const basePath = config.restBasePath === '/' ? '' : config.restBasePath
      const target = (request.url ?? '/').slice(basePath.length)
      const question = target.indexOf('?')
      const context = {
        database: runtime.database,
        caller: new HttpCaller(request, response),
        snapshot,
        cache: snapshot.cache,
        validator,
        basePath,
        authenticationTime,
        trace,
      }
      const bodiless = {
        method: request.method ?? 'GET',
        path: question < 0 ? target : target.slice(0, question),
        query: question < 0 ? '' : target.slice(question + 1),
        headers,
        body: noBody,
      }
      if (methodsWithBody.has(bodiless.method)) {
        share = bodies.budget.open()
        const gate = { limit: config.restBodyLimit, share, admit: () => admit(bodiless, acting, context) }
        http = { ...bodiless, body: await readBody(request, gate) }
      } else http = bodiless
      const received = http
      const answered =
        received.body.length > largeBody
          ? bodies.turns.run(() => (context.caller.isGone ? errors.callerGone() : answer(received, acting, context)))
          : answer(received, acting, context)
      const outcome = answered instanceof ApiError ? answered : await answered
      if (outcome instanceof ApiError) failure = outcome
      else result = outcome
    }
  } catch (error) {
    failure = withCode(error)
    if (isConnectionLoss(failure)) runtime.recover()
  }
  share?.release()
  if (!result) {
    if (http) failure = bodyTypeFault(failure, http, config.dbSchemas, validator)
    result = errorResponse(failure instanceof ApiError ? failure : unforeseen(), config.clientErrorVerbosity)
  }
  if (origin !== undefined && request.method !== 'OPTIONS') {
    result = shared(result, corsHeaders(origin, config.serverCorsAllowedOrigins))
  }
  // The end of a body without a length may never come.
  if (failure !== undefined && isUnfinished(request) && request.headers['content-length'] === undefined) {
    result = { ...result, headers: [...result.headers, ['Connection', 'close']] }
  }
  trace.warning ??= result.warning
  result = retryAfter(traced(result, config.serverTraceHeader, headers))
  send(request, response, result)
  observe({
    request,
    response: result,
    role: identity?.role,
    milliseconds: performance.now() - start,
    error: failure,
    route: trace.route,
    statements: trace.statements,
    warning: trace.warning,
  })
}

/** Node's timers take no more milliseconds. */
const longestTimer = 2 ** 31 - 1
const methodsWithBody = new Set(['POST', 'PATCH', 'PUT'])
const noBody = Buffer.alloc(0)
/** Bytes up to which a body is sent with the head. */
const smallBody = 16 * 1024

/** An error that no stage foresaw. Nothing of it is shown. */
const unforeseen = (): ApiError => new ApiError({ code: 'PGRSTX00', status: 500, message: 'Internal server error' })

const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header

/** Header names in lower case, in the order they came. */
function headerPairs({ rawHeaders }: IncomingMessage): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    pairs.push([(rawHeaders[index] ?? '').toLowerCase(), rawHeaders[index + 1] ?? ''])
  }
  return pairs
}

/** A browser's question whether it may send a request. It carries no credential, so none is asked for. */
function preflightAnswer({ method, headers }: IncomingMessage, { config }: Snapshot): RestResponse | undefined {
  const { origin } = headers
  const wanted = headers['access-control-request-method']
  if (method !== 'OPTIONS' || origin === undefined || wanted === undefined) return undefined
  const asked = { origin, method: wanted, headers: headers['access-control-request-headers'] }
  const allowed = preflightHeaders(asked, config.serverCorsAllowedOrigins)
  return allowed && { status: 200, headers: [...allowed, ['Content-Length', '0']], body: '' }
}

/** Adds the CORS headers that the answer does not have yet. */
const shared = (response: RestResponse, headers: Headers): RestResponse => ({
  ...response,
  headers: [...response.headers, ...headers.filter(([name]) => !hasHeader(response.headers, name))],
})

function sendWhole(response: ServerResponse, body: Buffer): void {
  // Node writes a text and the head in front of it at once, and in one encoding: that of the head must be latin1, which
  // leaves the bytes of its values as they are. A buffer would be a piece of its own.
  if (body.length <= smallBody) response.end(body.toString('latin1'), 'latin1')
  else response.end(body)
}

/** Sends a body while it arrives. A response that is queued behind another one does not hear that its connection closes. */
function sendArriving({ socket }: IncomingMessage, response: ServerResponse, body: StreamedBody): void {
  const onClose = (): void => body.drop()
  socket.once('close', onClose)
  response.once('close', () => socket.off('close', onClose))
  body.sendTo(response)
}

function send(request: IncomingMessage, response: ServerResponse, { status, statusText, headers, body }: RestResponse) {
  if (response.destroyed || request.socket.destroyed) {
    if (isStreamed(body)) body.drop()
    return
  }
  const flat: string[] = []
  let hasLength = false
  let closes = !response.shouldKeepAlive
  let hasServer = false
  for (const [name, value] of headers) {
    if (name === 'Content-Length') {
      hasLength = true
      // RFC 9110, section 8.6.
      if (status === 204) continue
    } else if (name === 'Connection') closes = value === 'close'
    // The database may set it under any spelling.
    else if (name.length === 6 && name.toLowerCase() === 'server') hasServer = true
    flat.push(name, value)
  }
  if (!hasServer) flat.push('Server', serverName)
  const bodiless = request.method === 'HEAD' || status === 204 || status === 304
  if (!hasLength && !bodiless) flat.push(...contentLength(body))
  try {
    if (statusText === undefined) response.writeHead(status, flat)
    else response.writeHead(status, statusText, flat)
  } catch (error) {
    if (isStreamed(body)) body.drop()
    throw error
  }
  if (!isStreamed(body)) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (isUnfinished(request)) endAfterRequest(request, response, bytes, closes)
    else if (bodiless) response.end()
    else sendWhole(response, bytes)
  } else if (!bodiless) sendArriving(request, response, body)
  else {
    body.drop()
    response.end()
  }
}
