// A server with more requests than it can serve: what it refuses, how, and what it does not refuse.
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { RefusalBatch } from '../../server/running/overload/refusals.ts'
import { overloadResponder } from '../../server/running/overload/refusal-response.ts'
import { startApplication, type Application } from '../support/application.ts'
import { createFilmDatabase } from '../support/authenticator.ts'
import { createLatch, type Latch } from '../support/latch.ts'
import { listen } from '../support/listening.ts'
import { rawRequest } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

const { database, anonymous, uri } = await createFilmDatabase(t, 3)

const origin = 'https://shop.example'
/** Requests that a pool of two lets wait while none gets its turn. */
const waiting = 200

type Stuck = {
  readonly application: Application
  readonly latch: Latch
  /** The requests that have a connection, and those that wait for one. */
  readonly held: readonly Promise<Response>[]
  readonly abort: () => void
}

/** A server whose connections are all in use, with as many waiting reads as are allowed. */
async function overloaded(t: Test, name: string): Promise<Stuck> {
  const latch = await createLatch(t, database)
  await database.query(
    `create or replace function public.${name}() returns text language plpgsql stable as $$ begin perform ${latch.wait}; return 'done'; end $$`,
  )
  const application = await startApplication(t, uri, {
    PGRST_DB_ANON_ROLE: anonymous,
    PGRST_DB_POOL: '2',
    DB_POOL_RESERVE: '1',
    LOAD_SHEDDING_WAIT: '50',
    PGRST_SERVER_CORS_ALLOWED_ORIGINS: origin,
    PGRST_ADMIN_SERVER_PORT: '1',
  })
  const leaving = new AbortController()
  const held = Array.from({ length: 2 + waiting }, () =>
    fetch(`${application.url}/rest/v1/rpc/${name}`, { signal: leaving.signal }),
  )
  for (const one of held) one.catch(() => undefined)
  t.ok(await latch.isAwaited(2))
  t.ok(await until(() => application.service.database.statistics.waiting === waiting))
  await pause(150)
  return { application, latch, held, abort: () => leaving.abort() }
}

t.test('reads are refused while others wait too long, and served again afterwards', async (t) => {
  const { application, latch, held } = await overloaded(t, 'stuck')
  const { url, call, logged, service } = application
  const refused = await call('GET', '/rest/v1/films', { headers: { Origin: origin } })
  t.strictSame(refused.body, {
    code: 'PGRSTX04',
    message: 'The server is overloaded',
    details: 'Nothing was executed.',
    hint: 'Try again later.',
  })
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '1')
  t.equal(refused.headers.get('access-control-allow-origin'), origin)
  t.match(refused.headers.get('access-control-expose-headers'), 'Retry-After')
  t.notOk(
    (await fetch(`${url}/rest/v1/films`, { headers: { Origin: 'https://evil.example' } })).headers.get(
      'access-control-allow-origin',
    ),
  )
  const head = await fetch(`${url}/rest/v1/films`, { method: 'HEAD' })
  t.strictSame([head.status, head.headers.get('retry-after'), await head.text()], [503, '1', ''])
  t.equal(
    (await fetch(`${url}/rest/v1/films`, { headers: { Authorization: 'Bearer no.token.at.all' } })).status,
    503,
    'credentials are not looked at',
  )

  const flood = await Promise.all(
    Array.from({ length: 200 }, () => fetch(`${url}/rest/v1/films`).then((it) => it.status)),
  )
  t.ok(flood.every((status) => status === 503))
  t.equal(service.database.statistics.waiting, waiting, 'a flood does not make the queue longer')

  const preflight = { Origin: origin, 'Access-Control-Request-Method': 'GET' }
  t.equal((await fetch(`${url}/rest/v1/films`, { method: 'OPTIONS', headers: preflight })).status, 200)
  t.equal((await call('GET', '/health')).status, 200)
  const ready = await call('GET', '/ready')
  t.match(ready, { status: 200, body: { status: 'ready', checks: { database: true }, overload: 'pool' } })
  const metrics = await service.metrics.text()
  t.match(metrics, /rowhouse_shed_requests_total\{reason="pool"\} 20[4-9]/)
  t.match(
    metrics,
    /http_request_duration_seconds_count\{method="GET",route="unknown",role="unknown",status="503"\} 20[3-9]/,
  )
  const lines = logged().filter(({ event, status }) => event === 'request' && status === 503)
  t.match(lines[0], { method: 'GET', path: '/rest/v1/films', role: null, level: 'error' })
  t.ok(lines.length >= 5 && lines.length <= 120, `a flood of 200 has few lines: ${lines.length}`)

  await latch.release()
  const answers = await Promise.all(held)
  t.strictSame(
    answers.map(({ status }) => status),
    held.map(() => 200),
    'those that waited are served',
  )
  t.equal((await fetch(`${url}/rest/v1/films`)).status, 200)
  await service.stop()
  t.match(
    logged().find(({ event }) => event === 'overloaded'),
    { level: 'warn', reason: 'pool', refused: Number },
  )
})

t.test('reads that wait for a lock are not refused, nor is the burst after it', async (t) => {
  const latch = await createLatch(t, database)
  await database.query(
    `create or replace function public.locked() returns text language plpgsql stable as $$ begin perform ${latch.wait}; return 'done'; end $$`,
  )
  const { url, service } = await startApplication(t, uri, {
    PGRST_DB_ANON_ROLE: anonymous,
    PGRST_DB_POOL: '2',
    // Long enough that a busy machine gives the burst its turns in time.
    LOAD_SHEDDING_WAIT: '2000',
    PGRST_ADMIN_SERVER_PORT: '1',
  })
  const read = (): Promise<number> => fetch(`${url}/rest/v1/films`).then(({ status }) => status)
  const held = Array.from({ length: 10 }, () => fetch(`${url}/rest/v1/rpc/locked`).then(({ status }) => status))
  t.ok(await latch.isAwaited(2))
  t.ok(await until(() => service.database.statistics.waiting === 8))
  await pause(2500)
  const reads = Array.from({ length: 10 }, read)
  t.ok(await until(() => service.database.statistics.waiting === 18))
  await latch.release()
  t.ok((await Promise.all([...held, ...reads])).every((status) => status === 200))
  t.strictSame(new Set(await Promise.all(Array.from({ length: 40 }, read))), new Set([200]), 'the burst')
  t.notMatch(await service.metrics.text(), /rowhouse_shed_requests_total\{reason="pool"\} [1-9]/)
})

t.test('a flood of writes that are refused by the pool has few lines in the log', async (t) => {
  const latch = await createLatch(t, database)
  await database.query(
    `create or replace function public.stuck_write() returns text language plpgsql as $$ begin perform ${latch.wait}; return 'done'; end $$`,
  )
  const { url, logged, service } = await startApplication(t, uri, {
    PGRST_DB_ANON_ROLE: anonymous,
    PGRST_DB_POOL: '2',
    LOAD_SHEDDING_WAIT: '50',
    PGRST_ADMIN_SERVER_PORT: '1',
  })
  const write = (): Promise<Response> => fetch(`${url}/rest/v1/rpc/stuck_write`, { method: 'POST' })
  const held = Array.from({ length: 1 + waiting }, write)
  t.ok(await latch.isAwaited(1))
  t.ok(await until(() => service.database.statistics.waiting === waiting))
  await pause(150)
  const flood = await Promise.all(Array.from({ length: 100 }, write))
  t.ok(flood.every(({ status }) => status === 503))
  t.match(await flood[0]?.json(), { code: 'PGRSTX04' })
  t.equal((await fetch(`${url}/rest/v1/films`)).status, 200, 'reads have a connection')
  t.match(await service.metrics.text(), 'rowhouse_shed_requests_total{reason="pool"} 100')
  const lines = logged().filter(({ status, event }) => status === 503 || event === 'database-error')
  t.ok(lines.length >= 5 && lines.length <= 60, `a flood of 100 has few lines: ${lines.length}`)
  t.ok(lines.every(({ event }) => event === 'request'))
  await latch.release()
  for (const { status } of await Promise.all(held)) t.equal(status, 200)
})

t.test('clients that hang up make room for others', async (t) => {
  const { application, latch, abort } = await overloaded(t, 'abandoned')
  t.equal((await fetch(`${application.url}/rest/v1/films`)).status, 503)
  abort()
  t.ok(await until(() => application.service.database.statistics.waiting === 0))
  t.equal((await fetch(`${application.url}/rest/v1/films`)).status, 200)
  await latch.release()
})

t.test('refusals keep their order, and survive clients that hang up', async (t) => {
  const { application, latch, abort } = await overloaded(t, 'ordered')
  const { url, service } = application
  const read = 'GET /rest/v1/films HTTP/1.1\r\nHost: x\r\n'
  const preflight = `OPTIONS /rest/v1/films HTTP/1.1\r\nHost: x\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: GET\r\n`
  const bytes = await rawRequest(url, `${[read, preflight, read, read].join('\r\n')}Connection: close\r\n\r\n`).closed
  t.strictSame(
    [...bytes.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['503', '200', '503', '503'],
    'requests that were sent together',
  )

  const { hostname, port } = new URL(url)
  t.match(await service.metrics.text(), 'rowhouse_shed_requests_total{reason="pool"} 3')
  for (let client = 0; client < 150; client++) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.on('connect', () => {
      socket.write(`${read}\r\n`)
      // Some hang up before the server has read the request, some while the refusal waits.
      if (client % 2 === 0) socket.destroy()
      else setTimeout(() => socket.resetAndDestroy(), client % 7)
    })
  }
  t.ok(await until(async () => /reason="pool"\} \d\d/.test(await service.metrics.text())))
  t.equal((await fetch(`${url}/rest/v1/films`)).status, 503)

  const last = Array.from({ length: 20 }, () => fetch(`${url}/rest/v1/films`).then(({ status }) => status))
  t.strictSame(await Promise.all(last), Array<number>(20).fill(503))
  abort()
  await latch.release()
  await service.stop()
})

t.test('refusals that are sent together are each for its own client', async (t) => {
  const origins = ['https://shop.example', 'https://desk.example', 'https://evil.example', undefined]
  const respond = overloadResponder({
    analysisPath: '/images',
    allowedOrigins: () => origins.slice(0, 2).filter((one) => one !== undefined),
    verbosity: () => 'verbose',
  })
  type Answer = Parameters<typeof respond>
  let together = 0
  const batch = new RefusalBatch<Answer>((answer) => {
    together++
    respond(...answer)
  })
  const url = await listen(t, (request, response) => {
    const target = request.url ?? '/'
    batch.add([request, response, target, target.startsWith('/rest/')])
  })
  const paths = ['/rest/v1/films', '/auth/v1/user', '/storage/v1/object/a/b', '/images/predict', '/report']
  const kinds = paths.flatMap((path) =>
    origins.flatMap((from) => ['GET', 'HEAD'].map((method) => ({ path, from, method }))),
  )
  const clients = Array.from({ length: 200 }, (_, index) => kinds[index % kinds.length]).filter(
    (kind) => kind !== undefined,
  )
  // Between them are clients that hang up in the middle of a body.
  const leaving = clients.slice(0, 50).map(({ path }) => {
    const { socket } = rawRequest(url, `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc`)
    setTimeout(() => socket.resetAndDestroy(), 3)
    return new Promise((resolve) => socket.once('close', resolve))
  })
  await Promise.all(
    clients.map(async ({ path, from, method }) => {
      const response = await fetch(url + path, { method, headers: from === undefined ? {} : { Origin: from } })
      const allowed = from === origins[2] ? null : (from ?? null)
      const name = `${method} ${path} from ${from}`
      t.strictSame([response.status, response.headers.get('access-control-allow-origin')], [503, allowed], name)
      t.equal((await response.text()) === '', method === 'HEAD', name)
    }),
  )
  await Promise.all(leaving)
  t.ok(together >= clients.length)
})

t.test('a refusal has the form of its service, and does not wait for the body', async (t) => {
  const respond = overloadResponder({ analysisPath: '/images', allowedOrigins: () => [], verbosity: () => 'minimal' })
  const url = await listen(t, (request, response) => {
    const target = request.url ?? '/'
    respond(request, response, target, target.startsWith('/rest/'))
  })
  const table: [string, unknown][] = [
    ['/rest/v1/films', { code: 'PGRSTX04', message: 'The server is overloaded' }],
    [
      '/auth/v1/token',
      { code: 503, error_code: 'unexpected_failure', msg: 'The server is overloaded: try again later' },
    ],
    [
      '/storage/v1/object/a/b',
      { statusCode: '503', error: 'SlowDown', code: 'SlowDown', message: 'The server is overloaded: try again later' },
    ],
    ['/images/predict', { detail: 'The server is overloaded: try again later.' }],
    ['/report', { status: 'error', message: 'The server is overloaded: try again later' }],
  ]
  const heads = ['GET', 'HEAD', 'GET'].map((method) => `${method} /rest/v1/films HTTP/1.1\r\nHost: x\r\n`)
  const bytes = await rawRequest(url, `${heads.join('\r\n')}Connection: close\r\n\r\n`).closed
  const responses = bytes.split('HTTP/1.1 503 Service Unavailable\r\n').slice(1)
  const bodies = responses.map((response) => response.slice(response.indexOf('\r\n\r\n') + 4))
  const [, expected] = table[0] ?? []
  t.strictSame(
    bodies.map((body) => (body === '' ? '' : (JSON.parse(body) as unknown))),
    [expected, '', expected],
    'requests that were sent together, one of them without a body in its response',
  )
  const lengths = responses.map((response) => Number(/content-length: (\d+)/i.exec(response)?.[1]))
  const length = Buffer.byteLength(bodies[0] ?? '')
  t.strictSame(lengths, [length, length, length])
  for (const [path, body] of table) {
    const response = await fetch(url + path, { method: 'POST', headers: { Origin: origin }, body: 'x'.repeat(1000) })
    t.equal(response.status, 503, path)
    t.equal(response.headers.get('retry-after'), '1', path)
    t.equal(response.headers.get('access-control-allow-origin'), '*', path)
    t.match(await response.json(), body, path)
    // Only the head of a large body is sent.
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\nabc`)
    const [first] = (await new Promise<Buffer>((resolve) => socket.once('data', resolve))).toString().split('\r\n')
    t.equal(first, 'HTTP/1.1 503 Service Unavailable', path)
    socket.destroy()
  }
})
