// The routes that say what the service is, how it is, and how to use it.
import express, { type RequestHandler } from 'express'
import { requireBearerScheme } from '../../http/authorization-scheme.ts'
import { publicCors } from '../../http/cors.ts'
import { notFound } from '../../http/envelope.ts'
import type { JsonSchema } from '../../http/json-schema.ts'
import type { Route } from '../../http/route.ts'
import type { RouteTable } from '../../http/route-router.ts'
import { dto, record, text } from '../../http/service-answer.ts'
import { entrypoint } from '../../services/analysis/description.ts'
import { docsRouter } from '../../services/openapi/docs.ts'
import { health, ready, type Check, type Handler } from './health.ts'
import { home, type Home } from './home.ts'

export type OperationParts = Omit<Home, 'entrypoint'> & {
  /** Mount path of the image analysis. */
  readonly imageBasePath: string
  /** What `GET /ready` asks for, by the names in its response. */
  readonly checks: Readonly<Record<string, Check>>
  /** `GET /openapi.json`. */
  readonly document: Handler
  /** Origins whose pages may read the responses; read at each request. */
  readonly allowedOrigins: () => readonly string[]
}

/**
 * `/ready`, `/openapi.json` and `/docs/`; `/health` unless the image analysis is mounted at the root, where it has that
 * path and says more; `/` unless the REST API is mounted there.
 */
export function operationTables(parts: OperationParts): readonly RouteTable[] {
  const cors = publicCors(parts.allowedOrigins)
  const docs = docsApplication()
  return [
    { guards: [cors], routes: [...(parts.imageBasePath === '/' ? [] : [healthRoute]), readyRoute(parts.checks)] },
    { guards: [requireBearerScheme, cors], routes: documentRoutes(parts.document) },
    { guards: [], routes: docsRoutes(docs) },
    ...(parts.restBasePath === '/' ? [] : [{ guards: [cors], routes: [homeRoute(parts)] }]),
  ]
}

const operation = { method: 'get', tag: 'operations', security: [] } as const

const healthRoute: Route = {
  ...operation,
  path: '/health',
  id: 'health',
  summary: 'Whether the process answers',
  responses: { 200: { description: 'It does.', schema: record({ status: { const: 'ok' } }) } },
  prepare: health,
}

const readyRoute = (checks: OperationParts['checks']): Route => ({
  ...operation,
  path: '/ready',
  id: 'ready',
  summary: 'Whether the service can do its work',
  responses: {
    200: { description: 'It can.', schema: readiness('ready') },
    503: { description: 'It cannot, for the checks that are false.', schema: readiness('not ready') },
  },
  prepare: () => ready(checks),
})

const readiness = (status: string): JsonSchema =>
  record({ status: { const: status }, checks: { type: 'object', additionalProperties: { type: 'boolean' } } })

const restError: JsonSchema = { $ref: '#/components/schemas/RestError' }

/** The document; `/docs-json` is its name in the original service. */
function documentRoutes(handler: Handler): readonly Route[] {
  const route: Route = {
    ...operation,
    path: '/openapi.json',
    id: 'describe',
    summary: 'This document',
    responses: {
      200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } },
      401: {
        description: 'The credential is wrong or expired, or nobody may do this without one.',
        schema: { anyOf: [restError, dto('ErrorResponseDto')] },
      },
      403: { description: 'The role of the caller may not do this.', schema: restError },
      500: { description: 'Something went wrong on the server.', schema: restError },
      503: { description: 'Something that this needs is missing at the moment.', schema: restError },
      504: { description: 'No connection to the database was free in time.', schema: restError },
    },
    prepare: () => handler,
  }
  return [route, { ...route, path: '/docs-json', id: 'describeAgain', hidden: true }]
}

/** An application of its own: serving files takes more of Express than its router. */
const docsApplication = (): RequestHandler =>
  express()
    .disable('x-powered-by')
    .use(docsRouter({ documentUrl: '/openapi.json' }), notFound)

/** The page and, not described, the files that it loads. */
function docsRoutes(application: RequestHandler): readonly Route[] {
  const route: Route = {
    ...operation,
    path: '/docs/',
    id: 'docs',
    summary: 'This document as a page',
    responses: {
      200: { description: 'A page.', media: 'text/html', schema: text },
      304: { description: 'The page has not changed since the client got it.' },
    },
    prepare: () => application,
  }
  return [route, { ...route, path: '/docs/{file}', id: 'docsFile', hidden: true }]
}

const homeRoute = ({ imageBasePath, ...parts }: OperationParts): Route => ({
  ...operation,
  path: '/',
  id: 'home',
  summary: 'What the service is',
  hidden: true,
  responses: { 200: { description: 'JSON; a page where the client prefers HTML.', schema: { type: 'object' } } },
  prepare: () => home({ ...parts, entrypoint: entrypoint(imageBasePath) }),
})
