// Live detection over WebSocket: frames, errors, floods, and requests for other protocols.
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { patient, prefix } from '../support/image-upload.ts'
import { rawRequest } from '../support/raw-request.ts'
import { until } from '../support/until.ts'
import { bearer } from '../support/token.ts'
import { greenLake, lake } from '../support/test-image.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const start = (t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>> = {}) =>
  startApplication(t, database.authenticatorUri, { ...patient, ...env })

const path = `${prefix}/ws/live-detect`
type Message = Readonly<Record<string, unknown>>

/** A client that records received messages. */
function dial(t: Pick<Test, 'teardown'>, url: string, headers: Readonly<Record<string, string>> = {}) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers })
  const received: Message[] = []
  socket.on('message', (data) => received.push(JSON.parse((data as Buffer).toString()) as Message))
  const opened = new Promise<number>((resolve, reject) => {
    socket.once('open', () => resolve(101))
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0))
    socket.once('error', reject)
  })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  t.teardown(() => socket.terminate())
  return {
    socket,
    received,
    opened,
    closed,
    send: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    /** Resolves when the given number of messages has been received. */
    messages: async (count: number) => {
      while (received.length < count && socket.readyState !== WebSocket.CLOSED) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return received
    },
  }
}

const app = await start(t, { IMAGE_FILE_LIMIT: '50kb', IMAGE_SOCKET_LIMIT: '8' })
const green = (await greenLake()).toString('base64')
const water = (await lake()).toString('base64')

t.test('a hundred frames are answered in order', async (t) => {
  const client = dial(t, app.url)
  t.equal(await client.opened, 101)
  for (let n = 0; n < 100; n++)
    client.send({ frame_id: n, image_base64: n % 2 === 0 ? green : `data:image/jpeg;base64,${water}` })
  const answers = await client.messages(100)
  t.strictSame(
    answers.map(({ frame_id }) => frame_id),
    Array.from({ length: 100 }, (_, n) => n),
  )
  for (const { frame_id, classification } of answers) {
    t.equal(classification, Number(frame_id) % 2 === 0 ? 'needs_review' : 'non_water_hyacinth')
  }
  t.match(answers[0], { detected_regions: 1, coverage_percent: 6.3, image_width: 320, boxes: [{ x1: 120 }] })
})

t.test('an invalid frame gets an error, and the connection stays open', async (t) => {
  const client = dial(t, app.url)
  await client.opened
  const large = Buffer.concat([await lake(), Buffer.alloc(52_000)]).toString('base64')
  const rows: readonly (readonly [unknown, Message])[] = [
    [{ frame_id: 1 }, { frame_id: 1, detail: 'image_base64 is required.' }],
    [
      { frame_id: 'a', image_base64: '' },
      { frame_id: 'a', detail: 'image_base64 is required.' },
    ],
    [{ image_base64: 5 }, { frame_id: null, detail: 'image_base64 is required.' }],
    [
      { frame_id: 2, image_base64: 'a b' },
      { frame_id: 2, detail: 'Invalid base64 image payload.', status_code: 400 },
    ],
    [
      { frame_id: 3, image_base64: 'aGVsbG8=' },
      { frame_id: 3, detail: /Only JPEG, PNG and WebP/, status_code: 415 },
    ],
    [
      { frame_id: 4, image_base64: 'data:image/jpeg;base64,aGVsbG8=' },
      { frame_id: 4, detail: 'Inference failed: Could not decode image', status_code: 400 },
    ],
    [
      { frame_id: 5, image_base64: large },
      { frame_id: 5, detail: 'Uploaded file exceeds the 51200 byte limit.', status_code: 413 },
    ],
    ['hello', { frame_id: null, detail: 'The message is not a JSON object.', status_code: 400 }],
    ['[]', { frame_id: null, detail: 'The message is not a JSON object.', status_code: 400 }],
    ['null', { frame_id: null, status_code: 400 }],
    [`{"frame_id": ${'['.repeat(20_000)}`, { frame_id: null, status_code: 400 }],
    [
      { frame_id: 'x'.repeat(5000), image_base64: '!' },
      { frame_id: null, status_code: 400 },
    ],
    [
      { frame_id: 6, image_base64: water },
      { frame_id: 6, classification: 'non_water_hyacinth' },
    ],
    [{ image_base64: water }, { frame_id: null, classification: 'non_water_hyacinth' }],
  ]
  for (const [message] of rows) client.send(message)
  client.socket.send(Buffer.from('binary'), { binary: true })
  const answers = await client.messages(rows.length + 1)
  for (const [index, [message, expected]] of rows.entries()) {
    t.match(answers[index], expected, JSON.stringify(message).slice(0, 60))
    if ('detail' in expected) t.notOk('classification' in (answers[index] ?? {}), 'the body of an error has no result')
  }
  t.match(answers[rows.length], { status_code: 400 }, 'a binary message')
  t.equal(client.socket.readyState, WebSocket.OPEN)
})

t.test('a message above the size limit closes the connection', async (t) => {
  const client = dial(t, app.url)
  await client.opened
  client.send({ image_base64: 'A'.repeat(400_000) })
  t.equal(await client.closed, 1009)
})

t.test('a flood of frames is slowed down by backpressure', async (t) => {
  const { url } = await start(t, { IMAGE_RATE_LIMIT: '20' })
  const client = dial(t, url)
  await client.opened
  const frames = 500
  for (let n = 0; n < frames; n++) client.send({ frame_id: n, image_base64: `${'A'.repeat(200)} ` })
  const answers = await client.messages(frames)
  t.equal(answers.length, frames)
  t.ok(
    answers.every(({ frame_id }, index) => frame_id === index),
    'all in order',
  )
  t.match(answers.at(-1), { status_code: 429 })
  t.equal(client.socket.readyState, WebSocket.OPEN, 'frames above the limit of images close nothing')
})

/** A frame of a client, with a mask of zeros. */
const maskedFrame = (opcode: number, payload = '', isFinal = true): Buffer =>
  Buffer.concat([Buffer.from([(isFinal ? 0x80 : 0) | opcode, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload)])

/** Sends raw bytes after the handshake. @returns the server's bytes, and the code of its close frame */
async function sendRaw(bytes: Buffer): Promise<{ readonly received: Buffer; readonly code: number | undefined }> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => undefined)
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  )
  socket.write(bytes)
  await new Promise((resolve) => socket.once('close', resolve))
  const received = Buffer.concat(pieces)
  const close = received.lastIndexOf(Buffer.from([0x88, 0x02]))
  return { received, code: close < 0 ? undefined : received.readUInt16BE(close + 2) }
}

t.test('messages without images close the connection with 1008', async (t) => {
  const repeated = (frame: Buffer): Buffer => Buffer.concat(Array.from({ length: 170_000 }, () => frame))
  const image = (id: number): Buffer => maskedFrame(1, JSON.stringify({ frame_id: id }))
  const rows: readonly (readonly [label: string, bytes: Buffer, mostReplies: number])[] = [
    ['empty messages', repeated(maskedFrame(1)), 1000],
    ['empty binary messages', repeated(maskedFrame(2)), 1000],
    ['frames without images', Buffer.concat(Array.from({ length: 30_000 }, (_, id) => image(id))), 1000],
    ['pongs', repeated(maskedFrame(10)), 0],
    ['empty fragments', Buffer.concat([maskedFrame(1, '', false), repeated(maskedFrame(0, '', false))]), 0],
  ]
  for (const [label, bytes, mostReplies] of rows) {
    const { received, code } = await sendRaw(bytes)
    t.equal(code, 1008, label)
    const replies = received.toString('latin1').split('"detail"').length - 1
    t.ok(replies <= mostReplies, `${label}: ${replies} replies`)
  }
  const { received } = await sendRaw(repeated(maskedFrame(9)))
  t.ok(received.length < 1000, 'pings are answered only as far as the client reads them, then the connection ends')
  const client = dial(t, app.url)
  await client.opened
  for (let n = 0; n < 100; n++) client.send('x')
  t.equal(await client.closed, 1008)
  t.equal(client.received.length, 100, 'a hundred in succession are answered')
})

t.test('a message of many values is rejected before it is parsed', async (t) => {
  const client = dial(t, app.url)
  await client.opened
  client.send(`{"frame_id":1,"image_base64":[${'0,'.repeat(30_000)}0]}`)
  client.send({ frame_id: 2, image_base64: water, note: Array.from({ length: 300 }, (_, at) => at) })
  t.match(await client.messages(2), [
    { frame_id: null, status_code: 400, detail: 'The message has too many values.' },
    { frame_id: 2 },
  ])
})

t.test('a client that disconnects in the middle of its frames', async (t) => {
  for (let round = 0; round < 10; round++) {
    const client = dial(t, app.url)
    await client.opened
    for (let n = 0; n < 5; n++) client.send({ frame_id: n, image_base64: green })
    if (round % 2 === 0) client.socket.terminate()
    else client.socket.close()
    await client.closed
  }
  const client = dial(t, app.url)
  await client.opened
  client.send({ frame_id: 'after', image_base64: water })
  t.match(await client.messages(1), [{ frame_id: 'after', classification: 'non_water_hyacinth' }])
})

t.test('the number of connections is limited', async (t) => {
  const { url } = await start(t, { IMAGE_SOCKET_LIMIT: '8' })
  const clients = [dial(t, url), dial(t, url)]
  for (const client of clients) t.equal(await client.opened, 101)
  const third = dial(t, url)
  t.equal(await third.closed, 1013, 'a quarter of the limit for one network')
  t.match(third.received, [{ detail: /try again later/ }])
  clients[0]?.socket.close()
  await clients[0]?.closed
  const accepted = await until(async () => {
    const client = dial(t, url)
    await client.opened
    client.send({ frame_id: 1 })
    return (await client.messages(1))[0]?.frame_id === 1
  })
  t.ok(accepted, 'a connection is available again')
})

t.test('the networks of an IPv6 /48 have half of the connections together', async (t) => {
  const { url } = await start(t, { IMAGE_SOCKET_LIMIT: '8', TRUSTED_PROXIES: '1' })
  const from = (address: string): ReturnType<typeof dial> => dial(t, url, { 'X-Forwarded-For': address })
  for (const subnet of ['100', '200', '300', '400']) t.equal(await from(`2001:db8:1:${subnet}::1`).opened, 101)
  t.equal(await from('2001:db8:1:500::1').closed, 1013)
  const other = from('2001:db8:2:100::1')
  t.equal(await other.opened, 101)
  other.send({ frame_id: 1 })
  t.match(await other.messages(1), [{ frame_id: 1 }])
})

t.test('frames count towards the limit of images per minute', async (t) => {
  const { url } = await start(t, { IMAGE_RATE_LIMIT: '2' })
  const client = dial(t, url)
  await client.opened
  for (let n = 0; n < 3; n++) client.send({ frame_id: n, image_base64: water })
  t.match(await client.messages(3), [{ frame_id: 0 }, { frame_id: 1 }, { frame_id: 2, status_code: 429 }])
})

t.test('without a required model, connections are refused', async (t) => {
  const { url } = await start(t, { IMAGE_REQUIRE_MODEL: 'true' })
  const client = dial(t, url)
  t.equal(await client.opened, 101)
  t.equal(await client.closed, 1013)
  t.match(client.received, [{ detail: /No model/ }])
})

t.test('credentials and origins of connections', async (t) => {
  const { url, service } = await start(t, {
    IMAGE_ANONYMOUS: 'false',
    PGRST_SERVER_CORS_ALLOWED_ORIGINS: 'https://app.example',
  })
  const token = await bearer('authenticated', { sub: '11111111-1111-4111-8111-111111111111' })
  t.equal(await dial(t, url).opened, 401)
  t.equal(await dial(t, url, { Authorization: 'Bearer forged.token.here' }).opened, 401)
  t.equal(await dial(t, url, { Authorization: `${token}x` }).opened, 401)
  t.equal(
    await dial(t, url, { Authorization: token, Origin: 'https://evil.example' }).opened,
    403,
    'a page of another site',
  )
  t.equal(await dial(t, url, { Authorization: token, Origin: 'https://app.example' }).opened, 101)
  const client = dial(t, url, { Authorization: token })
  t.equal(await client.opened, 101)
  client.send({ frame_id: 1, image_base64: water })
  t.match(await client.messages(1), [{ frame_id: 1, classification: 'non_water_hyacinth' }])
  service.closeSockets()
  t.equal(await client.closed, 1001, 'the server shuts down')
})

// Requests for other protocols ----------------------------------------------------------------------------------------

const upgrade = (protocol: string, method: string, target: string, more = '', body = '') =>
  `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\n${more}\r\n${body}`

t.test('a request to upgrade to another protocol is answered like any other', async (t) => {
  await database.query(
    'create table if not exists public.notes (id int primary key, text text); grant all on public.notes to anon',
  )
  await database.query(`notify pgrst, 'reload schema'`)
  t.ok(await until(async () => (await app.call('GET', '/rest/v1/notes')).status === 200))
  const rows = [
    [upgrade('h2c', 'GET', '/health'), /^HTTP\/1\.1 200 OK[^]*\{"status":"ok"\}$/],
    [upgrade('h2c', 'GET', '/rest/v1/notes?id=eq.0'), /^HTTP\/1\.1 200 OK[^]*\[\]$/],
    [upgrade('websocket', 'GET', '/health'), /^HTTP\/1\.1 200 OK[^]*\{"status":"ok"\}$/],
    [upgrade('h2c', 'GET', path), /^HTTP\/1\.1 426 [^]*This is a WebSocket/],
    [upgrade('h2c', 'GET', '/nothing'), /^HTTP\/1\.1 404 /],
  ] as const
  for (const [text, expected] of rows) {
    const request = rawRequest(app.url, text)
    t.ok(await until(() => expected.test(request.text())), text.split('\r\n', 1).join(''))
    t.notOk(request.socket.closed, 'the connection is kept')
    request.socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.match(await request.closed, /HTTP\/1\.1 200 OK[^]*\{"status":"ok"\}$/, 'and serves the next request')
  }
  const insert = (id: number): string => JSON.stringify({ id, text: 'grüße'.repeat(10_000) })
  const length = (id: number): string =>
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(insert(id))}\r\n`
  const whole = rawRequest(app.url, upgrade('h2c', 'POST', '/rest/v1/notes', length(1), insert(1)))
  t.ok(await until(() => whole.text().startsWith('HTTP/1.1 201 ')), 'with a body')
  whole.socket.destroy()
  const parts = rawRequest(app.url, upgrade('h2c', 'POST', '/rest/v1/notes', length(2)))
  for (let at = 0; at < insert(2).length; at += 7000) {
    parts.socket.write(insert(2).slice(at, at + 7000))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  t.ok(await until(() => parts.text().startsWith('HTTP/1.1 201 ')), 'with a chunked body')
  parts.socket.destroy()
  const { rows: stored } = await database.query(
    `select id from public.notes where text = repeat('grüße', 10000) order by id`,
  )
  t.strictSame(stored, [{ id: 1 }, { id: 2 }])
  const plain = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`
  const piped = rawRequest(
    app.url,
    plain('/ready') + plain('/rest/v1/notes?id=eq.0') + upgrade('h2c', 'GET', '/nothing'),
  )
  const isComplete = () => /200 OK[^]*"ready"[^]*200 OK[^]*\[\][^]*404 Not Found/.test(piped.text())
  t.ok(await until(isComplete), `pipelined, in order: ${piped.text()}`)
  piped.socket.destroy()
  const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
  const late = rawRequest(app.url, plain('/ready') + upgrade('websocket', 'GET', path, key))
  t.ok(await until(() => /200 OK[^]*"ready"[^]*101 Switching Protocols/.test(late.text())), 'the WebSocket, too')
  late.socket.destroy()
})

t.test('invalid handshakes are refused', async (t) => {
  const rows = [
    'Sec-WebSocket-Version: 13\r\n',
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n',
    'Sec-WebSocket-Version: 99\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
  ]
  for (const headers of rows) {
    const request = rawRequest(
      app.url,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}\r\n`,
    )
    t.match(await request.closed, /^HTTP\/1\.1 4\d\d /, headers)
  }
  const { port } = new URL(app.url)
  for (let n = 0; n < 20; n++) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    )
    socket.write(Buffer.alloc(200, n))
    await new Promise((resolve) => setTimeout(resolve, 5))
    socket.resetAndDestroy()
  }
  t.equal((await app.call('GET', '/health')).status, 200, 'noise instead of frames')
})
