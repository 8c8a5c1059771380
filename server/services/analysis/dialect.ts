// The dialect of the image analysis, and its router: errors, unknown paths and methods have FastAPI's format (see `problem.ts`).
import { randomUUID } from 'node:crypto'
import type { RequestHandler, Router } from 'express'
import { publicCors } from '../../http/cross-origin.ts'
import { exactRouter } from '../../http/exact-router.ts'
import { givenRequestId, noteRequestId } from '../../http/request-log.ts'
import { createRouter, mounted, type Guard, type MountedRouter, type RouterDialect } from '../../http/router.ts'
import { analysisRoutes, type AnalysisRouteSettings } from './analysis-routes.ts'
import { internalError, Problem, problemOf, sendJson } from './problem.ts'
import { ClientGone } from './receive.ts'

/** The page and the document of the whole service: what is mounted at `docs` and at `openapi.json`. */
export type Documentation = ReadonlyMap<string, MountedRouter>

export type AnalysisRouterSettings = AnalysisRouteSettings & {
  /** Has no part in the analysis at the root, where the service has both paths. */
  readonly documentation: Documentation
}

const methodNotAllowed = (_method: string, allowed: string): Problem =>
  new Problem(405, 'Method Not Allowed', { Allow: allowed })

export const analysisDialect: RouterDialect<AnalysisRouteSettings> = {
  ignoresLastSlash: () => true,
  methodNotAllowed,
  unknownPath: () => {
    throw new Problem(404, 'Not Found')
  },
  failed: (error, { onError }) => {
    if (error instanceof ClientGone) return (response) => response.destroy()
    const known = problemOf(error)
    if (!known) onError(error)
    const { status, detail, headers } = known ?? internalError()
    return (response) => sendJson(response, status, { detail }, headers)
  },
}

/** The routes below the prefix. At the root, unknown paths go to the next handler. */
export function analysisRouter({ documentation, ...tools }: AnalysisRouterSettings): Router {
  const { prefix } = tools
  const isRoot = prefix === '/'
  const documents: Documentation = isRoot ? new Map() : documentation
  const refuseOtherMethods: Guard = ({ method = '' }, _response, target) => {
    if (documents.has(target.split(/[/?]/, 2)[1] ?? '')) throw methodNotAllowed(method, documentMethods.join(', '))
    return false
  }
  const router = exactRouter()
  router.use(identifyRequest)
  // They have cross-origin headers of their own.
  for (const [segment, handler] of documents) router.use(`/${segment}`, forMethods(documentMethods, handler))
  const routes = createRouter({
    dialect: analysisDialect,
    basePath: prefix,
    routes: analysisRoutes(prefix),
    guards: [publicCors(tools.caller.allowedOrigins), exposeHeaders, refuseOtherMethods],
    tools,
    passesOn: isRoot,
  })
  return router.use(mounted(routes))
}

const documentMethods = ['GET', 'HEAD', 'OPTIONS']

/** Passes requests with other methods on. */
const forMethods =
  (methods: readonly string[], handler: MountedRouter): RequestHandler =>
  (request, response, next) => {
    if (methods.includes(request.method)) handler(request, response, next)
    else next()
  }

/** Sets the request id in the response and the log: the client's, or a new one. */
const identifyRequest: RequestHandler = (request, response, next) => {
  const id = givenRequestId(request.headers['x-request-id']) ?? randomUUID().replaceAll('-', '')
  noteRequestId(response, id)
  response.setHeader('X-Request-ID', id)
  next()
}

/** Lets pages of other origins read the headers of these routes. */
const exposeHeaders: Guard = ({ headers }, response) => {
  if (headers.origin !== undefined) {
    response.appendHeader('Access-Control-Expose-Headers', 'X-Request-ID, X-Batch-Failed, Retry-After')
  }
  return false
}
