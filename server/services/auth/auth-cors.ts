// CORS of `/auth/v1`: pages of every origin may use it, because tokens, not cookies, identify the user.
import type { RequestHandler } from 'express'

const methods = 'GET, POST, PUT, PATCH, DELETE, OPTIONS'
const allowedHeaders = [
  ...['Accept', 'Authorization', 'Content-Type', 'apikey', 'X-Client-IP', 'X-Client-Info'],
  ...['X-JWT-AUD', 'X-Supabase-Api-Version', 'X-Request-Id'],
]
const exposedHeaders = 'X-Total-Count, Link, X-Supabase-Api-Version, x-sb-error-code, Retry-After, Location'

/**
 * Sets the headers, and responds to preflight requests.
 *
 * @param origins origins that may use the service, read at each request; empty for every origin
 * @param moreHeaders further request headers that are allowed, read at each request
 */
export const authCors =
  (origins: () => readonly string[], moreHeaders: () => readonly string[]): RequestHandler =>
  (request, response, next) => {
    const { origin } = request.headers
    response.appendHeader('Vary', 'Origin')
    const allowed = origins()
    if (origin === undefined || (allowed.length > 0 && !allowed.includes(origin))) {
      next()
      return
    }
    response.setHeader('Access-Control-Allow-Origin', allowed.length === 0 ? '*' : origin)
    response.setHeader('Access-Control-Expose-Headers', exposedHeaders)
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      response.setHeader('Access-Control-Allow-Methods', methods)
      response.setHeader('Access-Control-Allow-Headers', [...allowedHeaders, ...moreHeaders()].join(', '))
      response.setHeader('Access-Control-Max-Age', '86400')
      response.writeHead(204).end()
      return
    }
    next()
  }
