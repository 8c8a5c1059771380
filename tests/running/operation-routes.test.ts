// The routes that say what the service is and how it is: each status that they document can be provoked, and they answer no
// other.
import t from 'tap'
import { describedRoutes } from '../../server/running/service-routes.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { walkRoute, type Provocation } from '../support/documented-answers.ts'
import { createGate } from '../support/gate.ts'
import { createLatch } from '../support/latch.ts'
import { bearer } from '../support/token.ts'
import { tables } from '../support/service-routes.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const latch = await createLatch(t, database)
await database.query(`
  create function public.hold() returns void language sql as 'select ${latch.wait}';
  grant execute on function public.hold() to anon;
`)
const uri = database.authenticatorUri
const { port } = await createGate(t, database.port)
const { call } = await startApplication(t, uri)
const unreachable = await startApplication(t, uri.replace(`:${database.port}/`, `:${port}/`))
const withoutSecret = await startApplication(t, uri, { PGRST_JWT_SECRET: '' })
const exhausted = await startApplication(t, uri, { PGRST_DB_POOL: '1', PGRST_DB_POOL_ACQUISITION_TIMEOUT: '0' })

const notGranted = await bearer('postgres')
const unknown = await bearer('nowhere')
const document = (Authorization: string) => call('GET', '/openapi.json', { headers: { Authorization } })

/** By the id of the route. */
const requests: Readonly<Record<string, readonly Provocation[]>> = {
  health: [
    [200, () => call('GET', '/health')],
    [200, () => unreachable.call('GET', '/health')],
  ],
  ready: [
    [200, () => call('GET', '/ready')],
    [503, () => unreachable.call('GET', '/ready')],
  ],
  describe: [
    [200, () => call('GET', '/openapi.json')],
    [401, () => document('Bearer x')],
    [401, () => document('Basic x')],
    [401, () => document(unknown)],
    [403, () => document(notGranted)],
    [500, () => withoutSecret.call('GET', '/openapi.json', { headers: { Authorization: notGranted } })],
    [503, () => unreachable.call('GET', '/openapi.json')],
    [
      504,
      async () => {
        const held = exhausted.call('POST', '/rest/v1/rpc/hold')
        t.ok(await latch.isAwaited(), 'the only connection is taken')
        const answer = await exhausted.call('GET', '/openapi.json')
        await latch.release()
        t.equal((await held).status, 204)
        return answer
      },
    ],
  ],
  docs: [
    [200, () => call('GET', '/docs/')],
    [
      304,
      async () => {
        const ETag = (await call('GET', '/docs/')).headers.get('etag') ?? ''
        // `fetch` would ask for a fresh copy.
        return call('GET', '/docs/', { headers: { 'If-None-Match': ETag, 'Cache-Control': 'max-age=0' } })
      },
    ],
  ],
}

t.test('each route answers what it documents, and all of it', async (t) => {
  const routes = describedRoutes(tables).filter(({ tag }) => tag === 'operations')
  t.strictSame(Object.keys(requests).sort(), routes.map(({ id }) => id).sort(), 'there are requests for each')
  for (const route of routes) await walkRoute(t, route, requests[route.id] ?? [])
})
