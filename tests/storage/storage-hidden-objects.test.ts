// An object that policies hide answers like one that does not exist: status, headers and body, by every route.
import t from 'tap'
import { startStorageService, storageFaults as faults, type StorageAnswer } from '../support/storage.ts'

const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const
const { ask, database } = await startStorageService(t)
await database.query(
  `insert into storage.buckets (id, name) values ('b', 'b'), ('full', 'full'), ('none', 'none');
   create policy own on storage.objects for all to authenticated
     using (owner_id = (select auth.uid()::text)) with check (owner_id = (select auth.uid()::text));
   create policy seen on storage.buckets for select to authenticated using (id = 'b')`,
)
await ask('POST', '/object/b/hidden', { as: ann, body: 'of ann', headers: { 'Content-Type': 'text/plain' } })
await ask('POST', '/object/full/hidden', { as: ann, body: 'of ann' })
await ask('POST', '/object/b/own', { as: bob, body: 'of bob' })

const from = (name: string) => ({ bucketId: 'b', sourceKey: name, destinationKey: 'target' })
const base64 = (text: string): string => Buffer.from(text).toString('base64')

type Request = readonly [method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>]

/** Requests that read or change an object, by its name. */
const requests: Readonly<Record<string, (name: string) => Request>> = {
  download: (name) => ['GET', `/object/b/${name}`],
  'download as a user': (name) => ['GET', `/object/authenticated/b/${name}`],
  'download by the public address': (name) => ['GET', `/object/public/b/${name}`],
  'a part': (name) => ['GET', `/object/b/${name}`, undefined, { Range: 'bytes=100-' }],
  'a conditional download': (name) => ['GET', `/object/b/${name}`, undefined, { 'If-None-Match': '*' }],
  exists: (name) => ['HEAD', `/object/b/${name}`],
  'exists as a user': (name) => ['HEAD', `/object/authenticated/b/${name}`],
  info: (name) => ['GET', `/object/info/b/${name}`],
  'info as a user': (name) => ['GET', `/object/info/authenticated/b/${name}`],
  'info by the public address': (name) => ['GET', `/object/info/public/b/${name}`],
  image: (name) => ['GET', `/render/image/authenticated/b/${name}?width=10`],
  sign: (name) => ['POST', `/object/sign/b/${name}`, { expiresIn: 60 }],
  'sign several': (name) => ['POST', '/object/sign/b', { expiresIn: 60, paths: [name] }],
  copy: (name) => ['POST', '/object/copy', from(name)],
  'copy with other metadata': (name) => ['POST', '/object/copy', { ...from(name), copyMetadata: false }],
  move: (name) => ['POST', '/object/move', from(name)],
  'move onto itself': (name) => ['POST', '/object/move', { ...from(name), destinationKey: name }],
  remove: (name) => ['DELETE', `/object/b/${name}`],
  'remove several': (name) => ['DELETE', '/object/b', { prefixes: [name] }],
  list: (name) => ['POST', '/object/list/b', { prefix: '', search: name }],
  'list by key': (name) => ['POST', '/object/list-v2/b', { prefix: name }],
}

/** Everything that the caller sees. Lengths of headers with the time are the same. */
const seen = ({ status, headers, text }: StorageAnswer, name: string): unknown => ({
  status,
  headers: [...headers].filter(([header]) => header !== 'date' && header !== 'x-request-id'),
  text: text.replaceAll(name, '<name>'),
})

t.test('reading and changing', async (t) => {
  for (const [title, request] of Object.entries(requests)) {
    for (const as of [bob, 'anon', undefined] as const) {
      const answers = []
      // Names of the same length.
      for (const name of ['hidden', 'absent']) {
        const [method, path, body, headers = {}] = request(name)
        answers.push(seen(await ask(method, path, { as, body, headers }), name))
      }
      t.strictSame(answers[0], answers[1], `${title} as ${as ?? 'nobody'}`)
    }
  }
  t.equal((await ask('GET', '/object/b/hidden', { as: ann })).text, 'of ann')
})

t.test('what the caller may not create', async (t) => {
  // The policy for new rows is checked before their name: only who may create an object of this name learns that there is one.
  await database.query(`alter policy own on storage.objects with check (name like 'own%')`)
  const metadata = (name: string) => `bucketName ${base64('b')},objectName ${base64(name)}`
  const tus = (name: string) => ({ 'Tus-Resumable': '1.0.0', 'Upload-Length': '1', 'Upload-Metadata': metadata(name) })
  const onto = (name: string) => ({ bucketId: 'b', sourceKey: 'own', destinationKey: name })
  const writes: Readonly<Record<string, (name: string) => Request>> = {
    upload: (name) => ['POST', `/object/b/${name}`, 'x'],
    replace: (name) => ['PUT', `/object/b/${name}`, 'x'],
    'sign an upload': (name) => ['POST', `/object/upload/sign/b/${name}`],
    'sign an upload that replaces': (name) => [
      'POST',
      `/object/upload/sign/b/${name}`,
      undefined,
      { 'x-upsert': 'true' },
    ],
    'begin a resumable upload': (name) => ['POST', '/upload/resumable', undefined, tus(name)],
    'copy onto': (name) => ['POST', '/object/copy', onto(name)],
    'copy and replace': (name) => ['POST', '/object/copy', onto(name), { 'x-upsert': 'true' }],
    'move onto': (name) => ['POST', '/object/move', onto(name)],
  }
  for (const [title, request] of Object.entries(writes)) {
    const answers = []
    for (const name of ['hidden', 'absent']) {
      const [method, path, body, headers = {}] = request(name)
      answers.push(seen(await ask(method, path, { as: bob, body, headers }), name))
    }
    t.strictSame(answers[0], answers[1], title)
    t.match(answers[0], { text: /row-level security/ }, title)
  }
})

t.test('the objects of a bucket', async (t) => {
  const remove = async (bucket: string) => (await ask('DELETE', `/bucket/${bucket}`, { as: bob })).json
  t.strictSame(await remove('b'), faults.noBucket, 'a bucket that the caller sees, but may not delete')
  t.strictSame(await remove('full'), faults.noBucket)
  t.strictSame(await remove('none'), faults.noBucket)
  t.strictSame(await remove('absent'), faults.noBucket)
  await database.query(`create policy removed on storage.buckets for all to authenticated using (true)`)
  t.match(await remove('full'), { code: 'ResourceNotEmpty' }, 'who may delete the bucket learns why not')
  t.strictSame(await remove('none'), { message: 'Successfully deleted' })
})

t.test('what the caller sees, but may not delete', async (t) => {
  await database.query(`create policy all_seen on storage.objects for select to authenticated using (true)`)
  t.match((await ask('DELETE', '/object/b/hidden', { as: bob })).json, { statusCode: '403', message: 'Access denied' })
})
