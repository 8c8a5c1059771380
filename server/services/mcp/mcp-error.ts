// Errors of `/mcp` that precede the protocol: the response has their status.
import type { BodyFault } from '../../http/json-body.ts'
import { TracelessError } from '../../common/traceless-error.ts'

type Headers = Readonly<Record<string, string>>

/** A response with an error. */
export class McpError extends TracelessError {
  readonly status: number
  /** Code of JSON-RPC. */
  readonly code: number
  /** A word for metrics. */
  readonly reason: string
  readonly headers: Headers

  constructor(status: number, reason: string, message: string, headers: Headers = {}, cause?: unknown) {
    super(message, cause)
    this.name = 'McpError'
    this.status = status
    this.code = status < 500 ? invalidRequest : internalError
    this.reason = reason
    this.headers = headers
  }
}

/** Codes of JSON-RPC. https://www.jsonrpc.org/specification#error_object */
const invalidRequest = -32_600
const internalError = -32_603

const retrySoon: Headers = { 'Retry-After': '1' }

export const mcpErrors = {
  /** @param challenge value of `WWW-Authenticate` */
  unauthorized: (message: string, challenge: string, cause?: unknown) =>
    new McpError(401, 'unauthorized', message, { 'WWW-Authenticate': challenge }, cause),
  origin: (origin: string) =>
    new McpError(
      403,
      'origin',
      `Pages of ${JSON.stringify(origin.slice(0, 200))} are not accepted: only pages of this machine, and of the origins in SERVER_CORS_ALLOWED_ORIGINS and API_EXTERNAL_URL`,
    ),
  path: () => new McpError(404, 'path', 'There is nothing at this path: the protocol is at /mcp'),
  method: (method: string) =>
    new McpError(405, 'method', `${method} is not supported at /mcp: each request is a POST, without sessions`, {
      Allow: 'POST, OPTIONS',
    }),
  late: () => new McpError(408, 'body', 'The body has not arrived in time (MCP_TIMEOUT)'),
  batch: () => new McpError(400, 'batch', 'A batch of messages is not supported: send one message per request'),
  notJson: () => new McpError(400, 'body', 'The body is not JSON in UTF-8'),
  body: (fault: BodyFault, limit: number) => {
    if (fault === 'too large') return new McpError(413, 'body', `The body has more than ${limit} bytes`)
    if (fault === 'unsupported encoding') return new McpError(415, 'body', 'The Content-Encoding is not supported')
    return new McpError(400, 'body', 'The body has not arrived completely')
  },
  busy: () => new McpError(503, 'busy', 'Too many requests of agents at the same time', retrySoon),
  ending: () => new McpError(503, 'ending', 'The server is restarting', retrySoon),
  unavailable: (cause: unknown) =>
    new McpError(503, 'unavailable', 'The database is not available at the moment', retrySoon, cause),
  internal: (cause: unknown) => new McpError(500, 'internal', 'The server could not answer the request', {}, cause),
}
