// `@supabase/supabase-js`, unmodified: every method of its storage client, as service_role, as users and without sign-in.
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import sharp from 'sharp'
import t from 'tap'
import { startStorageService } from '../support/storage.ts'
import { signToken } from '../support/token.ts'

const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']

const { url, database } = await startStorageService(t)

async function clientOf(claims: Readonly<Record<string, unknown>>): Promise<SupabaseClient['storage']> {
  const key = await signToken(claims)
  return createClient(url, key, {
    auth: { persistSession: false },
    // Node 20 lacks a WebSocket, which is not used here.
    realtime: { transport: class {} as never },
  }).storage
}

const admin = await clientOf({ role: 'service_role' })
const [asAnn, asBob] = await Promise.all([ann, bob].map((sub) => clientOf({ role: 'authenticated', sub })))
const anonymous = await clientOf({ role: 'anon' })
if (!asAnn || !asBob) throw new Error('no clients')

await database.query(
  `create policy own on storage.objects for all to authenticated
   using (bucket_id = 'mine' and (storage.foldername(name))[1] = (select auth.uid()::text))`,
)

/** The data of a result that must not be an error. */
function dataOf<T>({ data, error }: { readonly data: T | null; readonly error: unknown }): T {
  if (error !== null || data === null) throw new Error(`unexpected error: ${JSON.stringify(error)}`)
  return data
}

t.test('buckets', async (t) => {
  t.strictSame(dataOf(await admin.createBucket('pictures', { public: true, fileSizeLimit: '1MB' })), {
    name: 'pictures',
  })
  dataOf(await admin.createBucket('mine'))
  t.match((await admin.createBucket('mine')).error, { message: 'The resource already exists', statusCode: '409' })
  t.match(dataOf(await admin.getBucket('pictures')), { id: 'pictures', public: true, file_size_limit: 1_000_000 })
  t.match((await admin.getBucket('nothing')).error, { message: 'Bucket not found', statusCode: '404', status: 400 })
  const list = dataOf(await admin.listBuckets({ limit: 10, sortColumn: 'name', sortOrder: 'desc', search: 'i' }))
  t.strictSame(
    list.map(({ name }) => name),
    ['pictures', 'mine'],
  )
  t.strictSame(
    dataOf(await admin.updateBucket('pictures', { public: true, allowedMimeTypes: ['image/*', 'text/plain'] })),
    { message: 'Successfully updated' },
  )
  t.strictSame(dataOf(await asAnn.listBuckets()), [], 'without policies')
  t.match((await asAnn.createBucket('hers')).error, { message: 'new row violates row-level security policy' })
  t.match((await asAnn.emptyBucket('mine')).error, { message: 'Access denied: Invalid role', status: 403 })
})

t.test('objects', async (t) => {
  const files = admin.from('mine')
  const path = `${ann}/folder/a.txt`
  const uploaded = dataOf(
    await asAnn
      .from('mine')
      .upload(path, 'first', { contentType: 'text/plain', cacheControl: '60', metadata: { by: 'ann' } }),
  )
  t.match(uploaded, { path, fullPath: `mine/${path}` })
  t.match((await asAnn.from('mine').upload(path, 'x')).error, {
    message: 'The resource already exists',
    statusCode: '409',
  })
  t.equal(dataOf(await asAnn.from('mine').upload(path, new Blob(['second']), { upsert: true })).id, uploaded.id)
  t.equal(
    dataOf(await asAnn.from('mine').update(path, Buffer.from('third'), { contentType: 'text/plain' })).id,
    uploaded.id,
  )
  t.match((await asBob.from('mine').upload(path, 'x')).error, { statusCode: '403' })

  t.equal(await dataOf(await asAnn.from('mine').download(path)).text(), 'third')
  t.match((await asBob.from('mine').download(path)).error, { message: 'Object not found' })
  const stream = dataOf(await files.download(path).asStream())
  t.equal(await new Response(stream).text(), 'third')
  t.match(dataOf(await asAnn.from('mine').info(path)), {
    name: path,
    size: 5,
    contentType: 'text/plain',
    bucketId: 'mine',
  })
  t.equal((await asAnn.from('mine').exists(path)).data, true)
  t.equal((await asBob.from('mine').exists(path)).data, false)

  t.match(dataOf(await asAnn.from('mine').list(ann)), [{ name: 'folder', id: null }])
  t.match(
    dataOf(
      await asAnn.from('mine').list(`${ann}/folder`, { search: 'A', sortBy: { column: 'created_at', order: 'desc' } }),
    ),
    [{ name: 'a.txt', metadata: { size: 5, mimetype: 'text/plain' } }],
  )
  t.strictSame(dataOf(await asBob.from('mine').list(`${ann}/folder`)), [])
  t.match(dataOf(await asAnn.from('mine').listV2({ prefix: `${ann}/`, with_delimiter: true })), {
    hasNext: false,
    folders: [{ name: `${ann}/folder/` }],
    objects: [],
  })

  t.strictSame(dataOf(await asAnn.from('mine').copy(path, `${ann}/b.txt`)), { path: `mine/${ann}/b.txt` })
  t.strictSame(dataOf(await asAnn.from('mine').move(`${ann}/b.txt`, `${ann}/c.txt`)), { message: 'Successfully moved' })
  t.match((await asBob.from('mine').copy(path, `${bob}/b.txt`)).error, { message: 'Object not found' })
  t.match((await asBob.from('mine').move(path, `${bob}/b.txt`)).error, { message: 'Object not found' })
  t.strictSame(dataOf(await files.copy(path, 'p.txt', { destinationBucket: 'pictures' })), { path: 'pictures/p.txt' })
  dataOf(await files.move(`${ann}/c.txt`, 'moved.txt', { destinationBucket: 'pictures' }))
  t.equal(await dataOf(await anonymous.from('pictures').download('moved.txt')).text(), 'third')

  t.strictSame(dataOf(await asBob.from('mine').remove([path])), [])
  t.match(dataOf(await asAnn.from('mine').remove([path, 'nothing'])), [
    { name: path, bucket_id: 'mine', id: uploaded.id },
  ])
})

t.test('addresses', async (t) => {
  const pictures = admin.from('pictures')
  const image = await sharp({ create: { width: 40, height: 20, channels: 3, background: '#123456' } })
    .png()
    .toBuffer()
  dataOf(await pictures.upload('a b/c.png', image, { contentType: 'image/png' }))
  const fetched = async (address: string): Promise<[number, string | null]> => {
    const response = await fetch(address)
    await response.arrayBuffer()
    return [response.status, response.headers.get('content-disposition')]
  }
  t.strictSame(await fetched(pictures.getPublicUrl('a b/c.png').data.publicUrl), [200, null])
  t.strictSame(await fetched(pictures.getPublicUrl('a b/c.png', { download: true }).data.publicUrl), [
    200,
    'attachment;',
  ])

  const signed = dataOf(await pictures.createSignedUrl('a b/c.png', 60, { download: 'd.png' }))
  t.strictSame(await fetched(signed.signedUrl), [200, "attachment; filename=d.png; filename*=UTF-8''d.png"])
  const several = dataOf(await pictures.createSignedUrls(['a b/c.png', 'nothing'], 60))
  t.match(several, [
    { error: null, path: 'a b/c.png' },
    { error: 'Either the object does not exist or you do not have access to it', path: 'nothing' },
  ])
  t.strictSame(await fetched(several[0]?.signedUrl ?? ''), [200, null])
  const transformed = dataOf(await pictures.createSignedUrl('a b/c.png', 60, { transform: { width: 10, height: 10 } }))
  t.match(transformed.signedUrl, '/render/image/sign/pictures/')
  t.match((await asBob.from('mine').createSignedUrl('x', 60)).error, { message: 'Object not found' })

  const { path, token } = dataOf(await asAnn.from('mine').createSignedUploadUrl(`${ann}/signed.txt`))
  t.match(
    dataOf(await anonymous.from('mine').uploadToSignedUrl(path, token, 'by others', { contentType: 'text/plain' })),
    {
      path,
      fullPath: `mine/${path}`,
    },
  )
  t.equal(await dataOf(await asAnn.from('mine').download(path)).text(), 'by others')
  t.match((await anonymous.from('mine').uploadToSignedUrl(`${ann}/other.txt`, token, 'x')).error, {
    message: 'Invalid signature',
  })
  t.match((await anonymous.from('mine').uploadToSignedUrl(path, token, 'x')).error, { statusCode: '409' })
  t.match((await asBob.from('mine').createSignedUploadUrl(`${ann}/x`)).error, { statusCode: '403' })
  t.match((await asAnn.from('mine').createSignedUploadUrl(path)).error, { statusCode: '409' })
  const again = dataOf(await asAnn.from('mine').createSignedUploadUrl(path, { upsert: true }))
  dataOf(await anonymous.from('mine').uploadToSignedUrl(path, again.token, new Blob(['replaced'])))
  t.equal(await dataOf(await asAnn.from('mine').download(path)).text(), 'replaced')
})

t.test('the end of a bucket', async (t) => {
  t.match((await admin.deleteBucket('mine')).error, { message: 'The bucket you tried to delete is not empty' })
  dataOf(await admin.emptyBucket('mine'))
  t.strictSame(dataOf(await admin.from('mine').list()), [])
  t.strictSame(dataOf(await admin.deleteBucket('mine')), { message: 'Successfully deleted' })
  t.match((await admin.from('mine').list()).data, [])
})
