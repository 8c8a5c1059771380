// Uploads to S3: requests in their order, failures, and what is left of uploads that were never finished.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { usualPart as part } from '../../../server/services/storage/backends/s3-upload.ts'
import { S3Store } from '../../../server/services/storage/backends/s3-store.ts'
import type { ObjectKey, PutOptions } from '../../../server/services/storage/object-store.ts'
import { s3Credentials, startS3 } from '../../support/s3-server.ts'
import { until } from '../../support/until.ts'

Object.assign(process.env, s3Credentials)

const server = await startS3(t)
const { bucket, endpoint, seen, unfinished } = server
const opened = { bucket, endpoint, region: 'us-east-1' }
const store = await S3Store.open(opened)
/** Sends each request once. */
const hasty = await S3Store.open({ ...opened, attempts: 1 })
t.teardown(() => Promise.all([store.close(), hasty.close()]))
t.beforeEach(() => {
  seen.length = 0
  server.decide = () => 'pass'
})

const options: PutOptions = { contentType: 'text/plain', cacheControl: 'no-cache', maxBytes: 100 * part }
const unavailable = { httpStatus: 503, message: 'The object store is not available at the moment' }
const keyOf = (): ObjectKey => ({ bucket: 'bucket', name: 'name', version: randomUUID() })
const md5 = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`

/** A source with chunks of odd sizes, which calls `onEnd` after the last. */
const sourceOf = (bytes: Buffer, onEnd: () => void = () => undefined): Readable =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += 65_537) yield bytes.subarray(at, at + 65_537)
      onEnd()
    })(),
  )
const fail = (): never => {
  throw new Error('the client has left')
}

/** The requests so far: `PUT` for a whole object, `PUT 1` for a part. */
const requests = (): string[] =>
  seen.map((line) => {
    const [method = '', url = ''] = line.split(' ')
    const query = new URL(url, 'http://s3').searchParams
    if (query.has('uploads')) return method === 'POST' ? 'begin' : 'list'
    if (!query.has('uploadId')) return method
    if (method === 'PUT') return `PUT ${query.get('partNumber')}`
    return method === 'POST' ? 'complete' : 'abort'
  })

const uploads: readonly (readonly [size: number, requests: readonly string[]])[] = [
  [0, ['PUT']],
  [1, ['PUT']],
  [part, ['PUT']],
  [part + 1, ['begin', 'PUT 1', 'PUT 2', 'complete']],
  [2 * part, ['begin', 'PUT 1', 'PUT 2', 'complete']],
  [2 * part + 1, ['begin', 'PUT 1', 'PUT 2', 'PUT 3', 'complete']],
]
for (const [size, wanted] of uploads) {
  t.test(`an upload of ${size} bytes`, async (t) => {
    const bytes = randomBytes(size)
    const key = keyOf()
    t.match(await store.put(key, sourceOf(bytes), options), { size, eTag: md5(bytes) })
    t.strictSame(requests(), wanted)
    t.ok((await buffer(await store.get(key))).equals(bytes), 'the parts are in order')
    t.equal(unfinished.count, 0)
  })
}

t.test('a larger limit requires larger parts, of which S3 allows 10,000', async (t) => {
  const size = part + 1_000_000
  await store.put(keyOf(), sourceOf(randomBytes(size)), { ...options, maxBytes: size * 10_000 })
  t.strictSame(requests(), ['PUT'])
})

t.test('failed requests are repeated with the same bytes', async (t) => {
  for (const mode of ['refuse', 'cut request'] as const) {
    let count = 0
    server.decide = (request) => (request.method === 'PUT' && count++ % 2 === 0 ? mode : 'pass')
    const bytes = randomBytes(2 * part + 7)
    const key = keyOf()
    t.match(await store.put(key, sourceOf(bytes), options), { eTag: md5(bytes) })
    t.equal(count, 6, 'every part is sent twice')
    t.ok((await buffer(await store.get(key))).equals(bytes), mode)
  }
})

const failures = [
  ['PUT', 1, []],
  ['uploads', part + 1, ['begin']],
  ['partNumber=1', part + 1, ['begin', 'PUT 1', 'abort']],
  ['partNumber=2', 4 * part, ['begin', 'PUT 1', 'PUT 2', 'abort']],
  ['complete', part + 1, ['begin', 'PUT 1', 'PUT 2', 'complete', 'abort']],
] as const
for (const [failing, size, wanted] of failures) {
  t.test(`an upload whose request fails: ${failing}`, async (t) => {
    server.decide = ({ method = '', url = '' }) => {
      const isComplete = method === 'POST' && url.includes('uploadId=')
      const isFailing = failing === 'complete' ? isComplete : `${method} ${url}`.includes(failing)
      return isFailing ? 'refuse' : 'pass'
    }
    const source = sourceOf(randomBytes(size))
    await t.rejects(hasty.put(keyOf(), source, options), unavailable)
    t.strictSame(requests(), wanted.length > 0 ? wanted : ['PUT'], 'nothing follows but the removal of the parts')
    t.equal(unfinished.count, 0)
    source.destroy()
  })
}

t.test('a client that leaves in the middle', async (t) => {
  await t.rejects(store.put(keyOf(), sourceOf(randomBytes(part), fail), options), { message: 'the client has left' })
  t.strictSame(requests(), [])
  await t.rejects(store.put(keyOf(), sourceOf(randomBytes(2 * part + 1), fail), options), {
    message: 'the client has left',
  })
  t.strictSame(requests(), ['begin', 'PUT 1', 'PUT 2', 'abort'])
  t.equal(unfinished.count, 0)
})

t.test('a signal that aborts while a request waits', async (t) => {
  for (const [waiting, size, wanted] of [
    ['PUT', 1, ['PUT']],
    ['partNumber=2', 3 * part, ['begin', 'PUT 1', 'PUT 2', 'abort']],
  ] as const) {
    seen.length = 0
    const controller = new AbortController()
    server.decide = ({ method = '', url = '' }) => {
      if (!`${method} ${url}`.includes(waiting)) return 'pass'
      setImmediate(() => controller.abort(new Error('no longer needed')))
      return 'hang'
    }
    const put = store.put(keyOf(), sourceOf(randomBytes(size)), { ...options, signal: controller.signal })
    await t.rejects(put, { message: 'no longer needed' })
    t.strictSame(requests(), wanted)
    t.equal(unfinished.count, 0)
  }
})

t.test('an upload needs the memory of one part', async (t) => {
  let ahead = 0
  let most = 0
  server.decide = ({ url = '' }) => {
    if (url.includes('partNumber=')) ahead -= part
    return 'pass'
  }
  const chunk = Buffer.alloc(1024 * 1024)
  const source = Readable.from(
    (function* () {
      for (let count = 0; count < 48; count++) {
        ahead += chunk.length
        most = Math.max(most, ahead)
        yield chunk
      }
    })(),
    { highWaterMark: 1 },
  )
  await store.put(keyOf(), source, options)
  t.ok(most <= 2 * part, `${most} bytes were read ahead`)
})

t.test('parts that could not be removed are remnants', async (t) => {
  server.decide = ({ method, url = '' }) => (method === 'DELETE' || url.includes('partNumber=2') ? 'refuse' : 'pass')
  await t.rejects(hasty.put(keyOf(), sourceOf(randomBytes(2 * part)), options), unavailable)
  t.equal(unfinished.count, 1)
  server.decide = () => 'pass'
  await store.removeRemnants(new Date(Date.now() - 60_000))
  t.equal(unfinished.count, 1, 'new ones stay')
  unfinished.age(120_000)
  await store.removeRemnants(new Date(Date.now() - 60_000))
  t.equal(unfinished.count, 0)
})

t.test('remnants of more than a page are removed, and other objects stay', async (t) => {
  for (let count = 0; count < 5; count++) unfinished.leave(`old-${count}`, `objects/old-${count}`)
  unfinished.leave('foreign', 'others/upload')
  unfinished.age(120_000)
  unfinished.leave('new', 'objects/new')
  await store.removeRemnants(new Date(Date.now() - 60_000))
  t.equal(unfinished.count, 2)
  unfinished.age(240_000)
  await store.removeRemnants(new Date())
  t.equal(unfinished.count, 1)
})

t.test('a slow upload that began long ago is no remnant', async (t) => {
  const others = unfinished.count
  const bytes = randomBytes(2 * part + 2)
  const source = new Readable({ read: () => undefined })
  const key = keyOf()
  const put = store.put(key, source, options)
  source.push(bytes.subarray(0, part + 1))
  t.ok(await until(() => requests().includes('PUT 1')))
  source.push(bytes.subarray(part + 1, part + 2))
  t.ok(await until(() => source.readableLength === 0), 'the first part is stored')
  unfinished.age(120_000)
  source.push(bytes.subarray(part + 2, 2 * part + 1))
  t.ok(await until(() => requests().includes('PUT 2')))
  source.push(bytes.subarray(2 * part + 1))
  t.ok(await until(() => source.readableLength === 0), 'so is the second')
  await store.removeRemnants(new Date(Date.now() - 60_000))
  t.equal(unfinished.count, others + 1)
  source.push(null)
  await put
  t.ok((await buffer(await store.get(key))).equals(bytes))
})

t.test('a server that does not list uploads removes them by its own rules', async (t) => {
  unfinished.areListed = false
  t.teardown(() => (unfinished.areListed = true))
  await store.removeRemnants(new Date())
  t.strictSame(requests(), ['list'])
})
