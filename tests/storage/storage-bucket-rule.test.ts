// What a bucket accepts, by every route that creates an object in it; and `Cache-Control` as each of them takes it.
import t from 'tap'
import { startStorageService, storageFault, storageFaults as faults, type StorageAnswer } from '../support/storage.ts'
import { requireAgreement } from '../support/storage-files.ts'
import { until } from '../support/until.ts'

const as = 'service_role'
const storage = await startStorageService(t)
const { ask, database, kept } = storage
await database.query(
  `insert into storage.buckets (id, name, file_size_limit, allowed_mime_types) values
     ('from', 'from', null, null), ('any', 'any', null, null), ('small', 'small', 100, null),
     ('plain', 'plain', null, '{text/plain}'), ('charset', 'charset', null, '{text/plain; charset=UTF-8}'),
     ('pictures', 'pictures', null, '{image/*}')`,
)

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** A file that is uploaded, or the copy or move of which is made. */
type File = {
  readonly body: string
  readonly type: string
  /** Of a copy whose type is changed. */
  readonly source?: string
  readonly cacheControl?: string
}

/** What a route answers to a file for `bucket/name`. */
type Door = (path: string, file: File) => Promise<StorageAnswer>

let made = 0

/** Uploads the source of a copy or move into a bucket without limits. */
async function sourceOf({ body, type, source = type }: File): Promise<string> {
  const name = `source-${++made}`
  const sent = await ask('POST', `/object/from/${name}`, { as, body, headers: { 'Content-Type': source } })
  if (sent.status !== 200) throw new Error(sent.text)
  return name
}

const split = (path: string): readonly [bucket: string, name: string] => {
  const [bucket = '', ...rest] = path.split('/')
  return [bucket, rest.join('/')]
}

const raw =
  (method: string): Door =>
  (path, { body, type, cacheControl }) =>
    ask(method, `/object/${path}`, {
      as,
      body,
      // As Supabase's client sends it.
      headers: {
        'Content-Type': type,
        ...(cacheControl === undefined ? {} : { 'Cache-Control': `max-age=${cacheControl}` }),
      },
    })

function formOf({ body, type, cacheControl }: File): FormData {
  const form = new FormData()
  if (cacheControl !== undefined) form.set('cacheControl', cacheControl)
  form.set('', new Blob([body], { type }), 'file')
  return form
}

const form: Door = (path, file) => ask('POST', `/object/${path}`, { as, body: formOf(file) })

const signed: Door = async (path, file) => {
  const { token } = (await ask('POST', `/object/upload/sign/${path}`, { as })).json as { readonly token: string }
  return ask('PUT', `/object/upload/sign/${path}?token=${token}`, { body: formOf(file) })
}

const change =
  (kind: 'move' | 'copy', more: object = {}, headers: Readonly<Record<string, string>> = {}): Door =>
  async (path, file) => {
    const [destinationBucket, destinationKey] = split(path)
    const body = { bucketId: 'from', sourceKey: await sourceOf(file), destinationBucket, destinationKey, ...more }
    return ask('POST', `/object/${kind}`, { as, body, headers })
  }

/** A copy of which the type is changed, and the cache control. */
const changedCopy: Door = (path, file) =>
  change('copy', {
    copyMetadata: false,
    metadata: {
      mimetype: file.type,
      ...(file.cacheControl === undefined ? {} : { cacheControl: file.cacheControl }),
    },
  })(path, { ...file, source: file.source ?? 'application/octet-stream' })

const resumable =
  (isDeferred: boolean): Door =>
  async (path, { body, type, cacheControl = '' }) => {
    const [bucketName, objectName] = split(path)
    const metadata = Object.entries({ bucketName, objectName, contentType: type, cacheControl })
    const version = { 'Tus-Resumable': '1.0.0' }
    const begun = await ask('POST', '/upload/resumable', {
      as,
      headers: {
        ...version,
        ...(isDeferred ? { 'Upload-Defer-Length': '1' } : { 'Upload-Length': String(body.length) }),
        'Upload-Metadata': metadata.map(([key, value]) => `${key} ${base64(value)}`).join(','),
      },
    })
    const address = new URL(begun.headers.get('location') ?? 'http://none').pathname.replace('/storage/v1', '')
    if (begun.status !== 201) return begun
    return ask('PATCH', address, {
      as,
      body,
      headers: {
        ...version,
        'Content-Type': 'application/offset+octet-stream',
        'Upload-Offset': '0',
        ...(isDeferred ? { 'Upload-Length': String(body.length) } : {}),
      },
    })
  }

const doors: Readonly<Record<string, Door>> = {
  'POST raw': raw('POST'),
  'PUT raw': raw('PUT'),
  'POST form': form,
  'signed URL': signed,
  resumable: resumable(false),
  'resumable, deferred length': resumable(true),
  copy: change('copy'),
  'copy that replaces': change('copy', {}, { 'x-upsert': 'true' }),
  'copy with another type': changedCopy,
  move: change('move'),
}

/** The status in the body, or that of the protocol tus. */
const statusOf = ({ status, json }: StorageAnswer): number =>
  Number((json as { statusCode?: string })?.statusCode ?? status)

const page = '<!doctype html><script>alert(1)</script>'

t.test('every route refuses what the bucket does not accept', async (t) => {
  const cases: readonly (readonly [name: string, path: string, file: File, status: number])[] = [
    ['too large', 'small/x', { body: 'x'.repeat(101), type: 'text/plain' }, 413],
    ['another type', 'pictures/x', { body: 'x', type: 'text/plain' }, 415],
    ['a placeholder with content', 'any/f/.emptyFolderPlaceholder', { body: 'x', type: 'text/plain' }, 413],
  ]
  for (const [door, send] of Object.entries(doors)) {
    for (const [name, path, file, status] of cases) {
      t.equal(statusOf(await send(path, file)), status, `${door}: ${name}`)
      t.strictSame((await ask('GET', `/object/info/${path}`, { as })).json, faults.noObject, `${door}: nothing of it`)
    }
    const fits = await send(`small/${door}`, { body: 'x'.repeat(100), type: 'text/plain' })
    t.match(statusOf(fits), /^20[04]$/, `${door}: exactly the limit`)
  }
  t.strictSame(
    (
      await ask('POST', '/object/copy', {
        as,
        body: {
          bucketId: 'from',
          sourceKey: await sourceOf({ body: 'x', type: 'image/gif' }),
          destinationBucket: 'plain',
          destinationKey: 'x',
        },
      })
    ).json,
    faults.mimeType('image/gif'),
  )
})

t.test('markup under a type of pictures', async (t) => {
  const refused = storageFault(
    ...([415, 'invalid_mime_type', 'mime type image/png is not that of the content, which is markup'] as const),
    'InvalidMimeType',
  )
  t.strictSame((await changedCopy('any/page', { body: page, type: 'image/png', source: 'text/html' })).json, refused)
  // SQL can say anything of the source.
  for (const kind of ['move', 'copy'] as const) {
    const sourceKey = await sourceOf({ body: page, type: 'text/html' })
    const change = `update storage.objects set metadata = metadata || '{"mimetype": "image/png"}' where name = $1`
    await database.query(change, [sourceKey])
    const body = { bucketId: 'from', sourceKey, destinationBucket: 'any', destinationKey: 'page' }
    t.strictSame((await ask('POST', `/object/${kind}`, { as, body })).json, refused, kind)
    // The size in the row is not that of the bytes.
    const larger = await sourceOf({ body: 'x'.repeat(101), type: 'text/plain' })
    await database.query(`update storage.objects set metadata = metadata || '{"size": 1}' where name = $1`, [larger])
    const forged = { bucketId: 'from', sourceKey: larger, destinationBucket: 'small', destinationKey: 'larger' }
    t.strictSame((await ask('POST', `/object/${kind}`, { as, body: forged })).json, faults.tooLarge, kind)
  }
  t.strictSame((await ask('GET', '/object/info/any/page', { as })).json, faults.noObject)
  t.strictSame((await ask('GET', '/object/info/small/larger', { as })).json, faults.noObject)
})

t.test('what is in a bucket can get another name there, whatever the limits are now', async (t) => {
  await database.query(`insert into storage.buckets (id, name) values ('stricter', 'stricter')`)
  await ask('POST', '/object/stricter/a', { as, body: 'x'.repeat(50), headers: { 'Content-Type': 'text/plain' } })
  await database.query(
    `update storage.buckets set file_size_limit = 10, allowed_mime_types = '{image/*}' where id = 'stricter'`,
  )
  const to = (kind: string, destinationKey: string) =>
    ask('POST', `/object/${kind}`, { as, body: { bucketId: 'stricter', sourceKey: 'a', destinationKey } })
  t.strictSame((await to('copy', 'b')).json, faults.tooLarge)
  t.strictSame((await to('move', '.emptyFolderPlaceholder')).json, faults.tooLarge)
  t.strictSame((await to('move', 'b')).json, { message: 'Successfully moved' })
})

t.test('media types are compared without parameters', async (t) => {
  const types: readonly (readonly [bucket: string, type: string, isAllowed: boolean])[] = [
    ['plain', 'text/plain', true],
    ['plain', 'text/plain;charset=UTF-8', true],
    ['plain', 'text/plain ; charset="utf-8"', true],
    ['plain', 'Text/Plain', true],
    ['plain', 'text/html;a=text/plain', false],
    ['plain', 'text/plainer', false],
    ['charset', 'text/plain', true],
    ['charset', 'text/plain;charset=ISO-8859-1', true],
    ['pictures', 'image/webp;q=1', true],
    ['pictures', 'text/plain;a=image/png', false],
  ]
  for (const [bucket, type, isAllowed] of types) {
    for (const door of ['PUT raw', 'resumable', 'move'] as const) {
      const answer = await doors[door]?.(`${bucket}/type-${++made}`, { body: 'x', type })
      t.equal(answer && statusOf(answer) < 300, isAllowed, `${door}: ${type} in ${bucket}`)
    }
  }
})

t.test('Cache-Control is sent as the uploader says', async (t) => {
  const values: readonly (readonly [given: string, sent: string])[] = [
    ['3600', 'max-age=3600'],
    ['0', 'max-age=0'],
    ['no-cache', 'no-cache'],
    ['no-store', 'no-store'],
    ['public, max-age=60, immutable', 'public, max-age=60, immutable'],
  ]
  for (const door of ['POST raw', 'POST form', 'signed URL', 'resumable', 'copy with another type'] as const) {
    for (const [cacheControl, sent] of values) {
      const path = `any/cache-${++made}`
      await doors[door]?.(path, { body: 'x', type: 'text/plain', cacheControl })
      t.equal(
        (await ask('GET', `/object/${path}`, { as })).headers.get('cache-control'),
        sent,
        `${door}: ${cacheControl}`,
      )
    }
  }
  await ask('PUT', '/object/any/cache', { as, body: 'x', headers: { 'Cache-Control': 'max-age=60, must-revalidate' } })
  t.equal((await ask('GET', '/object/any/cache', { as })).headers.get('cache-control'), 'max-age=60, must-revalidate')
})

t.test('rows and bytes agree', async (t) => {
  const { rows } = await database.query('select count(*)::int as n from storage.objects')
  t.ok(await until(async () => (await kept()).length === rows[0]?.n), 'bytes of refused copies are removed')
  await requireAgreement(t, storage)
})
