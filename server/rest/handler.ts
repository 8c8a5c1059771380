// The HTTP side of the REST API, on Node's own request and response.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isConnectionLoss } from '../database/database-error.ts'
import type { ApiKeyLookup } from '../identity/api-key-lookup.ts'
import { ArrivingField } from '../database/arriving-field.ts'
import { authenticate } from '../identity/authenticate.ts'
import type { Identity } from '../identity/identity.ts'
import type { Runtime, Snapshot } from '../runtime.ts'
import type { Validator } from '../validation/validator.ts'
import { answer, type AnswerTrace } from './answer.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { ApiError, errors } from './errors.ts'
import { bodyTypeFault } from './payload-check.ts'
import type { HttpRequest } from './request/api-request.ts'
import { readBody } from './request/body.ts'
import { retryAfter, traced } from './response/complete.ts'
import { errorResponse } from './response/error.ts'
import { contentLength, hasHeader, type Headers } from './response/header.ts'
import type { RestResponse } from './response/result.ts'
import { serverName } from '../version.ts'

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
  readonly runtime: Runtime
  readonly validator: Validator
  readonly lookupApiKey: ApiKeyLookup
  readonly observe: (observation: RestObservation) => void
}

/** A handler that answers every request below the mount path (setting `restBasePath`). */
export function createRestHandler(options: RestHandlerOptions): RestHandler {
  return (request, response) => {
    void serve(options, request, response)
  }
}

async function serve(
  { runtime, validator, lookupApiKey, observe }: RestHandlerOptions,
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
      identity = claimed instanceof Promise ? await claimed : claimed
      const authenticationTime = config.serverTimingEnabled ? performance.now() - start : undefined
      if (!snapshot.cache) throw errors.noSchemaCache()
      const basePath = config.restBasePath === '/' ? '' : config.restBasePath
      const target = (request.url ?? '/').slice(basePath.length)
      const question = target.indexOf('?')
      http = {
        method: request.method ?? 'GET',
        path: question < 0 ? target : target.slice(0, question),
        query: question < 0 ? '' : target.slice(question + 1),
        headers,
        body: methodsWithBody.has(request.method ?? '') ? await readBody(request, config.restBodyLimit) : noBody,
      }
      const context = {
        pool: runtime.pool,
        snapshot,
        cache: snapshot.cache,
        validator,
        basePath,
        authenticationTime,
        trace,
      }
      const answered = answer(http, identity, context)
      if (answered instanceof ApiError) failure = answered
      else result = await answered
    }
  } catch (error) {
    failure = error
    if (isConnectionLoss(error)) runtime.recover()
  }
  if (!result) {
    if (http) failure = bodyTypeFault(failure, http, config.dbSchemas, validator)
    result = errorResponse(failure instanceof ApiError ? failure : unforeseen(), config.clientErrorVerbosity)
  }
  if (origin !== undefined && request.method !== 'OPTIONS') {
    result = shared(result, corsHeaders(origin, config.serverCorsAllowedOrigins))
  }
  result = retryAfter(traced(result, config.serverTraceHeader, headers))
  send(request, response, result)
  observe({
    request,
    response: result,
    role: identity?.role,
    milliseconds: performance.now() - start,
    error: failure,
    ...trace,
  })
}

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

function send(request: IncomingMessage, response: ServerResponse, { status, statusText, headers, body }: RestResponse) {
  if (response.destroyed) {
    if (body instanceof ArrivingField) body.drop()
    return
  }
  const flat: string[] = []
  let hasLength = false
  let hasServer = false
  for (const [name, value] of headers) {
    flat.push(name, value)
    if (name === 'Content-Length') hasLength = true
    // The database may set it under any spelling.
    else if (name.length === 6 && name.toLowerCase() === 'server') hasServer = true
  }
  if (!hasServer) flat.push('Server', serverName)
  const bodiless = request.method === 'HEAD' || status === 204 || status === 304
  if (!hasLength && !bodiless) flat.push(...contentLength(body))
  if (statusText === undefined) response.writeHead(status, flat)
  else response.writeHead(status, statusText, flat)
  if (!(body instanceof ArrivingField)) {
    if (bodiless) response.end()
    // As text Node puts it behind the head, in one write; a buffer would be a piece of its own.
    else if (Buffer.isBuffer(body) && body.length <= smallBody) response.end(body.toString('latin1'), 'latin1')
    else response.end(body)
  } else if (!bodiless) body.sendTo(response)
  else {
    body.drop()
    response.end()
  }
}
