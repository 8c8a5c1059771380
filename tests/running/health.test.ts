import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { connectionErrors } from '../../server/postgres/connection-error.ts'
import { health, ready } from '../../server/running/operations/health.ts'
import { until } from '../support/until.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function serve(t: Test, handler: Handler): Promise<string> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const never = new Promise<boolean>(() => undefined)

t.test('/health and /ready: state of the database -> response', async (t) => {
  const ok = { database: () => Promise.resolve(true), schemaCache: () => true }
  const table: [string, Handler, string, number, unknown][] = [
    ['alive', health(), 'GET', 200, { status: 'ok' }],
    ['alive, without a body', health(), 'HEAD', 200, undefined],
    ['ready', ready(ok), 'GET', 200, { status: 'ready', checks: { database: true, schemaCache: true } }],
    ['ready, without a body', ready(ok), 'HEAD', 200, undefined],
    [
      'no schema cache',
      ready({ ...ok, schemaCache: () => false }),
      'GET',
      503,
      { status: 'not ready', checks: { database: true, schemaCache: false } },
    ],
    [
      'a check that rejects',
      ready({ ...ok, database: () => Promise.reject(new Error('postgresql://u:p@h')) }),
      'GET',
      503,
      { status: 'not ready', checks: { database: false, schemaCache: true }, reasons: { database: 'failed' } },
    ],
    [
      'a database that cannot be reached',
      ready({
        ...ok,
        database: () => Promise.reject(connectionErrors.notConnected('connect ECONNREFUSED 10.0.0.7', {})),
      }),
      'GET',
      503,
      { status: 'not ready', checks: { database: false, schemaCache: true }, reasons: { database: 'unreachable' } },
    ],
    [
      'no connection in time',
      ready({ ...ok, database: () => Promise.reject(connectionErrors.timedOut()) }),
      'GET',
      503,
      {
        status: 'not ready',
        checks: { database: false, schemaCache: true },
        reasons: { database: 'no free connection' },
      },
    ],
    [
      'overloaded, but ready',
      ready(ok, { overload: () => 'pool' }),
      'GET',
      200,
      { status: 'ready', checks: { database: true, schemaCache: true }, overload: 'pool' },
    ],
    [
      'a check that throws',
      ready({
        database: () => {
          throw new Error('x')
        },
      }),
      'GET',
      503,
      { status: 'not ready', checks: { database: false }, reasons: { database: 'failed' } },
    ],
    [
      'a check that hangs',
      ready({ database: () => never }, { timeout: 50 }),
      'GET',
      503,
      { status: 'not ready', checks: { database: false }, reasons: { database: 'no answer within 0.05 s' } },
    ],
  ]
  for (const [name, handler, method, status, body] of table) {
    const response = await fetch(await serve(t, handler), { method })
    const text = await response.text()
    t.equal(response.status, status, name)
    t.strictSame(text === '' ? undefined : JSON.parse(text), body, name)
    t.equal(response.headers.get('cache-control'), 'no-store', name)
    t.equal(response.headers.get('allow'), status === 405 ? 'GET, HEAD' : null, name)
  }
})

t.test('concurrent requests share one check; later ones check again', async (t) => {
  let count = 0
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  const handler = ready({ database: async () => (count++, await gate, count === 1) })
  let arrived = 0
  const url = await serve(t, (request, response) => {
    handler(request, response)
    arrived++
  })
  const asked = Array.from({ length: 10 }, () => fetch(url))
  t.ok(await until(() => arrived === 10))
  release()
  t.strictSame(new Set((await Promise.all(asked)).map(({ status }) => status)), new Set([200]))
  t.equal(count, 1)
  t.equal((await fetch(url)).status, 503)
  t.equal(count, 2)
})
