// Traces of what a request causes outside of the process: operations on S3, the process for images, and frames on a WebSocket.
import t from 'tap'
import { WebSocket } from 'ws'
import { startApplication } from '../support/application.ts'
import { startCollector, type CollectedSpan } from '../support/collector.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { dial, hourToken } from '../support/realtime.ts'
import { form, patient, prefix, upload } from '../support/image-upload.ts'
import { s3Credentials, s3Environment, startS3 } from '../support/s3-server.ts'
import { greenLake } from '../support/test-image.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

process.env.OTEL_BSP_SCHEDULE_DELAY = '20'
const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const collector = await startCollector(t)
const s3 = await startS3(t)
const env = {
  ...{ ...patient, ...s3Environment(s3), SERVICES: 'storage,analysis,realtime', PGRST_ADMIN_SERVER_PORT: '1' },
  ...{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
}
// Where the SDK finds its credentials.
Object.assign(process.env, s3Credentials)
const { url, call, service } = await startApplication(t, database.authenticatorUri, env)
const admin = { Authorization: await bearer('service_role') }
const image = await greenLake()

const childrenOf = (span: CollectedSpan): readonly CollectedSpan[] =>
  collector.spans().filter(({ parentSpanId }) => parentSpanId === span.spanId)

t.test('operations on S3 are in the trace of the request', async (t) => {
  const bucket = await call('POST', '/storage/v1/bucket', { body: { name: 'films', public: true }, headers: admin })
  t.equal(bucket.status, 200, bucket.text)
  const secret = 'private-name'
  const images = { 'Content-Type': 'image/png', ...admin }
  for (const name of [secret, 'other']) {
    const put = await call('POST', `/storage/v1/object/films/${name}.png`, {
      body: new Uint8Array(image),
      headers: images,
    })
    t.equal(put.status, 200, put.text)
  }
  const [stored] = await collector.trace('POST /storage/v1/object/{bucket}')
  await until(() => childrenOf(stored).some(({ name }) => name === 'S3/PutObject'))
  const written = childrenOf(stored).find(({ name }) => name === 'S3/PutObject')
  t.match(written, {
    ...{ kind: 3, traceId: stored.traceId, isError: false },
    attributes: {
      'rpc.system': 'aws-api',
      'rpc.method': 'PutObject',
      'aws.s3.bucket': s3.bucket,
      'server.address': '127.0.0.1',
    },
  })
  t.ok(written && written.start >= stored.start && written.end <= stored.end)

  // Fails once, is repeated; then fails for good.
  let failures = 1
  s3.decide = ({ method }) => (method === 'GET' && failures-- > 0 ? 'refuse' : 'pass')
  t.equal((await call('GET', `/storage/v1/object/public/films/${secret}.png`)).status, 200)
  failures = Infinity
  t.equal((await call('GET', '/storage/v1/object/public/films/other.png')).status, 503)
  s3.decide = () => 'pass'
  const reads = () => collector.spans().filter(({ name }) => name === 'S3/GetObject')
  await until(() => reads().length === 2)
  t.match(reads(), [
    { isError: false, attributes: { 'http.request.resend_count': 1, 'http.response.status_code': 200 } },
    { isError: true, attributes: { 'error.type': 'SlowDown', 'http.response.status_code': 503 } },
  ])
  const shown = JSON.stringify(collector.spans(), (_, value: unknown) => (typeof value === 'bigint' ? null : value))
  t.notMatch(shown.replaceAll(/"url.path":"[^"]*"/g, ''), secret, 'names of objects are only in the path')
})

t.test('an analysis is a span from the request to the answer', async (t) => {
  const answer = await upload(url, '/predict', form(['file', { bytes: image }]), { traceparent: traceparent('1') })
  t.equal(answer.status, 200, answer.text)
  const [request] = await collector.trace(`POST ${prefix}/predict`)
  t.equal(request.traceId, '1'.repeat(32))
  const analysis = childrenOf(request).find(({ name }) => name === 'image analysis')
  t.match(analysis, {
    kind: 1,
    attributes: { 'rowhouse.image.bytes': image.length, 'rowhouse.image.wait_seconds': Number },
  })
  t.ok(Number(analysis?.attributes['rowhouse.image.decode_seconds']) > 0)
  t.ok(Number(analysis?.attributes['rowhouse.image.inference_seconds']) > 0)

  const invalid = await upload(url, '/predict', form(['file', { bytes: image.subarray(0, 300) }]), {
    traceparent: traceparent('2'),
  })
  t.equal(Math.floor(invalid.status / 100), 4, invalid.text)
  const refused = () =>
    collector.spans().find(({ name, traceId }) => name === 'image analysis' && traceId.startsWith('2'))
  await until(() => refused() !== undefined)
  t.match(refused(), { isError: true, attributes: { 'error.type': 'refused' } })
})

t.test('a WebSocket has a span for its handshake, and one for each frame, with links', async (t) => {
  const dial = (digit: string): WebSocket =>
    new WebSocket(`${url.replace('http', 'ws')}${prefix}/ws/live-detect?token=secret`, {
      headers: { traceparent: traceparent(digit) },
    })
  const sockets = ['a', 'b'].map(dial)
  const received = [0, 0]
  await Promise.all(
    sockets.map(async (socket, index) => {
      t.teardown(() => socket.terminate())
      socket.on('message', () => received[index]!++)
      await new Promise((resolve) => socket.once('open', resolve))
      for (const frame of [{ image_base64: image.toString('base64') }, {}, { image_base64: 'bm90IGFuIGltYWdl' }]) {
        socket.send(JSON.stringify(frame))
      }
    }),
  )
  await until(() => received.every((count) => count === 3))
  const route = `${prefix}/ws/live-detect`
  const frames = () => collector.spans().filter(({ name }) => name === `message ${route}`)
  await until(() => frames().length === 6)
  for (const digit of ['a', 'b']) {
    const handshake = collector
      .spans()
      .find(({ name, traceId }) => name === `GET ${route}` && traceId.startsWith(digit))
    t.match(handshake, { kind: 2, attributes: { 'http.response.status_code': 101, 'url.path': route } })
    const own = frames().filter(({ links }) => links.some((link) => link.spanId === handshake?.spanId))
    t.equal(own.length, 3, 'the frames of this connection')
    t.strictSame(own.map(({ attributes }) => attributes['error.type'] ?? 'none').sort(), ['400', '415', 'none'])
    t.equal(new Set(own.map(({ traceId }) => traceId)).size, 3, 'each frame has a trace of its own')
  }
  const analysed = frames().filter(({ attributes }) => attributes['error.type'] === undefined)
  t.ok(analysed.every((frame) => childrenOf(frame).some(({ name }) => name === 'image analysis')))

  const refused = new WebSocket(`${url.replace('http', 'ws')}${route}`, { headers: { Authorization: 'Bearer a.b.c' } })
  refused.on('error', () => undefined)
  await new Promise((resolve) => refused.once('close', resolve))
  await until(() => collector.spans().some(({ attributes }) => attributes['http.response.status_code'] === 401))
  const count =
    /http_request_duration_seconds_count\{method="GET",route="[^"]*live-detect",role="unknown",status="(\d+)"\} (\d+)/g
  t.strictSame(
    [...(await service.metrics.text()).matchAll(count)].map(([, status, number]) => [status, number]),
    [
      ['101', '2'],
      ['401', '1'],
    ],
  )
  const shown = JSON.stringify(collector.spans(), (_, value: unknown) => (typeof value === 'bigint' ? null : value))
  t.notMatch(shown, /token=secret/)
})

t.test('a join of a channel has a span, with what decides on it and a link to the handshake', async (t) => {
  const client = await dial(t, url, {
    token: await hourToken('authenticated', { sub: '4f8b2a52-6f2e-4a57-a3a5-6d2b5c1d1a10' }),
    headers: { traceparent: traceparent('c') },
  })
  await client.opened
  t.match(await client.join('open'), { status: 'ok' })
  t.match(await client.join('closed', { private: true }), { status: 'error' })
  const route = '/realtime/v1/websocket'
  const joins = () => collector.spans().filter(({ name }) => name === `message ${route}`)
  await until(() => joins().length === 2)
  const handshake = collector.spans().find(({ name, traceId }) => name === `GET ${route}` && traceId.startsWith('c'))
  t.ok(joins().every(({ links }) => links.some((link) => link.spanId === handshake?.spanId)))
  t.strictSame(
    joins()
      .map(({ attributes }) => attributes['error.type'] ?? 'none')
      .sort(),
    ['Unauthorized', 'none'],
  )
  const [refused] = joins().filter(({ attributes }) => attributes['error.type'] !== undefined)
  t.ok(refused && childrenOf(refused).length > 0, 'the statement that asks the policies')
})

/** A trace context whose trace id has one digit. */
function traceparent(digit: string): string {
  return `00-${digit.repeat(32)}-${'1'.repeat(16)}-01`
}
