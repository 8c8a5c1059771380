// CORS of the public routes beside the REST API: home page, health checks and OpenAPI document. Allows the same origins
// and headers as the REST API.
import type { RequestHandler } from 'express'
import { corsHeaders, preflightHeaders } from '../rest/cors.ts'

/**
 * Sets the CORS headers of the REST API on responses, and responds to preflight requests.
 *
 * @param allowedOrigins read at each request, because the settings may change; empty for any origin, without
 *   credentials
 */
export const publicCors =
  (allowedOrigins: () => readonly string[]): RequestHandler =>
  (request, response, next) => {
    const { origin } = request.headers
    response.appendHeader('Vary', 'Origin')
    if (origin === undefined) {
      next()
      return
    }
    const method = request.headers['access-control-request-method']
    const preflight =
      request.method === 'OPTIONS' && method !== undefined
        ? preflightHeaders(
            { origin, method, headers: request.headers['access-control-request-headers'] },
            allowedOrigins(),
          )
        : undefined
    for (const [name, value] of preflight ?? corsHeaders(origin, allowedOrigins())) response.setHeader(name, value)
    if (preflight) response.writeHead(200, { 'Content-Length': 0 }).end()
    else next()
  }
