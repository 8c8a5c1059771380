// Composes the routes into a request listener, which tests can use without a port.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type express from 'express'
import { sendFailure, unknownPath } from '../http/envelope.ts'
import { exactRouter, isAmbiguous } from '../http/exact-router.ts'
import type { Log } from './operations/log.ts'
import type { RequestRecorder } from './operations/request-recorder.ts'
import { logRequests, type EndedRequest } from '../http/request-log.ts'
import { mounted, type Router } from '../http/router.ts'
import { isBelow } from '../adapters/base-path.ts'
import { functionsPath } from '../services/functions/dialect.ts'
import { mcpPath, metadataPath } from '../services/mcp/dialect.ts'
import { realtimePath } from '../services/realtime/dialect.ts'
import { storagePath } from '../services/storage/dialect.ts'
import type { NodeHandler } from '../adapters/node.ts'
import { serverName } from '../common/version.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

export type AppOptions = {
  /** Undefined: the server has no REST API. */
  readonly rest: NodeHandler | undefined
  /** Mount path of the REST API: `/rest/v1`, or `/`. */
  readonly restBasePath: string
  /** The other routes by their first path segment: `report`, `auth`, `health` …; that of `/` is empty. */
  readonly services: ReadonlyMap<string, Router>
  /** The image analysis, and its mount path, if the server has it. */
  readonly analysis: { readonly path: string; readonly router: Router } | undefined
  /** The storage service at `/storage/v1`, if the server has it. */
  readonly storage: Handler | undefined
  /** The realtime service at `/realtime/v1`, if the server has it. */
  readonly realtime?: Handler | undefined
  /** The functions at `/functions/v1`, if the server has them. */
  readonly functions?: Handler | undefined
  /** The tools for agents at `/mcp`, if the server has them. */
  readonly mcp?: Handler | undefined
  /** Finds the handler for paths of services that the server does not have. */
  readonly missing?: (target: string) => Handler | undefined
  /** Responds to a request if it is refused because the server is overloaded; otherwise returns false. */
  readonly refuse?: (request: IncomingMessage, response: ServerResponse, target: string, isRest: boolean) => boolean
  /** Receives a line for each request to the other routes; the REST API logs its own requests. */
  readonly log: Log
  /** Undefined: nothing is recorded of requests. */
  readonly recorder?: RequestRecorder | undefined
}

const absoluteForm = /^https?:\/\/[^/?#]*/i

/** A request target in origin form. Removes the origin from a target in absolute form. RFC 9112, section 3.2 */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const path = target.replace(absoluteForm, '')
  return path === target || path.startsWith('/') ? path : `/${path}`
}

/** The first segment of a request target. */
function firstSegment(target: string): string {
  let end = 1
  while (end < target.length && target[end] !== '/' && target[end] !== '?') end++
  return target.slice(1, end)
}

/**
 * The listener of the HTTP server. Requests to the REST API bypass Express, which would take longer than the REST API
 * itself. All other requests go through an Express router.
 */
export function createApp({
  rest,
  restBasePath,
  services,
  analysis,
  storage,
  realtime,
  functions,
  mcp,
  missing = () => undefined,
  refuse = () => false,
  log,
  recorder,
}: AppOptions): RequestListener {
  const ended = recorder && ((request: EndedRequest, response: ServerResponse) => recorder.ended(request, response))
  const logRequest = logRequests({
    wants: log.wants,
    write: log.write,
    get ended() {
      return recorder?.isActive ? ended : undefined
    },
  })
  const servesRoot = restBasePath === '/'
  // If one path is below the other, the longer one takes precedence.
  const hidden =
    analysis && analysis.path !== '/' && (servesRoot || analysis.path.length > restBasePath.length)
      ? analysis.path
      : undefined
  const isRest = (target: string): boolean => {
    if (hidden !== undefined && isBelow(target, hidden)) return false
    if (mcp && isMcp(target)) return false
    return servesRoot ? !services.has(firstSegment(target)) : isBelow(target, restBasePath)
  }
  const isAnalysis = (target: string): boolean =>
    analysis !== undefined && analysis.path !== '/' && isBelow(target, analysis.path)
  let router: express.Router | undefined
  const serviceRouter = (): express.Router => (router ??= routerOf(services, analysis, logRequest))
  const serve = (request: IncomingMessage, response: ServerResponse, target: string): void => {
    const direct =
      storage && isBelow(target, storagePath)
        ? storage
        : realtime && isBelow(target, realtimePath)
          ? realtime
          : functions && isBelow(target, functionsPath)
            ? functions
            : mcp && isMcp(target)
              ? mcp
              : isAnalysis(target)
                ? undefined
                : missing(target)
    if (direct) logRequest(request, response, () => direct(request, response))
    else if (isAmbiguous(target)) logRequest(request, response, () => notFound(request, response))
    else serviceRouter()(request as express.Request, response as express.Response, () => notFound(request, response))
  }
  return (request, response) => {
    const target = originForm(request.url ?? '/')
    request.url = target
    if (rest && isRest(target)) {
      if (refuse(request, response, target, true)) return
      if (recorder?.isActive) recorder.rest(request, response, () => rest(request, response))
      else rest(request, response)
      return
    }
    if (refuse(request, response, target, false)) return
    response.setHeader('Server', serverName)
    if (recorder?.isActive) recorder.service(request, response, () => serve(request, response, target))
    else serve(request, response, target)
  }
}

const isMcp = (target: string): boolean => isBelow(target, mcpPath) || isBelow(target, metadataPath)

function routerOf(
  services: AppOptions['services'],
  analysis: AppOptions['analysis'],
  logRequest: express.RequestHandler,
): express.Router {
  const router = exactRouter()
  router.use(logRequest)
  for (const [segment, handler] of services) if (segment !== '') router.use(`/${segment}`, mounted(handler))
  if (analysis) router.use(analysis.path, mounted(analysis.router))
  const home = services.get('')
  // `use` would match all other paths, too.
  if (home) router.all('/', mounted(home))
  return router
}

function notFound(request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  sendFailure(response, unknownPath(request.method, request.url ?? '/'))
}
