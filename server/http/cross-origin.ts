// Requests from pages of other sites. Cookies come along with whatever a browser sends, so a write must come from our
// own pages, from an origin that is listed, or from no page at all.
// https://fetch.spec.whatwg.org/#http-cors-protocol, https://www.w3.org/TR/fetch-metadata/
import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { Failure } from './envelope.ts'

const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Answers preflight requests and says who may read the answers: listed origins alone, with credentials. Refuses writes
 * from pages of other origins.
 *
 * @param allowedOrigins read at each request, as the settings may change; empty: nobody else's pages
 * @throws Failure 403
 */
export const crossOrigin =
  (allowedOrigins: () => readonly string[]): RequestHandler =>
  (request, response, next) => {
    const { origin } = request.headers
    response.appendHeader('Vary', 'Origin')
    if (origin !== undefined && allowedOrigins().includes(origin)) {
      response.setHeader('Access-Control-Allow-Origin', origin)
      response.setHeader('Access-Control-Allow-Credentials', 'true')
      response.setHeader('Access-Control-Expose-Headers', 'Retry-After')
      if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
        response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PATCH, DELETE')
        response.setHeader('Access-Control-Allow-Headers', 'Content-Type')
        response.setHeader('Access-Control-Max-Age', '7200')
        response.writeHead(204).end()
        return
      }
    } else if (!safeMethods.has(request.method) && !isFromHere(request)) {
      throw new Failure(403, 'Requests from pages of other sites are not accepted')
    }
    next()
  }

/** Whether the request comes from our own pages, from an origin that is listed, or from no page at all. */
export const isTrustedOrigin = (request: IncomingMessage, allowedOrigins: readonly string[]): boolean =>
  isFromHere(request) || (request.headers.origin !== undefined && allowedOrigins.includes(request.headers.origin))

/** Whether no page of another origin sent the request. Pages can forge neither of these headers. */
function isFromHere({ headers }: IncomingMessage): boolean {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && origin === undefined)
  // An older browser, or none at all. Browsers send an origin with every write to another site.
  return origin === undefined || (headers.host !== undefined && isHost(origin, headers.host))
}

/** The scheme is not compared: behind a proxy that ends TLS it is not known. */
function isHost(origin: string, host: string): boolean {
  if (!/^https?:\/\//.test(origin)) return false
  try {
    const url = new URL(origin)
    // So that `example.org:443` is `example.org`.
    return url.host === new URL(`${url.protocol}//${host}`).host
  } catch {
    return false
  }
}
