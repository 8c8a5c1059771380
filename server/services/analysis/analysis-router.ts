// The routes of the image analysis below its prefix.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type RequestHandler, type Router } from 'express'
import { withCors } from '../../http/cors.ts'
import { givenRequestId, noteRequestId } from '../../http/request-log.ts'
import { baseDescription } from './description.ts'
import { healthResponse } from './health-response.ts'
import { predict, predictBatch, predictOlder, type PredictSettings } from './predict-routes.ts'
import { internalError, Problem, problemOf, sendJson } from './problem.ts'
import { ClientGone } from './receive.ts'

/** Handlers of the documentation page and the OpenAPI document of the whole service. */
export type Documentation = { readonly docs: RequestHandler; readonly document: RequestHandler }

export type AnalysisRouterSettings = PredictSettings & {
  /** Paths of ONNX files; null without one. */
  readonly classifier: string | null
  readonly detector: string | null
  /** `GET {prefix}/docs` and `GET {prefix}/openapi.json`. Undefined at the root, where the service has both routes. */
  readonly documentation: Documentation | undefined
}

/**
 * The routes below the prefix. Errors have FastAPI's format (see `problem.ts`). At the root, unknown paths go to the next
 * handler.
 */
export function analysisRouter(settings: AnalysisRouterSettings): Router {
  const { prefix, predictor, documentation } = settings
  const isRoot = prefix === '/'
  const router = express.Router()
  // Mounted before `withCors`, because both set their own CORS headers.
  if (documentation) {
    router.use('/docs', documentation.docs)
    router.use('/openapi.json', documentation.document)
  }
  router.use((request, response, next) => withCors(() => next(), settings.caller.allowedOrigins)(request, response))
  router.use(identifyRequest)

  if (!isRoot) {
    route(router, '/', { GET: (_request, response) => sendJson(response, 200, baseDescription(prefix)) })
    route(router, '/ready', {
      GET: async (_request, response) => {
        const reason = await predictor.unusable()
        if (reason) sendJson(response, 503, { status: 'not ready', detail: reason.detail })
        else sendJson(response, 200, { status: 'ready' })
      },
    })
  }
  route(router, '/health', { GET: (_request, response) => sendJson(response, 200, healthResponse(settings)) })
  route(router, '/v1/health', { GET: (_request, response) => sendJson(response, 200, { status: 'healthy' }) })
  route(router, '/predict', { POST: (request, response) => predict(request, response, settings) })
  route(router, '/predict/batch', { POST: (request, response) => predictBatch(request, response, settings) })
  route(router, '/v1/predict', { POST: (request, response) => predictOlder(request, response, settings) })
  route(router, '/ws/live-detect', {
    GET: () => {
      throw new Problem(426, 'This is a WebSocket.', { Connection: 'Upgrade', Upgrade: 'websocket' })
    },
  })
  if (!isRoot) {
    router.use(() => {
      throw new Problem(404, 'Not Found')
    })
  }
  const answerErrors: express.ErrorRequestHandler = (error: unknown, _request, response, next) => {
    if (response.headersSent) next(error)
    else respondTo(error, response, settings.onError)
  }
  router.use(answerErrors)
  return router
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

/** GET also handles HEAD. All other methods get 405. */
function route(router: Router, path: string, methods: Readonly<Partial<Record<'GET' | 'POST', Answer>>>): void {
  const allowed = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  router.all(path, async (request, response) => {
    const answer = methods[(request.method === 'HEAD' ? 'GET' : request.method) as 'GET' | 'POST']
    if (!answer) throw new Problem(405, 'Method Not Allowed', { Allow: allowed.join(', ') })
    await answer(request, response)
  })
}

/** Sets the request id in the response and the log: the client's, or a new one. */
const identifyRequest: RequestHandler = (request, response, next) => {
  const id = givenRequestId(request.headers['x-request-id']) ?? randomUUID().replaceAll('-', '')
  noteRequestId(response, id)
  response.setHeader('X-Request-ID', id)
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
