// Routes by which dashboards and balancers look at the service.
import { version } from '../../common/version.ts'
import { record } from '../../http/service-response.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { defineStorageRoute, type StorageRoute } from './dialect.ts'

const anyBucket = new JsonStatement('select to_json(id) from storage.buckets limit 1', {
  access: 'read',
  hasNoEffect: true,
})

/** They are not in the OpenAPI document: the server has `/health` and `/ready`. */
const common = { method: 'get', caller: 'anyone', hidden: true } as const

export const statusRoutes: readonly StorageRoute[] = [
  defineStorageRoute({
    ...common,
    path: '/status',
    id: 'getStorageStatus',
    summary: 'Whether the service responds',
    operation: 'storage.status',
    success: [200, { description: 'It does.' }],
    handler: ({ response }) => {
      response.writeHead(200, { 'Content-Length': 0 }).end()
      return undefined
    },
  }),
  defineStorageRoute({
    ...common,
    path: '/version',
    id: 'getStorageVersion',
    summary: 'The version of the server',
    operation: 'storage.version',
    success: [200, { description: 'The version.', media: 'text/plain' }],
    handler: ({ response }) => {
      const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': Buffer.byteLength(version) }
      response.writeHead(200, headers).end(version)
      return undefined
    },
  }),
  defineStorageRoute({
    ...common,
    path: '/health',
    id: 'getStorageHealth',
    summary: 'Whether the database responds',
    operation: 'storage.healthcheck',
    success: [200, { description: 'Whether it does.', schema: record({ healthy: { type: 'boolean' } }) }],
    handler: async ({ context: { database } }) => {
      const isHealthy = await database.admin(anyBucket, []).then(
        () => true,
        () => false,
      )
      return { json: { healthy: isHealthy } }
    },
  }),
]
