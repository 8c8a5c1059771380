// Logs one line per request, when its response is complete.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { RestResponse } from '../rest/response/result.ts'

/** The logged fields of a request. */
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
  /** Whether the client disconnected before the whole response was sent. */
  readonly aborted: boolean
  /** The path with names of parameters in place of values. Not in the log, as are the following. */
  readonly route?: string | undefined
  readonly source?: IncomingMessage | undefined
  /** The response of the REST API. */
  readonly response?: RestResponse
}

/** A request that has ended, for metrics and traces. */
export type EndedRequest = {
  readonly line: RequestLine
  /** The path with names of parameters in place of values; undefined when no route has answered. */
  readonly route: string | undefined
}

export type RequestLog = {
  /** Whether requests with this status are logged. */
  wants(status: number): boolean
  write(line: RequestLine): void
  /** Called for each request at its end. Read each time. */
  readonly ended?: ((request: EndedRequest, response: ServerResponse) => void) | undefined
}

type Note = {
  readonly log: RequestLog
  readonly method: string
  readonly path: string
  readonly start: number
  requestId: string
  role: string | null
  route: string | undefined
}

const note = Symbol('log fields of a response')
type NotedResponse = ServerResponse & { [note]?: Note }

const longestPath = 1000

/** The path of a request target, without the query string, and truncated when very long. */
export function pathOf(target: string): string {
  const end = target.indexOf('?')
  const path = end === -1 ? target : target.slice(0, end)
  return path.length > longestPath ? `${path.slice(0, longestPath)}…` : path
}

/** The client's `X-Request-Id` if it is a short plain word, so that its logs can be correlated; otherwise a new id. */
export function requestIdOf(header: string | readonly string[] | undefined): string {
  return givenRequestId(header) ?? randomUUID()
}

/** The client's `X-Request-Id`; undefined when it is missing, or not a short plain word. */
export const givenRequestId = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[\w.:-]{1,64}$/.test(header) ? header : undefined

/**
 * A handler that goes before all others. It records the start of the request, and writes the line when the response was
 * sent or the client has disconnected.
 */
export function logRequests(
  log: RequestLog,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return (request, response: NotedResponse, next) => {
    response[note] = {
      log,
      method: request.method ?? '',
      // Read before any router removes its mount path from `url`.
      path: pathOf(request.url ?? ''),
      start: performance.now(),
      requestId: requestIdOf(request.headers['x-request-id']),
      role: null,
      route: undefined,
    }
    response.once('close', writeLine)
    next()
  }
}

/** Sets the role of a request for the log. */
export function noteRole(response: ServerResponse, role: string): void {
  const noted = (response as NotedResponse)[note]
  if (noted) noted.role = role
}

/** Sets the route of a request, with the names of its parameters: `/report/{id}`. */
export function noteRoute(response: ServerResponse, route: string): void {
  const noted = (response as NotedResponse)[note]
  if (noted) noted.route = route
}

/** Sets the id of a request for the log to the one in its response. */
export function noteRequestId(response: ServerResponse, id: string): void {
  const noted = (response as NotedResponse)[note]
  if (noted) noted.requestId = id
}

/** The id of this request in the log; null when requests are not logged. */
export function requestIdFor(response: ServerResponse): string | null {
  return (response as NotedResponse)[note]?.requestId ?? null
}

// A shared listener, which avoids a closure per response.
function writeLine(this: NotedResponse): void {
  const noted = this[note]
  if (!noted) return
  const { log, method, path, start, requestId, role, route } = noted
  const isLogged = log.wants(this.statusCode)
  if (!isLogged && !log.ended) return
  const line: RequestLine = {
    kind: 'request',
    method,
    path,
    status: this.statusCode,
    duration: Math.round((performance.now() - start) * 100) / 100,
    role,
    requestId,
    aborted: !this.writableFinished,
    route,
    source: this.req,
  }
  if (isLogged) log.write(line)
  log.ended?.({ line, route }, this)
}
