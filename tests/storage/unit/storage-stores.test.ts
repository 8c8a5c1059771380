// Both stores of bytes by the same tests, and the S3 store with a server that fails.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { FileStore } from '../../../server/services/storage/backends/file-store.ts'
import { groupsOf } from '../../../server/services/storage/backends/s3-compose.ts'
import { S3Store } from '../../../server/services/storage/backends/s3-store.ts'
import type { ObjectKey, ObjectStore, PutOptions } from '../../../server/services/storage/object-store.ts'
import { s3Credentials, startS3, type S3Server } from '../../support/s3-server.ts'

Object.assign(process.env, s3Credentials)

const mebibyte = 1024 * 1024
const options: PutOptions = { contentType: 'text/plain', cacheControl: 'no-cache', maxBytes: 100 * mebibyte }
const keyOf = (name = 'folder/name.txt', bucket = 'bucket'): ObjectKey => ({ bucket, name, version: randomUUID() })
const md5 = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`
/** A source whose chunks have odd sizes. */
const sourceOf = (bytes: Buffer, chunk = 65_537): Readable =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
    })(),
  )
const read = async (store: ObjectStore, ...args: Parameters<ObjectStore['get']>): Promise<Buffer> =>
  buffer(await store.get(...args))
async function idsOf(store: ObjectStore): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of store.list()) ids.push(id)
  return ids.sort()
}

const s3Store = (server: S3Server, more: { readonly responseTimeout?: number; readonly attempts?: number } = {}) =>
  S3Store.open({
    bucket: server.bucket,
    endpoint: server.endpoint,
    region: 'us-east-1',
    connectionTimeout: 2000,
    ...more,
  })

const stores: Readonly<Record<string, (t: Test) => Promise<ObjectStore>>> = {
  file: (t) => Promise.resolve(new FileStore(t.testdir())),
  's3, which copies no parts': async (t) => s3Store(await startS3(t)),
  's3, which copies parts': async (t) => {
    const server = await startS3(t)
    server.copiesParts = true
    return s3Store(server)
  },
}

for (const [name, open] of Object.entries(stores)) {
  t.test(name, async (t) => {
    const store = await open(t)
    t.teardown(() => store.close())

    t.test('bytes of all sizes come back, whole and in parts', async (t) => {
      for (const size of [0, 1, 10_000, 5 * mebibyte, 8 * mebibyte, 8 * mebibyte + 1, 20 * mebibyte + 7]) {
        const bytes = randomBytes(size)
        const key = keyOf(`size ${size}`)
        const stored = await store.put(key, sourceOf(bytes), options)
        t.match(stored, { size, eTag: md5(bytes) }, String(size))
        t.ok(Math.abs(stored.lastModified.getTime() - Date.now()) < 60_000)
        t.ok((await read(store, key)).equals(bytes), `${size}: whole`)
        if (size < 2) continue
        const ranges = [
          { start: 0, end: 1 },
          { start: 1, end: size - 1 },
          { start: size - 1, end: size - 1 },
        ]
        for (const range of ranges) {
          const part = bytes.subarray(range.start, range.end + 1)
          t.ok((await read(store, key, range)).equals(part), `${size}: ${range.start}-${range.end}`)
        }
      }
    })

    t.test('what is missing is reported', async (t) => {
      await t.rejects(store.get(keyOf('missing')), { name: 'MissingBytesError' })
      await t.rejects(store.copy(keyOf('missing'), keyOf('b')), { name: 'MissingBytesError' })
      await t.rejects(store.get({ ...keyOf(), version: '../../etc/passwd' }), { name: 'MissingBytesError' })
      await store.remove([keyOf('missing'), keyOf('missing too')])
      await store.removeListed([])
      const key = keyOf('one object')
      await store.put(key, sourceOf(Buffer.from('x')), options)
      await t.rejects(
        store.get({ ...key, name: 'another' }),
        { name: 'MissingBytesError' },
        'version of another object',
      )
    })

    t.test('names of all kinds are different objects', async (t) => {
      const names = [
        'a',
        'A',
        'a/',
        'a/b',
        '../a',
        '..',
        '.',
        'a//b',
        '%2e',
        ' a',
        'ä',
        'a\u0308',
        '😀',
        'x'.repeat(1024),
      ]
      const keys = names.map((name) => keyOf(name))
      for (const [index, key] of keys.entries()) await store.put(key, sourceOf(Buffer.from(String(index))), options)
      for (const [index, key] of keys.entries()) t.equal((await read(store, key)).toString(), String(index), key.name)
    })

    t.test('copies are independent', async (t) => {
      const [from, to] = [keyOf('from'), keyOf('to', 'other')]
      await store.put(from, sourceOf(Buffer.from('content')), options)
      t.match(await store.copy(from, to), { size: 7, eTag: md5(Buffer.from('content')) })
      await store.remove([from])
      t.equal((await read(store, to)).toString(), 'content')
      await t.rejects(store.get(from), { name: 'MissingBytesError' })
    })

    t.test('removes many, and lists the rest', async (t) => {
      await store.removeListed(await idsOf(store))
      t.strictSame(await idsOf(store), [])
      const keys = Array.from({ length: 25 }, (_, index) => keyOf(`many/${index}`))
      for (const key of keys) await store.put(key, sourceOf(Buffer.from(key.name)), options)
      t.strictSame(await idsOf(store), keys.map((key) => store.idOf(key)).sort())
      await store.remove(keys.slice(0, 20))
      const left: { id: string; version: string; lastModified: Date }[] = []
      for await (const found of store.list()) left.push(found)
      t.strictSame(
        left.map(({ version }) => version).sort(),
        keys
          .slice(20)
          .map(({ version }) => version)
          .sort(),
      )
      t.ok(left.every(({ lastModified }) => Math.abs(lastModified.getTime() - Date.now()) < 60_000))
      await store.removeRemnants(new Date(Date.now() + 60_000))
      t.equal((await idsOf(store)).length, 5, 'complete objects are no remnants')
    })

    t.test('failed uploads leave nothing', async (t) => {
      await store.removeListed(await idsOf(store))
      for (const size of [1000, 20 * mebibyte]) {
        const failing = Readable.from(
          (function* () {
            for (let at = 0; at < size; at += 100_000) yield randomBytes(Math.min(100_000, size))
            throw new Error('the client has left')
          })(),
        )
        await t.rejects(store.put(keyOf(), failing, options), { message: 'the client has left' }, `${size}: source`)
        const large = { ...options, maxBytes: size - 1 }
        await t.rejects(store.put(keyOf(), sourceOf(randomBytes(size)), large), { name: 'TooManyBytesError' })
        const exact = { ...options, maxBytes: size }
        const key = keyOf()
        t.match(await store.put(key, sourceOf(randomBytes(size)), exact), { size }, 'exactly at the limit')
        await store.remove([key])
        const controller = new AbortController()
        const endless = Readable.from(
          (async function* () {
            for (let sent = 0; ; sent += 100_000) {
              if (sent >= size) controller.abort(new Error('aborted'))
              await sleep(1)
              yield randomBytes(100_000)
            }
          })(),
        )
        await t.rejects(store.put(keyOf(), endless, { ...options, signal: controller.signal }), { message: 'aborted' })
        const stalled = new Readable({ read: () => undefined })
        const early = new AbortController()
        const waiting = store.put(keyOf(), stalled, { ...options, signal: early.signal })
        stalled.push(randomBytes(10))
        setTimeout(() => {
          // The store in a folder looks at the signal when bytes arrive.
          if (name === 'file') stalled.destroy(new Error('aborted'))
          else early.abort(new Error('aborted'))
        }, 50)
        await t.rejects(waiting, { message: 'aborted' }, 'while the source waits')
      }
      t.strictSame(await idsOf(store), [])
    })

    t.test('the store belongs to the first database', async (t) => {
      t.equal(await store.claim('1/2'), true)
      t.equal(await store.claim('1/2'), true)
      t.equal(await store.claim('1/3'), false)
      t.equal(await store.claim('1/2'), true)
    })

    t.test('parts are joined', async (t) => {
      const join = store.compose?.bind(store)
      if (!join) {
        t.equal(name, 'file')
        return
      }
      for (const sizes of [
        [],
        [0],
        [10],
        [10, 20],
        [6 * mebibyte, 5],
        [5, 6 * mebibyte, 5 * mebibyte, 100, 7 * mebibyte, 9],
      ]) {
        const parts = sizes.map((size) => ({ key: keyOf('part'), bytes: randomBytes(size) }))
        for (const { key, bytes } of parts) await store.put(key, sourceOf(bytes), options)
        const to = keyOf('joined')
        const keys = parts.map(({ key }) => key)
        const whole = Buffer.concat(parts.map(({ bytes }) => bytes))
        const stored = await join(keys, to, options)
        t.match(stored, { size: whole.length, eTag: /^"[0-9a-f]{32}(?:-\d+)?"$/ }, sizes.join())
        t.ok((await read(store, to)).equals(whole), sizes.join())
        if (whole.length > 0) {
          const small = { ...options, maxBytes: whole.length - 1 }
          await t.rejects(join(keys, keyOf(), small), { name: 'TooManyBytesError' })
        }
      }
      await t.rejects(join([keyOf('missing')], keyOf(), options), { name: 'MissingBytesError' })
    })
  })
}

t.test('small parts are joined to groups', async (t) => {
  const sizes = (...all: readonly number[]) =>
    groupsOf(all.map((size) => ({ size: size * mebibyte }))).map((group) => group.map(({ size }) => size / mebibyte))
  t.strictSame(sizes(), [])
  t.strictSame(sizes(1), [[1]])
  t.strictSame(sizes(5, 5, 1), [[5], [5], [1]])
  t.strictSame(sizes(1, 2, 3, 4, 8, 16, 1), [[1, 2, 3], [4, 8], [16], [1]])
  const many = sizes(...Array.from({ length: 12_000 }, () => 6))
  t.ok(many.length <= 10_000, 'S3 allows 10,000 parts')
  t.equal(many.flat().length, 12_000)
})

// An S3 server that fails --------------------------------------------------------------------------------------------

const unavailable = { statusCode: 503, httpStatus: 503, message: 'The object store is not available at the moment' }

t.test('a server that is down: clear errors, and everything works when it is back', async (t) => {
  const server = await startS3(t)
  const store = await s3Store(server, { attempts: 2 })
  const key = keyOf()
  await store.put(key, sourceOf(Buffer.from('kept')), options)
  server.decide = () => 'refuse'
  const source = sourceOf(randomBytes(10 * mebibyte))
  await t.rejects(store.put(keyOf(), source, options), unavailable)
  t.notOk(source.destroyed, 'the source is left to the caller: a request gets its response through it')
  await t.rejects(store.get(key), unavailable)
  await t.rejects(store.copy(key, keyOf()), unavailable)
  await t.rejects(store.remove([key]), unavailable)
  await t.rejects(store.remove([key, keyOf()]), unavailable)
  await t.rejects(store.removeRemnants(new Date()), unavailable)
  t.ok(server.seen.filter((line) => line.startsWith('DELETE')).length >= 2, 'requests are repeated')
  server.decide = () => 'pass'
  t.equal((await read(store, key)).toString(), 'kept')
  await server.stop()
  await t.rejects(store.get(key), unavailable, 'refused connections')
  await store.close()
})

t.test('a server that does not respond is given up', async (t) => {
  const server = await startS3(t)
  const store = await s3Store(server, { attempts: 1, responseTimeout: 300 })
  const key = keyOf()
  await store.put(key, sourceOf(Buffer.from('kept')), options)
  server.decide = () => 'hang'
  await t.rejects(store.get(key), unavailable)
  await t.rejects(store.put(keyOf(), sourceOf(randomBytes(1000)), options), unavailable)
  const controller = new AbortController()
  const read = store.get(key, undefined, controller.signal)
  controller.abort(new Error('the client has left'))
  await t.rejects(read, { message: 'the client has left' })
  await store.close()
})

t.test('a download that is cut fails instead of ending early', async (t) => {
  const server = await startS3(t)
  const store = await s3Store(server)
  t.teardown(() => store.close())
  const key = keyOf()
  await store.put(key, sourceOf(randomBytes(3 * mebibyte)), options)
  server.decide = () => 'cut response'
  await t.rejects(read(store, key))
})

t.test('a store that cannot be used is refused at the start', async (t) => {
  const server = await startS3(t)
  await t.rejects(S3Store.open({ bucket: 'another', endpoint: server.endpoint, region: 'us-east-1' }), {
    message: 'the S3 bucket another does not exist',
  })
  server.decide = () => 'refuse'
  const store = await s3Store(server, { attempts: 1 })
  server.decide = () => 'pass'
  t.match(await store.put(keyOf(), sourceOf(Buffer.from('x')), options), { size: 1 }, 'a server that comes back')
  await store.close()
})
