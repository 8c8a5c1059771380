// CORS of `/storage/v1`: pages of every origin may use it, because tokens, not cookies, identify the user.
import type { IncomingMessage, ServerResponse } from 'node:http'

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
const exposedHeaders = [
  ...['Content-Range', 'ETag', 'X-Transformations'],
  ...['Location', 'Upload-Offset', 'Upload-Length', 'Upload-Metadata', 'Upload-Expires', 'Tus-Version'],
  ...['Tus-Resumable', 'Tus-Max-Size', 'Tus-Extension', 'Tus-Checksum-Algorithm', 'Upload-Defer-Length'],
].join(', ')

/** A list of header names. */
const headerNames = /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/

/**
 * Sets the CORS headers, and responds to preflight requests.
 *
 * @param origins origins that may use the service; empty for every origin
 * @returns whether it has responded
 */
export function answerCors(request: IncomingMessage, response: ServerResponse, origins: readonly string[]): boolean {
  const { origin } = request.headers
  response.appendHeader('Vary', 'Origin')
  if (origin === undefined || (origins.length > 0 && !origins.includes(origin))) return false
  response.setHeader('Access-Control-Allow-Origin', origins.length === 0 ? '*' : origin)
  response.setHeader('Access-Control-Expose-Headers', exposedHeaders)
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false
  const asked = request.headers['access-control-request-headers']
  response.setHeader('Access-Control-Allow-Methods', methods)
  // Metadata and resumable uploads have many headers. Tokens, not headers, protect the service.
  if (asked !== undefined && headerNames.test(asked)) response.setHeader('Access-Control-Allow-Headers', asked)
  response.setHeader('Access-Control-Max-Age', '86400')
  response.writeHead(204).end()
  return true
}
