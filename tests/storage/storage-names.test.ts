// Names of objects beyond ASCII: by every route, in signed URLs, in lists, and where Supabase's rule for names applies.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askStorage, startStorageService, storageFaults as faults } from '../support/storage.ts'
import { requireAgreement } from '../support/storage-files.ts'
import { signToken } from '../support/token.ts'

const as = 'service_role'
const storage = await startStorageService(t)
const { ask, url, database, folder } = storage
await database.query(`insert into storage.buckets (id, name, public) values ('b', 'b', true), ('a b', 'a b', false)`)

const encoded = (name: string): string => encodeURIComponent(name).replaceAll('%2F', '/')
const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Composed and decomposed letters are different names, as the client has sent them. */
const names = [
  'über.txt',
  'u\u0308ber.txt',
  '灯泡/说明.txt',
  '💡.png',
  '👩‍👩‍👧/family',
  'ñ/é (1)?.txt',
  'Ελλάδα',
  'عربي',
  '\u{10fffd}',
]

t.test('every route takes names beyond ASCII', async (t) => {
  for (const name of names) {
    const path = `/object/b/${encoded(name)}`
    t.match((await ask('POST', path, { as, body: name })).json, { Key: `b/${name}` }, name)
    t.strictSame((await ask('POST', path, { as, body: 'x' })).json, faults.exists)
    t.equal((await ask('GET', path, { as })).text, name)
    t.equal((await ask('GET', `/object/public/b/${encoded(name)}`)).text, name)
    t.match((await ask('GET', `/object/info/b/${encoded(name)}`, { as })).json, { name })
    const change = { bucketId: 'b', sourceKey: name, destinationKey: `${name} 二` }
    t.match((await ask('POST', '/object/copy', { as, body: change })).json, { Key: `b/${name} 二`, name: `${name} 二` })
    const move = { bucketId: 'b', sourceKey: `${name} 二`, destinationKey: `${name} 三` }
    t.equal((await ask('POST', '/object/move', { as, body: move })).status, 200)

    const sign = (await ask('POST', `/object/sign/b/${encoded(name)}`, { as, body: { expiresIn: 60 } })).json
    const { signedURL } = sign as { readonly signedURL: string }
    t.match(signedURL, /^[\w/.~!*'()%-]+\?token=[\w.-]+$/, 'signed URLs are percent-encoded')
    t.equal((await ask('GET', signedURL)).text, name)
    const many = await ask('POST', '/object/sign/b', { as, body: { expiresIn: 60, paths: [name] } })
    t.equal((await ask('GET', (many.json as { readonly signedURL: string }[])[0]?.signedURL ?? '')).text, name)

    const upload = (await ask('POST', `/object/upload/sign/b/${encoded(`${name} 四`)}`, { as })).json
    t.equal((await ask('PUT', (upload as { readonly url: string }).url, { body: name })).status, 200)

    const metadata = `bucketName ${base64('b')},objectName ${base64(`${name} 五`)}`
    const tus = { 'Tus-Resumable': '1.0.0' }
    const begun = await ask('POST', '/upload/resumable', {
      as,
      headers: { ...tus, 'Upload-Length': '1', 'Upload-Metadata': metadata },
    })
    const address = new URL(begun.headers.get('location') ?? '').pathname.replace('/storage/v1', '')
    const part = { ...tus, 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' }
    t.equal((await ask('PATCH', address, { as, body: 'x', headers: part })).status, 204)
    const removed = await ask('DELETE', '/object/b', {
      as,
      body: { prefixes: [`${name} 三`, `${name} 四`, `${name} 五`] },
    })
    t.equal((removed.json as unknown[]).length, 3)
  }
  const list = await ask('POST', '/object/list/b', { as, body: { prefix: '灯泡' } })
  t.match(list.json, [{ name: '说明.txt' }])
  const page = await ask('POST', '/object/list-v2/b', { as, body: { prefix: '灯', limit: 1, with_delimiter: true } })
  t.match(page.json, { folders: [{ name: '灯泡/' }] })
  await requireAgreement(t, storage)
})

t.test('names that no text has, or that look like others', async (t) => {
  const refused = [
    'a\u0085',
    'a\u2028b',
    'a\u202etxt.exe',
    '\u2066a',
    '\ufffe',
    '\u{1ffff}',
    'a\u0000',
    'ü\n',
    'ü\\',
    'ü%',
  ]
  for (const name of refused) {
    t.strictSame(
      (await ask('POST', `/object/b/${encoded(name)}`, { as, body: 'x' })).json,
      faults.key(name),
      encoded(name),
    )
  }
  const lone = { bucketId: 'b', sourceKey: names[0], destinationKey: 'a\ud800' }
  t.match((await ask('POST', '/object/copy', { as, body: lone })).json, { code: 'InvalidRequest' })
  t.match((await ask('POST', '/object/b/%ED%A0%80', { as, body: 'x' })).json, { code: 'InvalidKey' })
  const bytes = 'ü'.repeat(512)
  t.equal((await ask('POST', `/object/b/${encoded(bytes)}`, { as, body: 'x' })).status, 200, '1,024 bytes')
  t.match((await ask('POST', `/object/b/${encoded(`${bytes}a`)}`, { as, body: 'x' })).json, { code: 'InvalidKey' })
})

t.test("Supabase's client encodes signed URLs again", async (t) => {
  const { storage: client } = createClient(url, await signToken({ role: as }), {
    auth: { persistSession: false },
    realtime: { transport: class {} as never },
  })
  for (const [bucket, name] of [
    ['b', 'für Ann/a & b + c, d.txt'],
    ['a b', 'x y/ü.txt'],
    ['a b', 'plain.txt'],
  ] as const) {
    const files = client.from(bucket)
    const sent = await ask('POST', `/object/${encoded(`${bucket}/${name}`)}`, { as, body: name })
    t.equal(sent.status, 200, sent.text)
    const { data } = await files.createSignedUrl(name, 60)
    t.equal(await (await fetch(data?.signedUrl ?? '')).text(), name)
    t.equal((await fetch(data?.signedUrl ?? '', { method: 'HEAD' })).status, 200)
    const { data: several } = await files.createSignedUrls([name], 60)
    t.equal(await (await fetch(several?.[0]?.signedUrl ?? '')).text(), name)
    const { data: upload } = await files.createSignedUploadUrl(`${name} new`)
    t.equal((await fetch(upload?.signedUrl ?? '', { method: 'PUT', body: 'new' })).status, 200)
    const other = (data?.signedUrl ?? '').replace(/\.txt\?/, '.png?')
    t.match(await (await fetch(other)).json(), { code: 'InvalidSignature' }, 'only for this object')
  }
})

t.test('the setting', async (t) => {
  const off = askStorage(
    (
      await startApplication(t, database.authenticatorUri, {
        STORAGE_FILE_BACKEND_PATH: folder,
        STORAGE_UNICODE_NAMES: 'false',
      })
    ).url,
  )
  for (const name of ['ü', 'u\u0308', '灯泡']) {
    t.strictSame((await off('POST', `/object/b/${encoded(name)}`, { as, body: 'x' })).json, faults.key(name))
    t.strictSame((await off('GET', `/object/b/${encoded(name)}`, { as })).json, faults.key(name))
  }
  t.equal((await off('POST', '/object/b/plain', { as, body: 'x' })).status, 200)
})

t.test("where Supabase's rule for names applies", async (t) => {
  const rules = {
    'its storage has set up the tables': 'create table storage.migrations (id integer primary key, name text)',
    'a constraint restricts names': `delete from storage.objects where name ~ '[^ -~]';
      alter table storage.objects add constraint names check (name ~ '^[ -~]+$')`,
  }
  for (const [name, sql] of Object.entries(rules)) {
    await database.query(sql)
    const path = `/object/b/${encoded(`ä ${name}`)}`
    const start = async (env = {}) =>
      askStorage(
        (await startApplication(t, database.authenticatorUri, { STORAGE_FILE_BACKEND_PATH: folder, ...env })).url,
      )
    t.strictSame((await (await start())('POST', path, { as, body: 'x' })).json, faults.key(`ä ${name}`), name)
    const overridden = await (await start({ STORAGE_UNICODE_NAMES: 'true' }))('POST', path, { as, body: 'x' })
    if (sql.startsWith('create')) t.equal(overridden.status, 200, 'the setting overrides that')
    else t.match(overridden.json, { statusCode: '400', message: /violates check constraint "names"/ })
    await database.query('drop table if exists storage.migrations')
  }
})
