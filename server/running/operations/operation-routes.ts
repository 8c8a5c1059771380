// Home page, health checks, OpenAPI document and API reference.
import type express from 'express'
import { requireBearerScheme } from '../../http/authorization-scheme.ts'
import { publicCors } from '../../http/cross-origin.ts'
import { unknownPath } from '../../http/envelope.ts'
import { loadExpress } from '../../http/express.ts'
import type { JsonSchema } from '../../http/json-schema.ts'
import type { Route, RouteHandler } from '../../http/route.ts'
import type { RouteTable } from '../../http/router.ts'
import { dto, record, text } from '../../http/service-response.ts'
import { entrypoint } from '../../services/analysis/description.ts'
import { guideRouter } from '../../services/guides/guide-router.ts'
import { docsRouter } from '../../services/openapi/docs.ts'
import type { Overload } from '../overload/refusals.ts'
import { health, ready, type Check, type Handler } from './health.ts'
import { home, mailboxLink, type Home } from './home.ts'

export type OperationParts = Omit<Home, 'entrypoint'> & {
  /** Mount path of the image analysis; null without it. */
  readonly imageBasePath: string | null
  /** The checks of `GET /ready`, by their names in its response. */
  readonly checks: Readonly<Record<string, Check>>
  /** Why requests are being refused; undefined when the server is not overloaded. */
  readonly overload?: () => Overload | undefined
  /** `GET /openapi.json`. */
  readonly document: Handler
  /** Origins whose pages may read the responses; read at each request. */
  readonly allowedOrigins: () => readonly string[]
}

/**
 * `/ready`, `/openapi.json` and `/docs/`; `/health` unless the image analysis is mounted at the root, which has its own
 * `/health`; `/` unless the REST API is mounted there.
 */
export function operationTables(parts: OperationParts): readonly RouteTable[] {
  const cors = publicCors(parts.allowedOrigins)
  return [
    { guards: [cors], routes: [...(parts.imageBasePath === '/' ? [] : [healthRoute]), readyRoute(parts)] },
    { guards: [requireBearerScheme, cors], routes: documentRoutes(parts.document) },
    { guards: [], routes: docsRoutes(parts) },
    ...(parts.restBasePath === '/' ? [] : [{ guards: [cors], routes: [homeRoute(parts)] }]),
  ]
}

const operation = { method: 'get', tag: 'operations', security: [] } as const

const healthRoute: Route = {
  ...operation,
  path: '/health',
  id: 'health',
  summary: 'Whether the process responds',
  responses: { 200: { description: 'The process responds.', schema: record({ status: { const: 'ok' } }) } },
  prepare: health,
}

const readyRoute = ({ checks, overload }: Pick<OperationParts, 'checks' | 'overload'>): Route => ({
  ...operation,
  path: '/ready',
  id: 'ready',
  summary: 'Whether the service can serve requests',
  responses: {
    200: { description: 'The service is ready.', schema: readiness('ready') },
    503: { description: 'The service is not ready: some checks are false.', schema: readiness('not ready') },
  },
  prepare: () => ready(checks, overload ? { overload } : {}),
})

const readiness = (status: string): JsonSchema => ({
  type: 'object',
  properties: {
    status: { const: status },
    checks: { type: 'object', additionalProperties: { type: 'boolean' } },
    reasons: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Why checks are false: `unreachable`, `no free connection`, …',
    },
    overload: {
      enum: ['pool', 'processor'],
      description: 'Present while requests are refused: they wait too long for a connection, or for the processor.',
    },
  },
  required: ['status', 'checks'],
})

const restError: JsonSchema = { $ref: '#/components/schemas/RestError' }

/** The OpenAPI document; `/docs-json` is an alias from the original service. */
function documentRoutes(handler: Handler): readonly Route[] {
  const route: Route = {
    ...operation,
    path: '/openapi.json',
    id: 'describe',
    summary: 'This document',
    responses: {
      200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } },
      401: {
        description: 'The credentials are missing, invalid or expired.',
        schema: { anyOf: [restError, dto('ErrorResponseDto')] },
      },
      403: { description: 'The role of the caller may not do this.', schema: restError },
      500: { description: 'Internal server error.', schema: restError },
      503: { description: 'The database or the schema cache is not available at the moment.', schema: restError },
      504: { description: 'No database connection became free in time.', schema: restError },
    },
    prepare: () => handler,
  }
  return [route, { ...route, path: '/docs-json', id: 'describeAgain', hidden: true }]
}

/** A separate Express application, because `sendFile` needs more than a router. */
const docsApplication = ({ restBasePath, hasMailbox }: OperationParts): express.Express =>
  loadExpress()()
    .disable('x-powered-by')
    .enable('case sensitive routing')
    .use(
      '/guide',
      guideRouter([
        ...(restBasePath === '/' ? [] : [{ text: 'Home', href: '../../' }]),
        { text: 'API reference', href: '../' },
      ]),
    )
    .use(
      docsRouter({
        documentUrl: '/openapi.json',
        links: [
          ...(restBasePath === '/' ? [] : [{ text: 'Home', href: '../' }]),
          { text: 'Guides', href: 'guide/' },
          ...(hasMailbox ? [{ text: 'Mailbox', href: `../${mailboxLink}` }] : []),
        ],
      }),
    )
    .use(({ method, originalUrl }) => {
      throw unknownPath(method, originalUrl)
    })

/** The page, the files that it loads, and the guides, which are hidden. */
function docsRoutes(parts: OperationParts): readonly Route[] {
  let application: express.Express | undefined
  const handle: RouteHandler = (request, response, { target }) =>
    // The application responds, or fails.
    new Promise((_resolve, reject) => {
      application ??= docsApplication(parts)
      application(
        Object.assign(request, { url: target.startsWith('/') ? target : `/${target}` }) as express.Request,
        response as express.Response,
        reject,
      )
    })
  const route: Route = {
    ...operation,
    path: '/docs/',
    id: 'docs',
    summary: 'This document as a page',
    responses: {
      200: { description: 'A page.', media: 'text/html', schema: text },
      304: { description: 'The page has not changed.' },
    },
    prepare: () => handle,
  }
  return [
    route,
    { ...route, path: '/docs/{file}', id: 'docsFile', hidden: true },
    { ...route, path: '/docs/guide/{*topic}', id: 'guide', hidden: true },
  ]
}

const homeRoute = ({ imageBasePath, ...parts }: OperationParts): Route => ({
  ...operation,
  path: '/',
  id: 'home',
  summary: 'What the service is',
  hidden: true,
  responses: { 200: { description: 'JSON; a page where the client prefers HTML.', schema: { type: 'object' } } },
  prepare: () => home({ ...parts, entrypoint: imageBasePath === null ? {} : entrypoint(imageBasePath) }),
})
