// Protects cookie-authenticated routes against pages of other sites. Browsers send cookies with every request, so a
// write must come from our own pages, from an allowed origin, or from a client that is not a browser.
// https://fetch.spec.whatwg.org/#http-cors-protocol, https://www.w3.org/TR/fetch-metadata/
import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { Failure } from './envelope.ts'

const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Responds to preflight requests, and lets only allowed origins read responses, with credentials. Rejects writes from
 * pages of other origins.
 *
 * @param allowedOrigins read at each request, because the settings may change; empty for no other origin
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
        response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type')
        response.setHeader('Access-Control-Max-Age', '7200')
        response.writeHead(204).end()
        return
      }
    } else if (!safeMethods.has(request.method) && !isFromHere(request)) {
      throw new Failure(403, 'Requests from pages of other sites are not accepted')
    }
    next()
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
