// Resumable uploads by the protocol tus: requests and responses, permissions, conflicts and limits.
import { randomBytes, randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { storageDatabase } from '../../server/services/storage/storage-database.ts'
import { sweep } from '../../server/services/storage/sweep.ts'
import { decodeUploadId, encodeUploadId } from '../../server/services/storage/resumable/upload-id.ts'
import {
  startStorageService,
  storageBearer,
  storageFaults,
  type StorageAnswer,
  type StorageCallerName,
} from '../support/storage.ts'
import { withClient } from '../support/database.ts'
import { conflictRounds, testWithFolder } from '../support/storage-backends.ts'
import { until } from '../support/until.ts'

const [ada, ben] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const
const metadataOf = (values: Readonly<Record<string, string | null>>): string =>
  Object.entries(values)
    .map(([key, value]) => (value === null ? key : `${key} ${Buffer.from(value).toString('base64')}`))
    .join(',')

type Headers = Readonly<Record<string, string>>
const tus = { 'Tus-Resumable': '1.0.0' }
const octets = { 'Content-Type': 'application/offset+octet-stream' }

const storage = await startStorageService(t, { FILE_SIZE_LIMIT: String(40 * 1024 * 1024) })
const { ask, database, store, versions: stored, url } = storage
await database.query(
  `insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
     ('open', 'open', true, null, null), ('own', 'own', false, null, null),
     ('small', 'small', false, 1000, null), ('pictures', 'pictures', false, null, '{image/*}');
   create policy own_write on storage.objects for all to authenticated
     using (bucket_id = 'own' and (storage.foldername(name))[1] = auth.uid()::text)
     with check (bucket_id = 'own' and (storage.foldername(name))[1] = auth.uid()::text);
   create policy open_insert on storage.objects for insert to authenticated with check (bucket_id = 'open');`,
)

type Created = {
  readonly as?: StorageCallerName
  readonly headers?: Headers
  readonly body?: Uint8Array
  readonly path?: string
}
const create = (
  bucketName: string,
  objectName: string,
  length: number | null,
  { as = 'service_role', headers = {}, body, path = '/upload/resumable' }: Created = {},
): Promise<StorageAnswer> =>
  ask('POST', path, {
    as,
    headers: {
      ...tus,
      ...(length === null ? { 'Upload-Defer-Length': '1' } : { 'Upload-Length': String(length) }),
      'Upload-Metadata': metadataOf({ bucketName, objectName, contentType: 'text/plain', cacheControl: '60' }),
      ...headers,
    },
    body,
  })
const addressOf = ({ headers }: StorageAnswer): string =>
  (headers.get('location') ?? '').replace(`${url}/storage/v1`, '')
const patch = (
  address: string,
  offset: number,
  bytes: Uint8Array,
  { as = 'service_role', headers = {} }: { readonly as?: StorageCallerName; readonly headers?: Headers } = {},
) =>
  ask('PATCH', address, {
    as,
    body: bytes,
    headers: { ...tus, ...octets, 'Upload-Offset': String(offset), ...headers },
  })
const head = (address: string, as: StorageCallerName = 'service_role') => ask('HEAD', address, { as, headers: tus })
const download = (path: string, as: StorageCallerName = 'service_role') =>
  ask('GET', `/object/authenticated/${path}`, { as })
const rowOf = async (name: string) =>
  (await database.query('select * from storage.objects where name = $1', [name])).rows[0]
const eventually = async (t: Test, condition: () => Promise<boolean>, name: string) =>
  t.ok(await until(condition), name)

testWithFolder(t, 'the protocol is described', async (t) => {
  const answer = await ask('OPTIONS', '/upload/resumable')
  t.equal(answer.status, 204)
  t.equal(answer.headers.get('tus-version'), '1.0.0')
  t.equal(
    answer.headers.get('tus-extension'),
    'creation,creation-with-upload,creation-defer-length,termination,expiration',
  )
  t.equal(answer.headers.get('tus-max-size'), String(40 * 1024 * 1024))
})

t.test('an object is uploaded in pieces, and exists only at the end', async (t) => {
  const bytes = randomBytes(3000)
  const created = await create('own', `${ada}/pieces.txt`, bytes.length, {
    as: ada,
    headers: {
      'Upload-Metadata': metadataOf({
        bucketName: 'own',
        objectName: `${ada}/pieces.txt`,
        contentType: 'text/plain',
        cacheControl: '3600',
        metadata: JSON.stringify({ taken: 'today' }),
      }),
    },
  })
  t.equal(created.status, 201)
  t.equal(created.text, '')
  t.equal(created.headers.get('tus-resumable'), '1.0.0')
  t.ok(Date.parse(created.headers.get('upload-expires') ?? '') > Date.now())
  const location = created.headers.get('location') ?? ''
  t.ok(location.startsWith(`${url}/storage/v1/upload/resumable/`))
  const text = Buffer.from(location.split('/').at(-1) ?? '', 'base64url').toString()
  t.match(text, new RegExp(`^own/${ada}/pieces.txt/[0-9a-f-]{36}$`))
  const address = addressOf(created)

  const first = await patch(address, 0, bytes.subarray(0, 1000), { as: ada })
  t.equal(first.status, 204)
  t.equal(first.headers.get('upload-offset'), '1000')
  t.ok(first.headers.get('upload-expires'))
  t.equal((await download(`own/${ada}/pieces.txt`, ada)).status, 400, 'not yet')
  const found = await head(address, ada)
  t.equal(found.status, 200)
  t.equal(found.headers.get('upload-offset'), '1000')
  t.equal(found.headers.get('upload-length'), '3000')
  t.equal(found.headers.get('cache-control'), 'no-store')
  t.ok(found.headers.get('upload-metadata')?.includes('bucketName'))

  const second = await patch(address, 1000, bytes.subarray(1000), { as: ada })
  t.equal(second.status, 204)
  t.equal(second.headers.get('upload-offset'), '3000')
  t.equal(second.headers.get('tus-complete'), '1')
  const object = await download(`own/${ada}/pieces.txt`, ada)
  t.ok(object.bytes.equals(bytes))
  t.equal(object.headers.get('cache-control'), 'max-age=3600')
  t.equal(object.headers.get('content-type'), 'text/plain')
  t.match(await rowOf(`${ada}/pieces.txt`), {
    owner: ada,
    owner_id: ada,
    user_metadata: { taken: 'today' },
    metadata: {
      size: 3000,
      contentLength: 3000,
      mimetype: 'text/plain',
      cacheControl: 'max-age=3600',
      httpStatusCode: 200,
    },
  })
  t.equal((await head(address, ada)).headers.get('upload-offset'), '3000', 'the finished upload is still known')
  await eventually(t, async () => (await stored()).length === 1, 'the parts are removed')
})

t.test('bytes can come with the creation, and the length later', async (t) => {
  const bytes = randomBytes(500)
  const whole = await create('own', 'with-creation.bin', 500, { headers: octets, body: bytes })
  t.equal(whole.status, 201)
  t.equal(whole.headers.get('upload-offset'), '500')
  t.ok((await download('own/with-creation.bin')).bytes.equals(bytes))

  const part = await create('own', 'creation-part.bin', 500, { headers: octets, body: bytes.subarray(0, 200) })
  t.equal(part.headers.get('upload-offset'), '200')
  t.equal((await patch(addressOf(part), 200, bytes.subarray(200))).headers.get('upload-offset'), '500')
  t.ok((await download('own/creation-part.bin')).bytes.equals(bytes))

  const empty = await create('own', 'empty.bin', 0)
  t.equal(empty.status, 201)
  t.equal((await download('own/empty.bin')).bytes.length, 0)

  const deferred = await create('own', 'deferred.bin', null)
  t.equal(deferred.status, 201)
  const address = addressOf(deferred)
  t.equal((await head(address)).headers.get('upload-defer-length'), '1')
  t.equal((await patch(address, 0, bytes.subarray(0, 100))).status, 204)
  const last = await patch(address, 100, bytes.subarray(100), { headers: { 'Upload-Length': '500' } })
  t.equal(last.headers.get('upload-offset'), '500')
  t.ok((await download('own/deferred.bin')).bytes.equals(bytes))

  const later = addressOf(await create('own', 'declared-last.bin', null))
  t.equal((await patch(later, 0, bytes)).status, 204)
  t.equal(await rowOf('declared-last.bin'), undefined)
  t.equal((await patch(later, 500, Buffer.alloc(0), { headers: { 'Upload-Length': '500' } })).status, 204)
  t.ok((await download('own/declared-last.bin')).bytes.equals(bytes))

  const between = addressOf(await create('own', 'declared-early.bin', null))
  t.equal((await patch(between, 0, bytes.subarray(0, 10), { headers: { 'Upload-Length': '500' } })).status, 204)
  t.equal((await head(between)).headers.get('upload-length'), '500')
  t.equal((await patch(between, 10, bytes.subarray(10), { headers: { 'Upload-Length': '600' } })).status, 400, 'again')
  t.equal((await patch(between, 10, bytes.subarray(10))).status, 204)
  t.ok((await download('own/declared-early.bin')).bytes.equals(bytes))
})

t.test('a page is no picture', async (t) => {
  const page = Buffer.from('<!DOCTYPE html><script>alert(1)</script>')
  const upload = async (name: string, contentType: string): Promise<StorageAnswer> => {
    const metadata = metadataOf({ bucketName: 'open', objectName: name, contentType })
    const address = addressOf(await create('open', name, page.length, { headers: { 'Upload-Metadata': metadata } }))
    await patch(address, 0, page.subarray(0, 5))
    return patch(address, 5, page.subarray(5))
  }
  const refused = await upload('page.png', 'image/png')
  t.strictSame([refused.status, refused.text], [415, 'mime type image/png is not that of the content, which is markup'])
  t.notOk(await rowOf('page.png'))
  t.equal((await upload('page.html', 'text/html')).status, 204)
  t.equal((await download('open/page.html')).text, page.toString())
})

t.test('large objects are joined from many parts', async (t) => {
  const bytes = randomBytes(12 * 1024 * 1024 + 5)
  const address = addressOf(await create('own', 'large.bin', bytes.length))
  // The size of the pieces that Supabase's clients send: S3 joins them without sending them back.
  const piece = 6 * 1024 * 1024
  t.equal((await patch(address, 0, bytes.subarray(0, piece))).status, 204)
  const parts = await database.query('select from rowhouse.resumable_parts where size = $1', [piece])
  t.equal(parts.rows.length, 1, 'a piece is one part')
  t.equal((await patch(address, piece, bytes.subarray(piece))).status, 204)
  t.ok((await download('own/large.bin')).bytes.equals(bytes))
})

t.test('errors, in plain text with their statuses', async (t) => {
  const named = (values: Readonly<Record<string, string | null>>): Headers => ({
    'Upload-Metadata': metadataOf(values),
  })
  const address = addressOf(await create('own', 'errors.bin', 100))
  const rows: readonly (readonly [string, () => Promise<StorageAnswer>, number, string])[] = [
    ['no version', () => ask('POST', '/upload/resumable', { as: 'service_role' }), 412, 'Tus-Resumable Required\n'],
    [
      'another version',
      () => create('own', 'x', 1, { headers: { 'Tus-Resumable': '0.2.0' } }),
      400,
      'Invalid tus-resumable\n',
    ],
    [
      'no metadata',
      () => ask('POST', '/upload/resumable', { as: 'service_role', headers: { ...tus, 'Upload-Length': '1' } }),
      400,
      'Metadata header is required',
    ],
    [
      'invalid metadata',
      () => create('own', 'x', 1, { headers: { 'Upload-Metadata': 'a %%%' } }),
      400,
      'Invalid upload-metadata\n',
    ],
    [
      'no length',
      () =>
        ask('POST', '/upload/resumable', {
          as: 'service_role',
          headers: { ...tus, ...named({ bucketName: 'own', objectName: 'x' }) },
        }),
      400,
      'Upload-Length or Upload-Defer-Length header required\n',
    ],
    [
      'both lengths',
      () => create('own', 'x', 1, { headers: { 'Upload-Defer-Length': '1' } }),
      400,
      'Upload-Length or Upload-Defer-Length header required\n',
    ],
    ['negative length', () => create('own', 'x', -1), 400, 'Invalid upload-length\n'],
    ['no bucket', () => create('missing', 'x', 1), 404, 'Bucket not found'],
    [
      'no bucket name',
      () => create('own', 'x', 1, { headers: named({ objectName: 'x' }) }),
      400,
      'Bucket name invalid',
    ],
    ['no object name', () => create('own', '', 1), 400, 'Invalid key: '],
    ['the parent folder', () => create('own', 'a/../b', 1), 400, 'Invalid key: a/../b'],
    ['invalid name', () => create('own', 'a\u0000b', 1), 400, 'Invalid key: a\u0000b'],
    ['name above 1,024 bytes', () => create('own', 'x'.repeat(1025), 1), 400, `Invalid key: ${'x'.repeat(1024)}`],
    ['above the limit of the server', () => create('own', 'x', 50_000_000), 413, 'Maximum size exceeded\n'],
    ['above the limit of the bucket', () => create('small', 'x', 1001), 413, 'Maximum size exceeded\n'],
    [
      'content of a folder placeholder',
      () => create('own', 'a/.emptyFolderPlaceholder', 1),
      413,
      'The object exceeded the maximum allowed size',
    ],
    ['media type', () => create('pictures', 'x', 1), 415, 'mime type text/plain is not supported'],
    [
      'no media type',
      () => create('pictures', 'x', 1, { headers: named({ bucketName: 'pictures', objectName: 'x' }) }),
      415,
      'mime type application/octet-stream is not supported',
    ],
    [
      'malformed media type',
      () => create('own', 'x', 1, { headers: named({ bucketName: 'own', objectName: 'x', contentType: 'a\r\nb' }) }),
      415,
      'Invalid Content-Type header',
    ],
    [
      'row-level security',
      () => create('own', `${ben}/x`, 1, { as: ada }),
      403,
      'new row violates row-level security policy',
    ],
    [
      'anonymous',
      () => create('own', `${ada}/x`, 1, { as: 'anon' }),
      403,
      'new row violates row-level security policy',
    ],
    ['existing object', () => create('own', 'empty.bin', 1), 409, 'The resource already exists'],
    [
      'concatenation',
      () => create('own', 'x', 1, { headers: { 'Upload-Concat': 'partial' } }),
      501,
      'Concatenation extension is not (yet) supported. Disable parallel uploads in the tus client.\n',
    ],
    [
      'no offset',
      () => ask('PATCH', address, { as: 'service_role', body: 'x', headers: { ...tus, ...octets } }),
      403,
      'Upload-Offset header required\n',
    ],
    ['wrong offset', () => patch(address, 50, Buffer.alloc(10)), 409, 'Upload-Offset conflict\n'],
    ['negative offset', () => patch(address, -1, Buffer.alloc(10)), 400, 'Invalid upload-offset\n'],
    [
      'wrong type',
      () => patch(address, 0, Buffer.alloc(10), { headers: { 'Content-Type': 'text/plain' } }),
      400,
      'Invalid content-type\n',
    ],
    ['more than declared', () => patch(address, 0, Buffer.alloc(101)), 413, "upload's size exceeded\n"],
    [
      'unknown upload',
      () => patch(`/upload/resumable/${encodeUploadId(`own/x/${randomUUID()}`)}`, 0, Buffer.alloc(1)),
      404,
      'The file for this url was not found\n',
    ],
    [
      'not base64',
      () => patch('/upload/resumable/***', 0, Buffer.alloc(1)),
      404,
      'The file for this url was not found\n',
    ],
    [
      'a path in it',
      () => patch(`/upload/resumable/${encodeUploadId(`own/../../etc/passwd/${randomUUID()}`)}`, 0, Buffer.alloc(1)),
      404,
      'The file for this url was not found\n',
    ],
    ['no upload', () => patch('/upload/resumable/', 0, Buffer.alloc(1)), 404, 'The file for this url was not found\n'],
    [
      'termination of a finished upload',
      async () =>
        ask('DELETE', addressOf(await create('own', `done-${randomUUID()}`, 0)), {
          as: 'service_role',
          headers: { ...tus, 'X-Upsert': 'true' },
        }),
      400,
      'Cannot terminate an already completed upload',
    ],
  ]
  for (const [name, run, status, text] of rows) {
    const answer = await run()
    t.strictSame([answer.status, answer.text], [status, text], name)
    t.equal(answer.headers.get('location'), null, `${name}: no address`)
  }
  t.equal((await head(address)).headers.get('upload-offset'), '0', 'nothing was stored')
  for (const [method, path] of [
    ['POST', '/upload/resumable'],
    ['HEAD', address],
    ['PATCH', address],
    ['DELETE', address],
  ] as const) {
    const answer = await ask(method, path, { headers: tus })
    t.equal(answer.status, 400, `${method} without a token`)
    if (method !== 'HEAD') t.strictSame(answer.json, storageFaults.noToken)
  }
  const garbage = await ask('POST', '/upload/resumable', { headers: { ...tus, Authorization: 'Bearer x.y.z' } })
  t.match(garbage.json, { statusCode: '403', error: 'Unauthorized' })
})

testWithFolder(t, 'an upload belongs to the user who began it', async (t) => {
  // The policies let every user insert into this bucket, so only the upload itself can be protected.
  const address = addressOf(await create('open', 'shared.txt', 10, { as: ada }))
  t.equal((await patch(address, 0, Buffer.from('01234'), { as: ada })).status, 204)
  for (const as of [ben, 'service_role', 'anon'] as const) {
    t.equal((await head(address, as)).status, 404, `HEAD as ${as}`)
    t.equal((await patch(address, 5, Buffer.from('XXXXX'), { as })).status, 404, `PATCH as ${as}`)
    t.equal((await ask('DELETE', address, { as, headers: tus })).status, 404, `DELETE as ${as}`)
  }
  const [segment = ''] = address.split('/').slice(-1)
  const text = decodeUploadId(segment) ?? ''
  for (const altered of [text.replace('open/', 'own/'), text.replace('shared', 'other'), `${text.slice(0, -1)}0`]) {
    const path = `/upload/resumable/${encodeUploadId(altered)}`
    if (altered !== text) t.equal((await head(path, ada)).status, 404, altered)
  }
  t.equal((await patch(address, 5, Buffer.from('56789'), { as: ada })).status, 204)
  t.equal((await download('open/shared.txt')).text, '0123456789')
})

testWithFolder(t, 'permissions are checked on every request', async (t) => {
  const name = `${ada}/revoked.txt`
  const address = addressOf(await create('own', name, 10, { as: ada }))
  t.equal((await patch(address, 0, Buffer.from('01234'), { as: ada })).status, 204)
  await database.query('alter policy own_write on storage.objects to service_role')
  const refused = await patch(address, 5, Buffer.from('56789'), { as: ada })
  t.strictSame([refused.status, refused.text], [403, 'new row violates row-level security policy'])
  t.equal((await ask('DELETE', address, { as: ada, headers: tus })).status, 403)
  await database.query('alter policy own_write on storage.objects to authenticated')
  t.equal(await rowOf(name), undefined)
  t.equal((await patch(address, 5, Buffer.from('56789'), { as: ada })).status, 204)
  t.equal((await download(`own/${name}`, ada)).text, '0123456789')
})

t.test('an existing object is replaced only with x-upsert', async (t) => {
  const upsert = { 'X-Upsert': 'true' }
  const [one, other] = [
    addressOf(await create('own', 'replaced.txt', 3)),
    addressOf(await create('own', 'replaced.txt', 3)),
  ]
  t.equal((await patch(one, 0, Buffer.from('one'))).status, 204)
  const refused = await patch(other, 0, Buffer.from('two'))
  t.strictSame([refused.status, refused.text], [409, 'The resource already exists'])
  t.equal((await download('own/replaced.txt')).text, 'one')
  const { id } = (await rowOf('replaced.txt')) ?? {}
  t.equal((await patch(other, 0, Buffer.from('two'), { headers: upsert })).status, 204)
  t.equal((await download('own/replaced.txt')).text, 'two')
  t.equal((await rowOf('replaced.txt'))?.id, id, 'the id stays')
})

t.test('of two requests for the same bytes, one wins', async (t) => {
  for (let round = 0; round < conflictRounds(); round++) {
    const name = `race-${round}.bin`
    const [a, b] = [Buffer.alloc(200_000, 'a'), Buffer.alloc(200_000, 'b')]
    const address = addressOf(await create('own', name, 400_000))
    const first = await Promise.all([patch(address, 0, a), patch(address, 0, b)])
    t.strictSame(first.map(({ status }) => status).sort(), [204, 409], `${name}: one part`)
    t.equal((await head(address)).headers.get('upload-offset'), '200000')
    const last = await Promise.all([patch(address, 200_000, a), patch(address, 200_000, b)])
    t.strictSame(last.map(({ status }) => status).sort(), [204, 409], `${name}: the last part`)
    const { bytes } = await download(`own/${name}`)
    t.ok(
      [a, b].some((part) => part.equals(bytes.subarray(0, 200_000))),
      'whole',
    )
    t.ok(
      [a, b].some((part) => part.equals(bytes.subarray(200_000))),
      'whole',
    )
    const winner = first[0]?.status === 204 ? a : b
    t.ok(bytes.subarray(0, 200_000).equals(winner), 'of the request that was told so')
  }
  const uploads = await Promise.all(
    Array.from({ length: 4 }, async () => addressOf(await create('own', 'same-name.bin', 3))),
  )
  const answers = await Promise.all(uploads.map((address, index) => patch(address, 0, Buffer.from(`n${index}!`))))
  t.strictSame(answers.map(({ status }) => status).sort(), [204, 409, 409, 409])
  const index = answers.findIndex(({ status }) => status === 204)
  t.equal((await download('own/same-name.bin')).text, `n${index}!`)
})

t.test('the parts are gone when a request joins them', async (t) => {
  const whileJoining = async (name: string, change: string): Promise<StorageAnswer> => {
    const address = addressOf(await create('own', name, 6))
    t.equal((await patch(address, 0, Buffer.from('one'))).status, 204)
    return withClient(database.adminUri, async (client) => {
      await client.query('begin; lock table rowhouse.resumable_parts in access exclusive mode')
      const late = patch(address, 3, Buffer.from('two'))
      const waiting = `select from pg_locks where not granted and relation = 'rowhouse.resumable_parts'::regclass
        and database = (select oid from pg_database where datname = current_database())`
      t.ok(await until(async () => (await client.query(waiting)).rowCount === 1))
      const parts = `delete from rowhouse.resumable_parts using rowhouse.resumable_uploads where upload_id = id and name = '${name}'`
      await client.query(`${parts}; ${change} where name = '${name}'; commit`)
      return late
    })
  }
  const finished = await whileJoining('finished', 'update rowhouse.resumable_uploads set completed_at = now()')
  t.strictSame([finished.status, finished.text], [409, 'Upload-Offset conflict\n'], 'another request has finished it')
  const removed = await whileJoining('removed', 'delete from rowhouse.resumable_uploads')
  t.equal(removed.status, 404, removed.text)
  const lost = await whileJoining('lost', 'update rowhouse.resumable_uploads set owner_id = owner_id')
  t.equal(lost.status, 500, 'the bytes are lost')
})

t.test('what has arrived before the connection breaks is kept', async (t) => {
  const bytes = randomBytes(12_000_000)
  const address = addressOf(await create('own', 'broken.bin', bytes.length))
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    [
      `PATCH /storage/v1${address} HTTP/1.1`,
      'Host: localhost',
      `Authorization: ${await storageBearer('service_role')}`,
      'Tus-Resumable: 1.0.0',
      'Upload-Offset: 0',
      'Content-Type: application/offset+octet-stream',
      `Content-Length: ${bytes.length}`,
      '',
      '',
    ].join('\r\n'),
  )
  await new Promise((resolve) => socket.write(bytes.subarray(0, 8_000_000), resolve))
  const offsetNow = async (): Promise<number> => Number((await head(address)).headers.get('upload-offset'))
  t.ok(await until(async () => (await offsetNow()) > 0), 'the first part is stored during the request')
  socket.destroy()
  // What comes after the first part may still be on its way to the store.
  const isContinued = async (): Promise<boolean> => {
    const offset = await offsetNow()
    t.ok(offset > 0 && offset <= 8_000_000, `${offset} bytes`)
    return (await patch(address, offset, bytes.subarray(offset))).status === 204
  }
  t.ok(await until(isContinued), 'the rest is added')
  t.ok((await download('own/broken.bin')).bytes.equals(bytes))
})

t.test('more bytes than declared, in chunks without a length', async (t) => {
  const address = addressOf(await create('own', 'chunked.bin', 1000))
  const body = new ReadableStream({
    start: (controller) => {
      for (let count = 0; count < 3; count++) controller.enqueue(Buffer.alloc(500, count))
      controller.close()
    },
  })
  const answer = await ask('PATCH', address, {
    as: 'service_role',
    body,
    headers: { ...tus, ...octets, 'Upload-Offset': '0' },
  })
  t.equal(answer.status, 413)
  t.equal(await rowOf('chunked.bin'), undefined, 'no object')
  const offset = Number((await head(address)).headers.get('upload-offset'))
  t.ok(offset < 1000, `${offset}: never complete`)
  t.equal((await patch(address, offset, Buffer.alloc(1000 - offset, 7))).status, 204)
  const deferred = addressOf(await create('small', 'deferred.bin', null))
  t.equal((await patch(deferred, 0, Buffer.alloc(1001))).status, 413, 'the limit of the bucket')
  t.equal((await patch(deferred, 0, Buffer.alloc(10), { headers: { 'Upload-Length': '5000' } })).status, 413)
})

testWithFolder(t, 'signed uploads', async (t) => {
  const path = '/upload/resumable/sign'
  const tokenFor = async (object: string, as: StorageCallerName = 'service_role'): Promise<string> => {
    const { json } = await ask('POST', `/object/upload/sign/${object}`, { as })
    return (json as { token: string }).token
  }
  const announce = (token: string, bucketName: string, objectName: string, length = 5): Promise<StorageAnswer> =>
    ask('POST', path, {
      headers: {
        ...tus,
        'X-Signature': token,
        'Upload-Length': String(length),
        'Upload-Metadata': metadataOf({ bucketName, objectName }),
      },
    })
  const token = await tokenFor('open/signed.txt', ada)
  const created = await announce(token, 'open', 'signed.txt')
  t.equal(created.status, 201)
  const address = addressOf(created)
  t.ok(address.startsWith(`${path}/`))
  const send = (headers: Headers) =>
    ask('PATCH', address, { body: 'hello', headers: { ...tus, ...octets, 'Upload-Offset': '0', ...headers } })
  const download = await ask('POST', '/object/sign/own/large.bin', { as: 'service_role', body: { expiresIn: 60 } })
  const downloadToken = new URL((download.json as { signedURL: string }).signedURL, url).searchParams.get('token') ?? ''
  const rows = [
    ['no signature', {}, 400, 'Missing x-signature header'],
    ['garbage', { 'X-Signature': 'invalid-token' }, 400, 'Invalid Compact JWS'],
    ['altered', { 'X-Signature': `${token.slice(0, -6)}AAAAAA` }, 400, 'signature verification failed'],
    ['for another object', { 'X-Signature': await tokenFor('open/other.txt', ada) }, 400, 'Invalid signature'],
    ['for a download', { 'X-Signature': downloadToken }, 400, 'Token is not scoped for upload'],
    [
      'of another owner',
      { 'X-Signature': await tokenFor('open/signed.txt', ben) },
      404,
      'The file for this url was not found\n',
    ],
  ] as const
  for (const [name, headers, status, text] of rows) {
    const answer = await send(headers)
    t.strictSame([answer.status, answer.text], [status, text], name)
  }
  t.equal((await ask('HEAD', address, { headers: tus })).status, 400, 'HEAD needs the signature')
  t.equal((await ask('HEAD', address, { headers: { ...tus, 'X-Signature': token } })).status, 200)
  t.equal((await send({ 'X-Signature': token })).status, 204)
  t.match(await rowOf('signed.txt'), {
    owner_id: ada,
    metadata: { mimetype: 'application/octet-stream', cacheControl: 'no-cache' },
  })
  t.equal((await announce(await tokenFor('small/x'), 'small', 'x', 2000)).status, 413, 'the limit of the bucket')
  t.equal((await announce(await tokenFor('pictures/x'), 'pictures', 'x')).status, 415, 'its media types')
  const late = await announce(await tokenFor('open/late.txt', ada), 'open', 'late.txt')
  t.equal(late.status, 201)
})

t.test('an upload is abandoned', async (t) => {
  const before = (await stored()).length
  const address = addressOf(await create('own', 'abandoned.bin', 100))
  await patch(address, 0, Buffer.alloc(50))
  const answer = await ask('DELETE', address, { as: 'service_role', headers: tus })
  t.strictSame([answer.status, answer.text], [204, ''])
  t.equal((await head(address)).status, 404)
  await eventually(t, async () => (await stored()).length === before, 'its bytes are removed')
})

t.test('expired uploads are refused, then removed', async (t) => {
  const address = addressOf(await create('own', 'expired.bin', 100))
  await patch(address, 0, Buffer.alloc(50))
  await database.query(
    `update rowhouse.resumable_uploads set created_at = now() - interval '61 minutes' where name = 'expired.bin'`,
  )
  t.strictSame([(await head(address)).status, (await patch(address, 50, Buffer.alloc(50))).status], [410, 410])
})

t.test('a timer removes expired uploads with their bytes', async (t) => {
  const brief = await startStorageService(t, { TUS_URL_EXPIRY_MS: '1000' })
  await brief.database.query(`insert into storage.buckets (id, name) values ('own', 'own')`)
  const headers = {
    ...tus,
    'Upload-Length': '10',
    'Upload-Metadata': metadataOf({ bucketName: 'own', objectName: 'x' }),
  }
  const body = 'half '
  const created = await brief.ask('POST', '/upload/resumable', {
    as: 'service_role',
    headers: { ...headers, ...octets },
    body,
  })
  t.equal(created.status, 201)
  const rows = async () => (await brief.database.query('select from rowhouse.resumable_uploads')).rows.length
  t.equal(await rows(), 1)
  t.ok(await until(async () => (await rows()) === 0), 'the row is removed')
  t.ok(await until(async () => (await brief.versions()).length === 0), 'the bytes are removed')
})

t.test('the sweep of orphans keeps parts of unfinished uploads', async (t) => {
  const address = addressOf(await create('own', 'swept.bin', 100))
  await patch(address, 0, Buffer.alloc(50, 1))
  const context = {
    database: storageDatabase(storage.application.service.database, () => false),
    store,
    warn: (message: string) => t.fail(message),
  }
  await sweep(context, new Date(Date.now() + 60_000))
  t.equal((await patch(address, 50, Buffer.alloc(50, 2))).status, 204)
  const { bytes } = await download('own/swept.bin')
  t.ok(bytes.equals(Buffer.concat([Buffer.alloc(50, 1), Buffer.alloc(50, 2)])))
})

testWithFolder(t, 'addresses follow the host that the client sees', async (t) => {
  const location = async (headers: Headers) =>
    new URL((await create('own', `host-${randomUUID()}`, 1, { headers })).headers.get('location') ?? '').origin
  t.equal(
    await location({ 'X-Forwarded-Host': 'api.example.org', 'X-Forwarded-Proto': 'https' }),
    'https://api.example.org',
  )
  t.equal(
    await location({ 'X-Forwarded-Host': 'api.example.org', 'X-Forwarded-Port': '8443' }),
    'http://api.example.org:8443',
  )
  t.equal(
    await location({ 'X-Forwarded-Host': 'api.example.org', 'X-Forwarded-Port': '443', 'X-Forwarded-Proto': 'https' }),
    'https://api.example.org',
  )
})

testWithFolder(t, "the tables are the server's own", async (t) => {
  for (const role of ['anon', 'authenticated', 'service_role']) {
    for (const table of ['resumable_uploads', 'resumable_parts']) {
      const { rows } = await database.query(
        `select has_table_privilege($1, 'rowhouse.' || $2, 'select, insert, update, delete') as any`,
        [role, table],
      )
      t.strictSame(rows, [{ any: false }], `${role}: ${table}`)
    }
  }
})
