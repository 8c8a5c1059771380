// The router of the image analysis, below its own prefix.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { ErrorRequestHandler, RequestHandler, Router } from 'express'
import { publicCors } from '../../http/cross-origin.ts'
import { exactRouter } from '../../http/exact-router.ts'
import { givenRequestId, noteRequestId } from '../../http/request-log.ts'
import { mountRoutes } from '../../http/route-router.ts'
import { analysisRoutes, type AnalysisRouteSettings } from './analysis-routes.ts'
import { internalError, Problem, problemOf, sendJson } from './problem.ts'
import { ClientGone } from './receive.ts'

/** The page and the document of the whole service: what is mounted at `docs` and at `openapi.json`. */
export type Documentation = ReadonlyMap<string, RequestHandler>

export type AnalysisRouterSettings = AnalysisRouteSettings & {
  /** Has no part in the analysis at the root, where the service has both paths. */
  readonly documentation: Documentation
}

/**
 * The routes below the prefix. Errors have FastAPI's format (see `problem.ts`). At the root, unknown paths go to the next
 * handler.
 */
export function analysisRouter(settings: AnalysisRouterSettings): Router {
  const { prefix, documentation } = settings
  const isRoot = prefix === '/'
  const router = exactRouter()
  router.use(identifyRequest)
  const documents = isRoot ? [] : [...documentation]
  // They have cross-origin headers of their own.
  for (const [segment, handler] of documents) router.use(`/${segment}`, forMethods(documentMethods, handler))
  router.use(publicCors(settings.caller.allowedOrigins))
  router.use(exposeHeaders)
  for (const [segment] of documents) router.use(`/${segment}`, methodNotAllowed(...documentMethods))

  mountRoutes(router, analysisRoutes(prefix), { basePath: prefix, tools: settings, methodNotAllowed })
  if (!isRoot) {
    router.use(() => {
      throw new Problem(404, 'Not Found')
    })
  }
  const answerErrors: ErrorRequestHandler = (error: unknown, _request, response, next) => {
    if (response.headersSent) next(error)
    else respondTo(error, response, settings.onError)
  }
  router.use(answerErrors)
  return router
}

const documentMethods = ['GET', 'HEAD', 'OPTIONS']

/** Passes requests with other methods on. */
const forMethods =
  (methods: readonly string[], handler: RequestHandler): RequestHandler =>
  (request, response, next) => {
    if (methods.includes(request.method)) void handler(request, response, next)
    else next()
  }

const methodNotAllowed =
  (...allowed: readonly string[]): RequestHandler =>
  () => {
    throw new Problem(405, 'Method Not Allowed', { Allow: allowed.join(', ') })
  }

/** Sets the request id in the response and the log: the client's, or a new one. */
const identifyRequest: RequestHandler = (request, response, next) => {
  const id = givenRequestId(request.headers['x-request-id']) ?? randomUUID().replaceAll('-', '')
  noteRequestId(response, id)
  response.setHeader('X-Request-ID', id)
  next()
}

/** Lets pages of other origins read the headers of these routes. */
const exposeHeaders: RequestHandler = (request, response, next) => {
  if (request.headers.origin !== undefined) {
    response.appendHeader('Access-Control-Expose-Headers', 'X-Request-ID, X-Batch-Failed, Retry-After')
  }
  next()
}

function respondTo(error: unknown, response: ServerResponse, onError: (error: unknown) => void): void {
  if (error instanceof ClientGone) {
    response.destroy()
    return
  }
  const known = problemOf(error)
  if (!known) onError(error)
  const { status, detail, headers } = known ?? internalError()
  sendJson(response, status, { detail }, headers)
}
