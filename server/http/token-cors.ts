// CORS of services that pages of every origin may use, because tokens, not cookies, identify their users.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** What a service allows to pages. */
export type TokenCors = {
  /** `Access-Control-Allow-Methods` */
  readonly methods: string
  /** `Access-Control-Expose-Headers` */
  readonly exposedHeaders?: string
  /**
   * `Access-Control-Allow-Headers` for the requested header names; undefined to leave it out.
   *
   * @param requested `Access-Control-Request-Headers`
   */
  readonly allowedHeaders: (requested: string | undefined) => string | undefined
}

/** A list of header names. */
const headerNames = /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/

/** Allows all requested headers, where tokens, not headers, protect the service. */
export const reflectedHeaders: TokenCors['allowedHeaders'] = (requested) =>
  requested !== undefined && headerNames.test(requested) ? requested : undefined

/**
 * Sets the CORS headers, and responds to preflight requests.
 *
 * @param origins origins that may use the service; empty for every origin
 * @returns whether it has responded
 */
export function answerTokenCors(
  request: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
  { methods, exposedHeaders, allowedHeaders }: TokenCors,
): boolean {
  const { origin } = request.headers
  response.appendHeader('Vary', 'Origin')
  if (origin === undefined || (origins.length > 0 && !origins.includes(origin))) return false
  response.setHeader('Access-Control-Allow-Origin', origins.length === 0 ? '*' : origin)
  if (exposedHeaders !== undefined) response.setHeader('Access-Control-Expose-Headers', exposedHeaders)
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false
  const allowed = allowedHeaders(request.headers['access-control-request-headers'])
  response.setHeader('Access-Control-Allow-Methods', methods)
  if (allowed !== undefined) response.setHeader('Access-Control-Allow-Headers', allowed)
  response.setHeader('Access-Control-Max-Age', '86400')
  response.writeHead(204).end()
  return true
}
