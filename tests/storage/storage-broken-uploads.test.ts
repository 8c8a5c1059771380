// Uploads that break off, lie about their length, or are slow.
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createHttpServer } from '../../server/running/http-server.ts'
import { sweep } from '../../server/services/storage/sweep.ts'
import { storageAdmin, storageDatabase } from '../../server/services/storage/storage-database.ts'
import { testWithFolder } from '../support/storage-backends.ts'
import { startStorageService, storageBearer } from '../support/storage.ts'
import { until } from '../support/until.ts'

const service = { as: 'service_role' } as const
const { ask, url, database, store, versions, unfinished, application } = await startStorageService(t)
await database.query("insert into storage.buckets (id, name, public) values ('b', 'b', true)")
const authorization = await storageBearer('service_role')

/** Sends the beginning of a request. */
function begin(port: number, method: string, name: string, headers: readonly string[], body: string): Promise<Socket> {
  const head = [
    `${method} /storage/v1/object/b/${name} HTTP/1.1`,
    ...['Host: x', `Authorization: ${authorization}`, ...headers],
    ...['', ''],
  ].join('\r\n')
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  return new Promise((resolve) => socket.write(head + body, () => resolve(socket)))
}

const received = (socket: Socket): (() => string) => {
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  return () => text
}

const port = Number(new URL(url).port)
const keptObjects = async (): Promise<number> => (await versions()).length

const rowsOf = async (): Promise<unknown[]> =>
  (await database.query('select name from storage.objects order by 1')).rows

const chunked = 'Transfer-Encoding: chunked'
/** So much that a store that uploads in parts has begun with the first. */
const half = 'half'.repeat(1_750_000)
const halfSize = half.length.toString(16)
const formHead = ['Content-Type: multipart/form-data; boundary=x', 'Content-Length: 50000000']
const formBody = `--x\r\nContent-Disposition: form-data; name=""; filename="f"\r\n\r\n${half}`
const broken: readonly (readonly [title: string, headers: readonly string[], body: string])[] = [
  ['a body that is shorter than declared', ['Content-Length: 50000000'], half],
  ['a chunked body without its end', [chunked], `${halfSize}\r\n${half}\r\n`],
  ['a chunked body that ends within a chunk', [chunked], `FFFFFFF\r\n${half}`],
  ['a form that ends within its file', formHead, formBody],
  ['a form without its last boundary', formHead, `${formBody}\r\n--x`],
]
for (const method of ['POST', 'PUT']) {
  for (const [title, headers, body] of broken) {
    t.test(`${method}: ${title}`, async (t) => {
      const socket = await begin(port, method, 'cut', headers, body)
      t.ok(await until(async () => (await unfinished()) === 1), 'the upload has begun')
      socket.destroy()
      t.ok(await until(async () => (await unfinished()) === 0), 'its bytes are removed')
      t.equal(await keptObjects(), 0)
      t.strictSame(await rowsOf(), [], 'nothing is visible')
    })
  }
}

t.test('an interrupted replacement leaves the object as it was', async (t) => {
  await ask('POST', '/object/b/kept', { ...service, body: 'first' })
  const socket = await begin(port, 'PUT', 'kept', ['Content-Length: 50000000'], half)
  t.ok(await until(async () => (await unfinished()) === 1))
  t.equal((await ask('GET', '/object/public/b/kept')).text, 'first', 'during the upload, too')
  socket.destroy()
  t.ok(await until(async () => (await unfinished()) === 0))
  t.equal((await ask('GET', '/object/public/b/kept')).text, 'first')
})

t.test('more bytes than declared are no part of the object', async (t) => {
  const socket = await begin(port, 'PUT', 'long', ['Content-Length: 4'], 'whole and more')
  const text = received(socket)
  t.ok(await until(() => text().includes('400')), 'the rest is no request')
  const { status, text: found } = await ask('GET', '/object/public/b/long')
  t.ok(status === 400 || found === 'whol', 'what was not acknowledged is there whole, or not at all')
})

t.test('a refused upload gets its response while it still sends', async (t) => {
  await database.query("insert into storage.buckets (id, name, file_size_limit) values ('tiny', 'tiny', 10)")
  const cases = [
    ['POST', '../tiny/a', ['Content-Length: 50000000'], 413],
    ['POST', '../tiny/a', [chunked], 413],
    ['POST', '../none/a', ['Content-Length: 50000000'], 404],
  ] as const
  for (const [method, name, headers, status] of cases) {
    const target = `x/${name}`.replace('x/../', '')
    const head = [
      `${method} /storage/v1/object/${target} HTTP/1.1`,
      'Host: x',
      `Authorization: ${authorization}`,
      ...headers,
    ]
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    const text = received(socket)
    socket.write(`${head.join('\r\n')}\r\n\r\n${headers[0] === chunked ? '3E8\r\n' : ''}${'x'.repeat(1000)}\r\n`)
    t.ok(await until(() => text().includes(`"statusCode":"${status}"`)), `${target} ${headers[0]}`)
    t.match(text(), /connection: close/i)
    socket.destroy()
  }
  t.equal(await unfinished(), 0)
})

testWithFolder(t, 'a slow upload may take longer than other requests', async (t) => {
  const server = createHttpServer(application.service.listener, { requestHeaderLimit: 16_384, serverRequestTimeout: 1 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
  const socket = await begin(address.port, 'PUT', 'slow', ['Content-Length: 30', 'Connection: close'], '')
  const text = received(socket)
  for (let sent = 0; sent < 30; sent++) {
    socket.write('x')
    await pause(100)
  }
  t.ok(await until(() => text().includes('"Key":"b/slow"')), text())
  const refused = await begin(address.port, 'PUT', '%00', ['Content-Length: 30'], 'x')
  const answer = received(refused)
  t.ok(await until(() => answer().includes('HTTP/1.1 ')), 'others are not exempt')
  refused.destroy()
})

const warnings: string[] = []
const context = {
  store,
  database: storageDatabase(application.service.database, () => false),
  warn: (message: string) => void warnings.push(message),
}
/** Later than everything so far. S3 knows seconds only. */
const now = (): Date => new Date(Date.now() + 1000)

t.test('the sweep removes what no row names, and nothing else', async (t) => {
  await ask('PUT', '/object/b/named', { ...service, body: 'named' })
  await ask('PUT', '/object/b/orphan', { ...service, body: 'orphan' })
  await database.query("delete from storage.objects where name = 'orphan'")
  const before = await keptObjects()
  t.equal(await sweep(context, new Date(0)), 0, 'what is new is left alone')
  t.equal(await keptObjects(), before)
  t.equal(await sweep(context, now()), 1)
  t.equal(await keptObjects(), before - 1)
  t.equal((await ask('GET', '/object/public/b/named')).text, 'named')
  t.equal(storageAdmin.role, 'supabase_storage_admin')

  const other = await startStorageService(t)
  const foreign = { ...context, database: storageDatabase(other.application.service.database, () => false) }
  t.equal(await sweep(foreign, now()), 0, 'the folder of another database is left alone')
  t.match(warnings, [/belongs to another database/])
  t.equal((await ask('GET', '/object/public/b/named')).text, 'named')
})

t.test('the sweep removes remnants of uploads', async (t) => {
  const socket = await begin(port, 'PUT', 'unfinished', ['Content-Length: 50000000'], half)
  t.ok(await until(async () => (await unfinished()) === 1))
  t.equal(await sweep(context, new Date(0)), 0)
  t.equal(await unfinished(), 1, 'an upload in progress is left alone')
  await sweep(context, now())
  t.equal(await unfinished(), 0, 'what is old is a remnant')
  socket.destroy()
})
