// The dialect of the image analysis, and its router: errors, unknown paths and methods have FastAPI's format (see `problem.ts`).
import { randomUUID } from 'node:crypto'
import { publicCors } from '../../http/cross-origin.ts'
import { givenRequestId, noteRequestId } from '../../http/request-log.ts'
import { createRouter, type Guard, type Router, type RouterDialect } from '../../http/router.ts'
import type { AnalysisRouteSettings } from './analysis-routes.ts'
import { internalError, Problem, problemOf, sendJson } from './problem.ts'
import { ClientGone } from './receive.ts'

/** The page and the document of the whole service: what is mounted at `docs` and at `openapi.json`. */
export type Documentation = ReadonlyMap<string, Router>

export type AnalysisRouterSettings = AnalysisRouteSettings & {
  /** Has no part in the analysis at the root, where the service has both paths. */
  readonly documentation: Documentation
}

const methodNotAllowed = (_method: string, allowed: string): Problem =>
  new Problem(405, 'Method Not Allowed', { Allow: allowed })

const analysisDialect: RouterDialect<AnalysisRouteSettings> = {
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
  const documentOf = (target: string): readonly [router: Router | undefined, below: string] => {
    const [, segment = ''] = target.split(/[/?]/, 2)
    return [isRoot ? undefined : documentation.get(segment), target.slice(segment.length + 1)]
  }
  return createRouter({
    dialect: analysisDialect,
    basePath: prefix,
    routes: async () => (await import('./analysis-routes.ts')).analysisRoutes(prefix),
    guards: [
      identifyRequest,
      // They have cross-origin headers of their own.
      (request, response, target) => {
        const [document, below] = documentMethods.includes(request.method ?? '') ? documentOf(target) : []
        document?.(request, response, below ?? '')
        return document !== undefined
      },
      publicCors(tools.caller.allowedOrigins),
      exposeHeaders,
      ({ method = '' }, _response, target) => {
        if (documentOf(target)[0]) throw methodNotAllowed(method, documentMethods.join(', '))
        return false
      },
    ],
    tools,
    passesOn: isRoot,
  })
}

const documentMethods = ['GET', 'HEAD', 'OPTIONS']

/** Sets the request id in the response and the log: the client's, or a new one. */
const identifyRequest: Guard = (request, response) => {
  const id = givenRequestId(request.headers['x-request-id']) ?? randomUUID().replaceAll('-', '')
  noteRequestId(response, id)
  response.setHeader('X-Request-ID', id)
  return false
}

/** Lets pages of other origins read the headers of these routes. */
const exposeHeaders: Guard = ({ headers }, response) => {
  if (headers.origin !== undefined) {
    response.appendHeader('Access-Control-Expose-Headers', 'X-Request-ID, X-Batch-Failed, Retry-After')
  }
  return false
}
