// Cross-origin requests to routes that know their caller by a cookie: only from origins that are listed.
// https://fetch.spec.whatwg.org/#cors-protocol-and-credentials
import type { IncomingMessage, ServerResponse } from 'node:http'
import { corsHeaders, preflightHeaders } from './rest/cors.ts'

/**
 * Middleware that goes before such routes. Without a listed origin it adds nothing: a browser then keeps the answer from
 * the page that asked, and sends nothing that needs a preflight.
 *
 * @param listed the setting `server-cors-allowed-origins` at this moment
 */
export const credentialedOrigins =
  (listed: () => readonly string[]) =>
  (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const origins = listed()
    // An empty list means every origin to the REST API, where nobody is known by a cookie. Here it means none.
    if (origins.length === 0) return next()
    response.setHeader('Vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined) return next()
    const method = request.headers['access-control-request-method']
    if (request.method === 'OPTIONS' && method !== undefined) {
      const headers = request.headers['access-control-request-headers']
      const allowed = preflightHeaders({ origin, method, headers }, origins)
      if (!allowed) return next()
      response.writeHead(204, [...allowed.flat()])
      response.end()
      return undefined
    }
    for (const [name, value] of corsHeaders(origin, origins)) response.setHeader(name, value)
    return next()
  }
