// Transformed images: requests and responses, permissions, limits, and a process that crashes or hangs.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { ImageRenderer } from '../../server/services/storage/render/image-renderer.ts'
import { childProcesses } from '../support/child-processes.ts'
import { hostileFiles } from '../support/hostile-images.ts'
import { startStorageService, storageFault, storageFaults, type StorageAnswer } from '../support/storage.ts'
import { noise, picture } from '../support/test-image.ts'
import { until } from '../support/until.ts'

const [ada, ben] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const

const { ask, database } = await startStorageService(t)
await database.query(
  `insert into storage.buckets (id, name, public) values ('open', 'open', true), ('own', 'own', false);
   create policy own on storage.objects for all to authenticated
     using (bucket_id = 'own' and (storage.foldername(name))[1] = auth.uid()::text);`,
)
const jpeg = await picture(200, 100, '#ff0000').jpeg().toBuffer()
const put = (path: string, body: Uint8Array, type = 'image/jpeg') =>
  ask('POST', `/object/${path}`, {
    as: 'service_role',
    body,
    headers: { 'Content-Type': type, 'Cache-Control': 'max-age=60' },
  })
await put('open/a.jpg', jpeg)
await put('open/folder/b c.png', await picture(200, 100, '#00ff00').png().toBuffer(), 'image/png')
await put(`own/${ada}/a.jpg`, jpeg)
await put('open/text.jpg', Buffer.from('not an image'))

const sizeOf = async (bytes: Buffer) => {
  const { format, width, height } = await sharp(bytes).metadata()
  return [format, width, height]
}
const invalid = storageFault(
  400,
  'InvalidRequest',
  'The source image is invalid or unsupported for rendering',
  'InvalidRequest',
)

t.test('sizes, formats and headers', async (t) => {
  const rows = [
    [
      'open/a.jpg?width=80&height=60&resize=cover&quality=50',
      {},
      ['jpeg', 80, 60],
      'height:60,width:80,resizing_type:fill,quality:50',
    ],
    ['open/a.jpg?width=80&height=60&resize=contain', {}, ['jpeg', 80, 40], 'height:60,width:80,resizing_type:fit'],
    ['open/a.jpg?width=80&height=60&resize=fill', {}, ['jpeg', 80, 60], 'height:60,width:80,resizing_type:force'],
    ['open/folder/b%20c.png?width=50', {}, ['png', 50, 25], 'width:50,resizing_type:fill'],
    ['open/a.jpg', {}, ['jpeg', 200, 100], null],
    ['open/a.jpg?width=50', { Accept: 'image/avif,image/webp,*/*' }, ['webp', 50, 25], 'width:50,resizing_type:fill'],
    ['open/a.jpg?width=50', { Accept: 'image/webp;q=0' }, ['jpeg', 50, 25], 'width:50,resizing_type:fill'],
    ['open/a.jpg?width=50&format=origin', { Accept: 'image/webp' }, ['jpeg', 50, 25], 'width:50,resizing_type:fill'],
    ['open/a.jpg?width=50&format=webp', {}, ['webp', 50, 25], 'width:50,resizing_type:fill,format:webp'],
    ['open/a.jpg?width=99999', {}, ['jpeg', 200, 100], 'width:2000,resizing_type:fill'],
  ] as const
  for (const [path, headers, size, transformations] of rows) {
    const answer = await ask('GET', `/render/image/public/${path}`, { headers })
    t.equal(answer.status, 200, path)
    t.strictSame(await sizeOf(answer.bytes), size, path)
    t.equal(answer.headers.get('x-transformations'), transformations, path)
    t.equal(answer.headers.get('content-type'), `image/${size[0]}`)
    t.equal(answer.headers.get('content-length'), String(answer.bytes.length))
    t.equal(answer.headers.get('cache-control'), 'max-age=60')
    t.equal(answer.headers.get('x-robots-tag'), 'none')
    t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    t.match(answer.headers.get('vary'), /Accept/)
  }
  const whole = await ask('GET', '/object/public/open/a.jpg')
  const { headers } = await ask('GET', '/render/image/public/open/a.jpg?width=10&download=x%20y.jpg')
  t.equal(headers.get('etag'), whole.headers.get('etag'))
  t.equal(headers.get('content-disposition'), "attachment; filename=x%20y.jpg; filename*=UTF-8''x%20y.jpg")
  const known = await ask('GET', '/render/image/public/open/a.jpg?width=10', {
    headers: { 'If-None-Match': headers.get('etag') ?? '' },
  })
  t.strictSame([known.status, known.bytes.length], [304, 0])
})

t.test('errors', async (t) => {
  const rows = [
    ['public/open/a.jpg?width=x', undefined, storageFaults.validation('querystring/width must be integer')],
    ['public/open/a.jpg?quality=5', undefined, storageFaults.validation('querystring/quality must be >= 20')],
    [
      'public/open/a.jpg?resize=x',
      undefined,
      storageFaults.validation('querystring/resize must be equal to one of the allowed values'),
    ],
    ['public/open/text.jpg?width=5', undefined, invalid],
    ['public/open/missing.jpg', undefined, storageFaults.noObject],
    ['public/missing/a.jpg', undefined, storageFaults.noBucket],
    [`public/own/${ada}/a.jpg`, ada, storageFaults.noBucket],
    [`authenticated/own/${ada}/a.jpg`, undefined, storageFaults.noToken],
    [`authenticated/own/${ada}/a.jpg`, ben, storageFaults.noObject],
    [`authenticated/own/${ada}/a.jpg`, 'anon', storageFaults.noObject],
    [`sign/own/${ada}/a.jpg`, undefined, storageFaults.validation("querystring must have required property 'token'")],
    [`sign/own/${ada}/a.jpg?token=x`, undefined, storageFault(400, 'InvalidJWT', 'Invalid Compact JWS', 'InvalidJWT')],
  ] as const
  for (const [path, as, body] of rows) {
    const answer = await ask('GET', `/render/image/${path}`, { as })
    t.strictSame([answer.status, answer.json], [400, body], path)
  }
})

t.test('private images: as a user, and by signed URLs', async (t) => {
  const own = await ask('GET', `/render/image/authenticated/own/${ada}/a.jpg?width=20`, { as: ada })
  t.strictSame([own.status, await sizeOf(own.bytes)], [200, ['jpeg', 20, 10]])
  const sign = async (transform: object): Promise<string> => {
    const { json } = await ask('POST', `/object/sign/own/${ada}/a.jpg`, { as: ada, body: { expiresIn: 60, transform } })
    return (json as { signedURL: string }).signedURL
  }
  const signed = await sign({ width: 40, height: 40, resize: 'contain', quality: 30 })
  t.ok(signed.startsWith(`/render/image/sign/own/${ada}/a.jpg?token=`))
  const answer = await ask('GET', signed)
  t.strictSame(await sizeOf(answer.bytes), ['jpeg', 40, 20])
  t.equal(answer.headers.get('x-transformations'), 'height:40,width:40,resizing_type:fit,quality:30')
  t.ok(Date.parse(answer.headers.get('expires') ?? '') > Date.now())
  t.equal(answer.headers.get('cache-control'), null)
  const more = await ask('GET', `${signed}&width=100&height=100&resize=fill&quality=x`)
  t.strictSame(await sizeOf(more.bytes), ['jpeg', 40, 20], 'only the transformation of the token counts')
  const other = await ask('GET', signed.replace('/a.jpg', '/b.jpg'))
  t.match(other.json, { code: 'InvalidSignature', message: 'Invalid signature' })
  const plain = (await sign({})).replace('/object/sign/', '/render/image/sign/')
  t.strictSame(await sizeOf((await ask('GET', `${plain}&width=10`)).bytes), ['jpeg', 200, 100])
})

t.test('transformation can be switched off, and its sizes limited', async (t) => {
  const off = await startStorageService(t, { IMAGE_TRANSFORMATION_ENABLED: 'false' })
  const answer = await off.ask('GET', '/render/image/public/open/a.jpg?width=5')
  t.equal(answer.status, 404)
  t.match(answer.json, { message: 'Route GET:/render/image/public/open/a.jpg?width=5 not found' })
  const limited = await startStorageService(t, {
    IMAGE_TRANSFORMATION_LIMIT_MIN_SIZE: '30',
    IMAGE_TRANSFORMATION_LIMIT_MAX_SIZE: '60',
  })
  await limited.database.query(`insert into storage.buckets (id, name, public) values ('open', 'open', true)`)
  const as = 'service_role'
  await limited.ask('POST', '/object/open/a.jpg', { as, body: jpeg, headers: { 'Content-Type': 'image/jpeg' } })
  const size = async (query: string) =>
    sizeOf((await limited.ask('GET', `/render/image/public/open/a.jpg?${query}`)).bytes)
  t.strictSame(await size('width=1'), ['jpeg', 30, 15])
  t.strictSame(await size('width=200'), ['jpeg', 60, 30])
})

/** On a busy machine, the process may take too long. */
async function patiently(path: string): Promise<StorageAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask('GET', path)
    if (answer.status !== 503 || attempt === 5) return answer
  }
}

t.test('hostile images get 400, and the server goes on', async (t) => {
  const hostile = await hostileFiles()
  const chosen = hostile.filter(
    ({ name }, index) => /bomb|png of|jpeg of|svg|html|gif|tiff|zero|text/.test(name) || index % 60 === 0,
  )
  for (const { name, bytes } of chosen) {
    await ask('PUT', '/object/open/hostile', {
      as: 'service_role',
      body: bytes,
      headers: { 'Content-Type': 'image/png' },
    })
    const answer = await patiently('/render/image/public/open/hostile?width=50&height=50')
    if (answer.status !== 200) {
      t.strictSame([answer.status, (answer.json as { code?: unknown }).code], [400, 'InvalidRequest'], name)
    }
  }
  const large = await noise(3000, 3000).png({ compressionLevel: 0 }).toBuffer()
  t.ok(large.length > 25 * 1024 * 1024)
  await ask('PUT', '/object/open/hostile', {
    as: 'service_role',
    body: large,
    headers: { 'Content-Type': 'image/png' },
  })
  const refused = await ask('GET', '/render/image/public/open/hostile?width=50')
  t.match(refused.json, { statusCode: '400', message: 'The source image file is too large to process' })
  t.equal((await patiently('/render/image/public/open/a.jpg?width=50')).status, 200)
})

t.test('a killed process is replaced', async (t) => {
  const transformers = () => childProcesses(process.pid, 'transformer/main.')
  t.equal((await ask('GET', '/render/image/public/open/a.jpg?width=50')).status, 200)
  for (const pid of await transformers()) process.kill(pid, 'SIGKILL')
  const answered = async () => (await ask('GET', '/render/image/public/open/a.jpg?width=50')).status
  t.ok(await until(async () => (await answered()) === 200), 'it works again')
})

t.test('a process that hangs is killed, and others wait in a bounded queue', async (t) => {
  const warnings: string[] = []
  const renderer = new ImageRenderer((message) => warnings.push(message), { queueLimit: 1, timeout: 10_000 })
  t.teardown(() => renderer.stop())
  const run = (bytes: Uint8Array = jpeg) =>
    renderer.render(
      bytes.length,
      () => Promise.resolve(bytes),
      { transformation: { width: 10 }, acceptsWebp: false },
      new AbortController().signal,
    )
  t.match(await run(), { type: 'image/jpeg' })
  const { pid = 0 } = renderer
  // A stopped process is like one that hangs.
  process.kill(pid, 'SIGSTOP')
  const hanging = t.rejects(run(), { statusCode: 503, message: 'Image request timed out' })
  const waiting = t.rejects(run(), { statusCode: 503, message: 'Too many images are waiting to be transformed' })
  const full: unknown = await run().catch((error: unknown) => error)
  t.match(full, { statusCode: 503, httpStatus: 503, headers: { 'Retry-After': '2' } }, 'the queue is full')
  await Promise.all([hanging, waiting])
  t.match(await run(), { type: 'image/jpeg' }, 'a new process')
  t.not(renderer.pid, pid)
  t.match(warnings, ['The transformer of images ended: an image took longer than 10 s'])
  const controller = new AbortController()
  const read = async (): Promise<Uint8Array> => readFile(join(import.meta.dirname, 'missing'))
  await t.rejects(
    renderer.render(10, read, { transformation: {}, acceptsWebp: false }, controller.signal),
    { code: 'ENOENT' },
    'errors of reading',
  )
  const narrow = new ImageRenderer(() => undefined, { memory: 100 })
  t.teardown(() => narrow.stop())
  const task = { transformation: {}, acceptsWebp: false }
  const first = narrow.render(jpeg.length, () => Promise.resolve(jpeg), task, controller.signal)
  const second: unknown = await narrow
    .render(10, () => Promise.resolve(jpeg), task, controller.signal)
    .catch((error: unknown) => error)
  t.match(second, { statusCode: 503 }, 'memory')
  t.match(await first, { type: 'image/jpeg' })
})
