// Every route of the service beside the REST resources. A new route is a new entry, its body a schema in `schemas/`.
import { accountRoutes } from '../accounts/account-routes.ts'
import type { JsonSchema } from '../../http/json-schema.ts'
import { reportRoutes } from '../report/report-routes.ts'
import { text, record } from '../../http/service-answer.ts'
import type { ServiceRoute } from '../../http/service-route.ts'

const operationRoutes: readonly ServiceRoute[] = [
  {
    method: 'get',
    path: '/health',
    id: 'health',
    tag: 'operations',
    summary: 'Whether the process answers',
    security: [],
    responses: { 200: { description: 'It does.', schema: record({ status: { const: 'ok' } }) } },
  },
  {
    method: 'get',
    path: '/ready',
    id: 'ready',
    tag: 'operations',
    summary: 'Whether the service can do its work',
    security: [],
    responses: {
      200: { description: 'It can.', schema: readiness('ready') },
      503: { description: 'It cannot, for the checks that are false.', schema: readiness('not ready') },
    },
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'describe',
    tag: 'operations',
    summary: 'This document',
    security: [],
    responses: { 200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } } },
  },
  {
    method: 'get',
    path: '/docs/',
    id: 'docs',
    tag: 'operations',
    summary: 'This document as a page',
    security: [],
    responses: { 200: { description: 'A page.', media: 'text/html', schema: text } },
  },
]

export const serviceRoutes: readonly ServiceRoute[] = [...accountRoutes, ...reportRoutes, ...operationRoutes]

function readiness(status: string): JsonSchema {
  return record({
    status: { const: status },
    checks: { type: 'object', additionalProperties: { type: 'boolean' } },
  })
}
