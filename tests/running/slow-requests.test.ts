// Incomplete requests: they end after `server-request-timeout`, and use no resources until then.
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import t from 'tap'
import { Failure } from '../../server/http/envelope.ts'
import { envelopeBodyReader } from '../../server/http/envelope-dialect.ts'
import { requestTimeouts } from '../../server/running/request-timeouts.ts'
import { startApplication } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { createFixtureDatabase } from '../support/fixture.ts'
import { postHead, rawRequest } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

const database = await createFixtureDatabase('writes')
t.teardown(() => database.drop())

await database.query(`
  create function garage.naps() returns text stable language sql as $$
    select 'rested' from (select pg_sleep(2)) as nap
  $$`)
const seconds = 1
const application = await startApplication(t, database.uri('garage_server', 'garage'), {
  PGRST_DB_SCHEMAS: 'garage',
  PGRST_DB_ANON_ROLE: 'garage_anon',
  PGRST_DB_POOL: '1',
  PGRST_DB_CHANNEL_ENABLED: 'false',
  REST_BODY_LIMIT: '1mb',
  REST_BODY_BUDGET: '300kb',
  PGRST_DB_POOL_ACQUISITION_TIMEOUT: '1',
})
const { call, service } = application

/** The service with the HTTP options that `serve` uses. */
const server = createServer(requestTimeouts(seconds), service.listener)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => {
  server.closeAllConnections()
  server.close()
})
const address = server.address()
if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
const url = `http://127.0.0.1:${address.port}`

const isIdle = (): boolean => {
  const { idle, total, waiting } = service.database.statistics
  return idle === total && waiting === 0
}
const notes = '/rest/v1/notes'
const big = `{"message":"${'x'.repeat(200_000)}`

const rows: readonly (readonly [title: string, sent: string, drip: string])[] = [
  ['incomplete headers', 'GET /rest/v1/notes HTTP/1.1\r\nHost: x\r\n', ''],
  ['headers that arrive slowly', 'GET /rest/v1/notes HTTP/1.1\r\nHost: x\r\n', 'X-Drip: y\r\n'],
  ['an incomplete body', `${postHead(notes, 100)}{"message":`, ''],
  ['a body that arrives slowly', `${postHead(notes, 100)}{"message":"`, 'x'],
  ['a chunked body that arrives slowly', `${postHead(notes, 0, { 'Transfer-Encoding': 'chunked' })}`, '1\r\n \r\n'],
  ['a large body that stops', `${postHead(notes, 300_000)}${big}`, ''],
  ['a refused body that arrives slowly', postHead('/rest/v1/secrets', 300_000), 'x'],
  ['a body that is too large and arrives slowly', postHead(notes, 300_000_000), 'x'],
]

for (const [title, sent, drip] of rows) {
  t.test(title, async (t) => {
    const start = performance.now()
    const { socket, closed } = rawRequest(url, sent)
    const dripping = setInterval(() => {
      if (drip !== '' && !socket.destroyed) socket.write(drip)
    }, 100)
    const text = await closed
    clearInterval(dripping)
    const took = performance.now() - start
    // A loaded test machine may be late, but less than Node's default of 300 seconds.
    t.ok(took > 500 && took < 120_000, `${Math.round(took)} ms`)
    if (title.includes('refused')) t.match(text, /^HTTP\/1.1 401 /)
    else if (title.includes('too large')) t.match(text, /^HTTP\/1.1 413 /)
    else t.match(text, /^HTTP\/1.1 408 Request Timeout\r\nConnection: close\r\n/)
    t.ok(await until(isIdle))
  })
}

t.test('incomplete bodies of the other routes', async (t) => {
  const read = envelopeBodyReader(1000)
  const routes = express().post('/', (request, response) => {
    read(request, response, () => []).then(
      () => response.end('read'),
      (error: unknown) => {
        response.statusCode = error instanceof Failure ? error.statusCode : 500
        response.end(String(error))
      },
    )
  })
  const other = createServer(requestTimeouts(seconds), (request, response) => void routes(request, response))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const own = other.address()
  if (typeof own !== 'object' || own === null) throw new Error('the server has no port')
  const at = `http://127.0.0.1:${own.port}`
  t.match(await rawRequest(at, `${postHead('/', 100)}{"a":`).closed, /^HTTP\/1.1 408 /)
  const large = rawRequest(at, postHead('/', 100_000))
  t.ok(await until(() => large.text().startsWith('HTTP/1.1 413 ')), 'answered before the body arrived')
  t.match(await large.closed, /larger than 1000 bytes/)
})

t.test('idle connections and slow responses are not affected', async (t) => {
  const { socket, text } = rawRequest(url, 'GET /rest/v1/tags HTTP/1.1\r\nHost: x\r\n\r\n')
  t.ok(await until(() => text().endsWith(']')))
  await sleep(seconds * 1500)
  socket.write('GET /rest/v1/rpc/naps HTTP/1.1\r\nHost: x\r\n\r\n')
  t.ok(await until(() => text().endsWith('"rested"')))
  socket.destroy()
})

t.test('incomplete bodies use no connection, and no memory once their client has disconnected', async (t) => {
  const bodies = Array.from({ length: 40 }, () => rawRequest(url, `${postHead(notes, 300_000)}${big}`))
  // The budget suffices for one and a half of them.
  await sleep(200)
  t.equal((await call('GET', '/rest/v1/tags')).status, 200, 'reads succeed')
  t.equal((await call('POST', notes, { body: { message: 'small' } })).status, 201, 'small bodies, too')
  for (const { socket } of bodies) socket.destroy()
  await Promise.all(bodies.map(({ closed }) => closed))
  for (let round = 0; round < 3; round++) {
    const { status, text } = await call('POST', notes, { body: `${big}"}` })
    t.equal(status, 201, text)
  }
  t.ok(await until(isIdle))
})

t.test('a large body that waits too long gets 503', async (t) => {
  const holders = Array.from({ length: 4 }, () => rawRequest(application.url, `${postHead(notes, 300_000)}${big}`))
  /** Resolves once the other bodies have arrived. */
  const refusal = async (): Promise<Answer> => {
    const answer = await call('POST', notes, { body: `${big}"}` })
    return answer.status === 201 ? refusal() : answer
  }
  const { status, body, headers } = await refusal()
  t.match([status, body], [503, { code: 'PGRSTX01', message: 'Too many large request bodies at the same time' }])
  t.ok(Number(headers.get('retry-after')) > 0)
  for (const { socket } of holders) socket.destroy()
  // One after the other, because those that wait for longer than a second are refused.
  for (let n = 0; n < 3; n++) {
    const later = await call('POST', notes, { body: `${big}"}` })
    t.equal(later.status, 201, 'without the others, each succeeds')
  }
})
