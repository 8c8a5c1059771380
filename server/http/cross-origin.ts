// Cross-origin requests to everything beside the REST API, whose rules are PostgREST's (`rest/cors.ts`).
// https://fetch.spec.whatwg.org/#http-cors-protocol, https://www.w3.org/TR/fetch-metadata/
import type { IncomingMessage, ServerResponse } from 'node:http'
import { corsHeaders, preflightHeaders } from '../rest/cors.ts'
import { Failure } from './envelope.ts'
import type { Guard } from './router.ts'

/** What a service allows to pages of other origins. */
export type CrossOriginRules = {
  /** The origins that are allowed when the settings name none. */
  readonly byDefault: 'every origin' | 'no origin'
  /** Whether requests may have cookies. */
  readonly credentials: boolean
  /** `Access-Control-Allow-Methods` */
  readonly methods: string
  /** `Access-Control-Allow-Headers`. `as requested` where tokens, not headers, protect the service. */
  readonly headers: 'as requested' | (() => string)
  /** `Access-Control-Expose-Headers` */
  readonly exposed?: string
  /** `Access-Control-Max-Age`, in seconds. */
  readonly maxAge: number
}

/** The rules of services that pages of every origin may use, because tokens, not cookies, identify their users. */
export const tokenRules: CrossOriginRules = {
  byDefault: 'every origin',
  credentials: false,
  methods: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  headers: 'as requested',
  maxAge: 86_400,
}

const cookieRules: CrossOriginRules = {
  byDefault: 'no origin',
  credentials: true,
  methods: 'GET, HEAD, POST, PATCH, DELETE',
  headers: () => 'Authorization, Content-Type',
  exposed: 'Retry-After',
  maxAge: 7200,
}

/**
 * Sets the headers for an allowed origin, and responds to its preflight requests.
 *
 * @param origins those of the settings
 * @returns whether it has responded
 */
export function answerCrossOrigin(
  request: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
  rules: CrossOriginRules,
): boolean {
  response.appendHeader('Vary', 'Origin')
  const allowed = allowedOrigin(request.headers.origin, origins, rules)
  if (allowed === undefined) return false
  response.setHeader('Access-Control-Allow-Origin', allowed)
  if (rules.credentials) response.setHeader('Access-Control-Allow-Credentials', 'true')
  if (rules.exposed !== undefined) response.setHeader('Access-Control-Expose-Headers', rules.exposed)
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false
  const headers = allowedHeaders(request.headers['access-control-request-headers'], rules)
  response.setHeader('Access-Control-Allow-Methods', rules.methods)
  if (headers !== undefined) response.setHeader('Access-Control-Allow-Headers', headers)
  response.setHeader('Access-Control-Max-Age', rules.maxAge)
  response.writeHead(204).end()
  return true
}

/** @param origins read at each request, because the settings may change */
export const crossOriginGuard =
  (origins: () => readonly string[], rules: CrossOriginRules): Guard =>
  (request, response) =>
    answerCrossOrigin(request, response, origins(), rules)

function allowedOrigin(
  origin: string | undefined,
  origins: readonly string[],
  { byDefault }: CrossOriginRules,
): string | undefined {
  if (origin === undefined) return undefined
  if (origins.length === 0 && byDefault === 'every origin') return '*'
  return origins.includes(origin) ? origin : undefined
}

/** A list of header names. */
const headerNames = /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/

function allowedHeaders(requested: string | undefined, { headers }: CrossOriginRules): string | undefined {
  if (headers !== 'as requested') return headers()
  return requested !== undefined && headerNames.test(requested) ? requested : undefined
}

/**
 * The public routes beside the REST API: home page, health checks and OpenAPI document. Allows the same origins and headers
 * as the REST API.
 *
 * @param allowedOrigins read at each request, because the settings may change
 */
export const publicCors =
  (allowedOrigins: () => readonly string[]): Guard =>
  (request, response) => {
    const { origin } = request.headers
    response.appendHeader('Vary', 'Origin')
    if (origin === undefined) return false
    const method = request.headers['access-control-request-method']
    const headers = request.headers['access-control-request-headers']
    const preflight =
      request.method === 'OPTIONS' && method !== undefined
        ? preflightHeaders({ origin, method, headers }, allowedOrigins())
        : undefined
    for (const [name, value] of preflight ?? corsHeaders(origin, allowedOrigins())) response.setHeader(name, value)
    if (preflight) response.writeHead(200, { 'Content-Length': 0 }).end()
    return preflight !== undefined
  }

const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Protects routes with cookies, which browsers send with every request: lets only allowed origins read responses, and
 * rejects writes from pages of other origins.
 *
 * @param allowedOrigins read at each request, because the settings may change; empty for no other origin
 * @throws Failure 403
 */
export const crossOrigin =
  (allowedOrigins: () => readonly string[]): Guard =>
  (request, response) => {
    if (answerCrossOrigin(request, response, allowedOrigins(), cookieRules)) return true
    if (!safeMethods.has(request.method) && !isTrustedOrigin(request, allowedOrigins())) {
      throw new Failure(403, 'Requests from pages of other sites are not accepted')
    }
    return false
  }

/** Whether the request comes from our own pages, from an allowed origin, or from a client that is not a browser. */
export const isTrustedOrigin = (request: IncomingMessage, allowedOrigins: readonly string[]): boolean =>
  isFromHere(request) || (request.headers.origin !== undefined && allowedOrigins.includes(request.headers.origin))

/** Whether the request does not come from a page of another origin. Pages can forge neither of these headers. */
function isFromHere({ headers }: IncomingMessage): boolean {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && origin === undefined)
  // The client is an older browser, or no browser. All browsers send `Origin` with cross-site writes.
  return origin === undefined || (headers.host !== undefined && isHost(origin, headers.host))
}

/** Whether an origin has this host. Ignores the scheme, which is unknown behind a proxy that terminates TLS. */
function isHost(origin: string, host: string): boolean {
  if (!/^https?:\/\//.test(origin)) return false
  try {
    const url = new URL(origin)
    // `URL` drops default ports, so `example.org:443` equals `example.org`.
    return url.host === new URL(`${url.protocol}//${host}`).host
  } catch {
    return false
  }
}
