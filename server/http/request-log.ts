// One line for each request, when its answer is done.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'

/** What is written of a request. */
export type RequestLine = {
  readonly kind: 'request'
  readonly method: string
  /** Without the query string. */
  readonly path: string
  readonly status: number
  /** Milliseconds. */
  readonly duration: number
  readonly role: string | null
  readonly requestId: string
  /** Whether the client was gone before the response had been sent. */
  readonly aborted: boolean
}

export type RequestLog = {
  /** Whether requests with this status are logged. */
  wants(status: number): boolean
  write(line: RequestLine): void
}

type Note = {
  readonly log: RequestLog
  readonly method: string
  readonly path: string
  readonly start: number
  requestId: string
  role: string | null
}

const note = Symbol('what the log will say about a response')
type NotedResponse = ServerResponse & { [note]?: Note }

const longestPath = 1000

/** The path of a request's target, without its query string, and not endlessly long. */
export function pathOf(target: string): string {
  const end = target.indexOf('?')
  const path = end === -1 ? target : target.slice(0, end)
  return path.length > longestPath ? `${path.slice(0, longestPath)}…` : path
}

/** The client's own `X-Request-Id` where it is a plain short word, so that its logs and ours can be laid side by side. */
export function requestIdOf(header: string | readonly string[] | undefined): string {
  return givenRequestId(header) ?? randomUUID()
}

/** The same; undefined where the client has sent none, or another text. */
export const givenRequestId = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[\w.:-]{1,64}$/.test(header) ? header : undefined

/**
 * A handler that goes before all others: it notes when the request came, and writes the line when the answer has been
 * sent or the client has gone.
 */
export function logRequests(
  log: RequestLog,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return (request, response: NotedResponse, next) => {
    response[note] = {
      log,
      method: request.method ?? '',
      // Taken now: routers cut their mount path off it.
      path: pathOf(request.url ?? ''),
      start: performance.now(),
      requestId: requestIdOf(request.headers['x-request-id']),
      role: null,
    }
    response.once('close', writeLine)
    next()
  }
}

/** Says who the request acts as, once that is known. */
export function noteRole(response: ServerResponse, role: string): void {
  const noted = (response as NotedResponse)[note]
  if (noted) noted.role = role
}

/** Gives a request another id: the one that its response tells the client. */
export function noteRequestId(response: ServerResponse, id: string): void {
  const noted = (response as NotedResponse)[note]
  if (noted) noted.requestId = id
}

/** The id under which the log has this request; null when requests are not logged. */
export function requestIdFor(response: ServerResponse): string | null {
  return (response as NotedResponse)[note]?.requestId ?? null
}

// One function for all responses, not one for each.
function writeLine(this: NotedResponse): void {
  const noted = this[note]
  if (!noted?.log.wants(this.statusCode)) return
  const { log, method, path, start, requestId, role } = noted
  log.write({
    kind: 'request',
    method,
    path,
    status: this.statusCode,
    duration: Math.round((performance.now() - start) * 100) / 100,
    role,
    requestId,
    aborted: !this.writableFinished,
  })
}
