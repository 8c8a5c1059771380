// Policies on `storage.objects` of the kinds in Supabase's documentation, for every endpoint and two users.
// https://supabase.com/docs/guides/storage/security/access-control
import t, { type Test } from 'tap'
import { startStorageService, type StorageCallerName, type TestStorage } from '../support/storage.ts'
import { bearer } from '../support/token.ts'

const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const

async function prepared(t: Test, policies: string, objects: readonly string[]): Promise<TestStorage> {
  const storage = await startStorageService(t)
  const as = 'service_role'
  for (const name of ['files', 'target']) await storage.ask('POST', '/bucket', { as, body: { name } })
  for (const name of objects) await storage.ask('PUT', `/object/files/${name}`, { as, body: name })
  await storage.database.query(policies)
  return storage
}

type Caller = NonNullable<StorageCallerName>

/** Each endpoint on an object: whether it succeeds. The object is put back afterwards, if it has been changed. */
const endpoints = {
  list: async ({ ask }, as, name) => {
    const [, folder = '', file = ''] = /^(.*)\/([^/]*)$/.exec(name) ?? []
    const { json } = await ask('POST', '/object/list/files', { as, body: { prefix: folder, search: file } })
    return (json as unknown[]).length > 0
  },
  'list by prefix': async ({ ask }, as, name) => {
    const { json } = await ask('POST', '/object/list-v2/files', { as, body: { prefix: name } })
    return (json as { readonly objects: unknown[] }).objects.length > 0
  },
  download: async ({ ask }, as, name) => (await ask('GET', `/object/files/${name}`, { as })).status === 200,
  authenticated: async ({ ask }, as, name) =>
    (await ask('GET', `/object/authenticated/files/${name}`, { as })).status === 200,
  public: async ({ ask }, as, name) => (await ask('GET', `/object/public/files/${name}`, { as })).status === 200,
  head: async ({ ask }, as, name) => (await ask('HEAD', `/object/files/${name}`, { as })).status === 200,
  info: async ({ ask }, as, name) => (await ask('GET', `/object/info/files/${name}`, { as })).status === 200,
  sign: async ({ ask }, as, name) =>
    (await ask('POST', `/object/sign/files/${name}`, { as, body: { expiresIn: 9 } })).status === 200,
  'sign many': async ({ ask }, as, name) => {
    const { json } = await ask('POST', '/object/sign/files', { as, body: { expiresIn: 9, paths: [name] } })
    return (json as { readonly error: unknown }[])[0]?.error === null
  },
  upload: async (storage, as, name) => {
    const { status } = await storage.ask('POST', `/object/files/${name}.new`, { as, body: 'x' })
    await storage.ask('DELETE', '/object/files', { as: 'service_role', body: { prefixes: [`${name}.new`] } })
    return status === 200
  },
  replace: async ({ ask }, as, name) =>
    (await ask('POST', `/object/files/${name}`, { as, body: 'x', headers: { 'X-Upsert': 'true' } })).status === 200,
  update: async ({ ask }, as, name) => (await ask('PUT', `/object/files/${name}`, { as, body: 'x' })).status === 200,
  'sign upload': async ({ ask }, as, name) =>
    (await ask('POST', `/object/upload/sign/files/${name}.new`, { as })).status === 200,
  'sign replacement': async ({ ask }, as, name) =>
    (await ask('POST', `/object/upload/sign/files/${name}`, { as, headers: { 'X-Upsert': 'true' } })).status === 200,
  move: async ({ ask }, as, name) => {
    const body = { bucketId: 'files', sourceKey: name, destinationKey: `${name}.moved` }
    const { status } = await ask('POST', '/object/move', { as, body })
    const back = { bucketId: 'files', sourceKey: `${name}.moved`, destinationKey: name }
    await ask('POST', '/object/move', { as: 'service_role', body: back })
    return status === 200
  },
  copy: async ({ ask }, as, name) => {
    const body = { bucketId: 'files', sourceKey: name, destinationKey: `${name}.copy` }
    const { status } = await ask('POST', '/object/copy', { as, body })
    await ask('DELETE', '/object/files', { as: 'service_role', body: { prefixes: [`${name}.copy`] } })
    return status === 200
  },
  'copy to another bucket': async ({ ask }, as, name) => {
    const body = { bucketId: 'files', sourceKey: name, destinationBucket: 'target', destinationKey: name }
    const { status } = await ask('POST', '/object/copy', { as, body })
    await ask('DELETE', '/object/target', { as: 'service_role', body: { prefixes: [name] } })
    return status === 200
  },
  remove: async ({ ask }, as, name) => {
    const { json } = await ask('DELETE', '/object/files', { as, body: { prefixes: [name] } })
    return (json as unknown[]).length === 1
  },
  delete: async ({ ask }, as, name) => (await ask('DELETE', `/object/files/${name}`, { as })).status === 200,
} as const satisfies Readonly<Record<string, (storage: TestStorage, as: Caller, name: string) => Promise<boolean>>>

type Endpoint = keyof typeof endpoints

const all = Object.keys(endpoints) as Endpoint[]
const reads: readonly Endpoint[] = [
  ...(['list', 'list by prefix', 'download', 'authenticated', 'head', 'info', 'sign', 'sign many'] as const),
]

/** The endpoints that succeed for a caller. */
async function permitted(storage: TestStorage, as: Caller, name: string): Promise<Endpoint[]> {
  const found: Endpoint[] = []
  for (const endpoint of all) {
    if (await endpoints[endpoint](storage, as, name)) found.push(endpoint)
    await storage.ask('PUT', `/object/files/${name}`, { as: 'service_role', body: name })
  }
  return found
}

const allButPublic = all.filter((endpoint) => endpoint !== 'public' && endpoint !== 'copy to another bucket')

t.test('own folder', async (t) => {
  const storage = await prepared(
    t,
    `create policy own on storage.objects for all to authenticated
       using (bucket_id = 'files' and (storage.foldername(name))[1] = (select auth.uid()::text))
       with check (bucket_id = 'files' and (storage.foldername(name))[1] = (select auth.uid()::text))`,
    [`${ann}/a`, `${bob}/b`],
  )
  t.strictSame(await permitted(storage, ann, `${ann}/a`), allButPublic)
  t.strictSame(await permitted(storage, bob, `${ann}/a`), [])
  t.strictSame(await permitted(storage, 'anon', `${ann}/a`), [])
  t.strictSame(
    await permitted(storage, 'service_role', `${ann}/a`),
    all.filter((endpoint) => endpoint !== 'public'),
  )
  const into = { bucketId: 'files', sourceKey: `${ann}/a`, destinationKey: `${bob}/taken` }
  for (const kind of ['move', 'copy']) {
    t.match((await storage.ask('POST', `/object/${kind}`, { as: ann, body: into })).json, {
      statusCode: '403',
      message: 'new row violates row-level security policy',
    })
  }
  const steal = { bucketId: 'files', sourceKey: `${ann}/a`, destinationKey: `${bob}/taken` }
  for (const kind of ['move', 'copy']) {
    t.match((await storage.ask('POST', `/object/${kind}`, { as: bob, body: steal })).json, { code: 'NoSuchKey' })
  }
  const many = { prefixes: [`${ann}/a`, `${bob}/b`] }
  t.match((await storage.ask('DELETE', '/object/files', { as: bob, body: many })).json, [{ name: `${bob}/b` }])
  t.equal((await storage.ask('GET', `/object/files/${ann}/a`, { as: ann })).status, 200)
})

t.test('public read', async (t) => {
  const storage = await prepared(
    t,
    `create policy "public read" on storage.objects for select using (bucket_id = 'files');
     create policy "signed-in users upload" on storage.objects for insert to authenticated with check (bucket_id = 'files')`,
    ['x/a'],
  )
  t.strictSame(await permitted(storage, 'anon', 'x/a'), reads)
  const uploads = ['upload', 'sign upload', 'copy'] as const
  t.strictSame(
    await permitted(storage, ann, 'x/a'),
    all.filter((endpoint) => [...reads, ...uploads].includes(endpoint)),
    'replacing takes update, too',
  )
  await storage.ask('PUT', '/bucket/files', { as: 'service_role', body: { public: true } })
  await storage.database.query('drop policy "public read" on storage.objects')
  t.strictSame(
    await permitted(storage, 'anon', 'x/a'),
    ['download', 'authenticated', 'public', 'head', 'info'],
    'a public bucket is read without policies, but not listed or signed',
  )
})

t.test('owners', async (t) => {
  const storage = await prepared(
    t,
    `create policy upload on storage.objects for insert to authenticated with check (bucket_id = 'files');
     create policy own on storage.objects for select to authenticated using (owner_id = (select auth.uid()::text))`,
    [],
  )
  t.equal((await storage.ask('POST', '/object/files/x/a', { as: ann, body: 'a' })).status, 200)
  const { rows } = await storage.database.query('select owner::text, owner_id from storage.objects')
  t.strictSame(rows, [{ owner: ann, owner_id: ann }])
  t.equal((await storage.ask('GET', '/object/files/x/a', { as: ann })).status, 200)
  t.match((await storage.ask('GET', '/object/files/x/a', { as: bob })).json, { code: 'NoSuchKey' })
  t.match((await storage.ask('POST', '/object/files/x/a', { as: bob, body: 'b' })).json, { code: 'KeyAlreadyExists' })
  const upsert = { 'X-Upsert': 'true' }
  t.match((await storage.ask('POST', '/object/files/x/a', { as: bob, body: 'b', headers: upsert })).json, {
    message: 'new row violates row-level security policy',
  })
  t.equal((await storage.ask('GET', '/object/files/x/a', { as: ann })).text, 'a')
})

t.test('upsert takes select and update', async (t) => {
  const storage = await prepared(
    t,
    `create policy i on storage.objects for insert to authenticated with check (bucket_id = 'files')`,
    ['x/a'],
  )
  const replace = async (): Promise<number> =>
    (await storage.ask('POST', '/object/files/x/a', { as: ann, body: 'new', headers: { 'X-Upsert': 'true' } })).status
  t.equal(await replace(), 400)
  await storage.database.query(`create policy s on storage.objects for select to authenticated using (true)`)
  t.equal(await replace(), 400)
  await storage.database.query(`create policy u on storage.objects for update to authenticated using (true)`)
  t.equal(await replace(), 200)
  await storage.database.query(`drop policy s on storage.objects`)
  t.equal(await replace(), 400)
})

t.test('roles in the token, and file types', async (t) => {
  const storage = await prepared(
    t,
    `create policy staff on storage.objects for select to authenticated
       using (bucket_id = 'files' and (select auth.jwt() -> 'app_metadata' ->> 'role') = 'staff');
     create policy pictures on storage.objects for insert to authenticated
       with check (bucket_id = 'files' and lower(storage.extension(name)) in ('jpg', 'png') and storage.filename(name) not like '.%')`,
    ['x/a'],
  )
  const read = async (claims: object): Promise<number> =>
    (
      await storage.ask('GET', '/object/files/x/a', {
        headers: { Authorization: await bearer('authenticated', { ...claims }) },
      })
    ).status
  t.equal(await read({ sub: ann, app_metadata: { role: 'staff' } }), 200)
  t.equal(await read({ sub: ann, app_metadata: { role: 'guest' } }), 400)
  t.equal(await read({ sub: ann, user_metadata: { role: 'staff' } }), 400)
  const upload = async (name: string): Promise<number> =>
    (await storage.ask('POST', `/object/files/${name}`, { as: ann, body: 'x' })).status
  t.strictSame(
    [
      await upload('a.JPG'),
      await upload('b/c.png'),
      await upload('a.jpg.exe'),
      await upload('jpg'),
      await upload('b/.png'),
    ],
    [200, 200, 400, 200, 400],
    'the extension of a name without a dot is the name',
  )
})

t.test('by operation', async (t) => {
  const operations: readonly (readonly [Endpoint, string])[] = [
    ['list', 'storage.object.list'],
    ['list by prefix', 'storage.object.list_v2'],
    ['download', 'storage.object.get_authenticated'],
    ['authenticated', 'storage.object.get_authenticated'],
    ['head', 'object.head_authenticated_info'],
    ['info', 'object.get_authenticated_info'],
    ['sign', 'storage.object.sign'],
    ['sign many', 'storage.object.sign_many'],
    ['upload', 'storage.object.upload'],
    ['replace', 'storage.object.upload'],
    ['update', 'storage.object.upload_update'],
    ['sign upload', 'storage.object.sign_upload_url'],
    ['sign replacement', 'storage.object.sign_upload_url'],
    ['move', 'storage.object.move'],
    ['copy', 'storage.object.copy'],
    ['copy to another bucket', 'storage.object.copy'],
    ['remove', 'storage.object.delete_many'],
    ['delete', 'storage.object.delete'],
  ]
  const folders = [...new Set(operations.map(([, operation]) => operation))]
  const storage = await prepared(
    t,
    `create policy by_operation on storage.objects for all to authenticated
       using (storage.operation() = (storage.foldername(name))[1])
       with check (storage.allow_only_operation((storage.foldername(name))[1]))`,
    folders.map((folder) => `${folder}/x`),
  )
  for (const folder of folders) {
    t.strictSame(
      await permitted(storage, ann, `${folder}/x`),
      all.filter((endpoint) => operations.some(([name, operation]) => name === endpoint && operation === folder)),
      folder,
    )
  }
  await storage.database.query(
    `drop policy by_operation on storage.objects;
     create policy download_only on storage.objects for select to authenticated
       using (storage.allow_any_operation(array['object.get_authenticated', 'storage.object.sign']))`,
  )
  t.strictSame(await permitted(storage, ann, 'storage.object.list/x'), ['download', 'authenticated', 'sign'])
})

t.test('data of the request', async (t) => {
  const storage = await prepared(
    t,
    `create policy by_header on storage.objects for select to authenticated
       using (current_setting('request.headers', true)::json ->> 'x-secret' = 'sesame'
         and current_setting('request.method', true) = 'GET' and current_setting('request.path', true) like '%/x/a?%')`,
    ['x/a'],
  )
  const read = async (headers: object, query: string): Promise<number> =>
    (await storage.ask('GET', `/object/files/x/a${query}`, { as: ann, headers: { ...headers } })).status
  t.equal(await read({ 'X-Secret': 'sesame' }, '?v=1'), 200)
  t.equal(await read({ 'X-Secret': 'other' }, '?v=1'), 400)
  t.equal(await read({ 'X-Secret': 'sesame' }, ''), 400)
})

t.test('the functions of policies', async (t) => {
  const { database } = await startStorageService(t)
  const value = async (expression: string, operation: string | null = null): Promise<unknown> => {
    const { rows } = await database.query(
      `select v from (select set_config('storage.operation', $1, false)) as s, lateral (select ${expression} as v) as r`,
      [operation],
    )
    return rows[0]?.v
  }
  const rows: [expression: string, wanted: unknown, operation?: string][] = [
    ["storage.foldername('a/b/c.png')", ['a', 'b']],
    ["storage.foldername('c.png')", []],
    ["storage.foldername('/c.png')", ['']],
    ["storage.foldername('a/')", ['a']],
    ["storage.foldername('')", null],
    ['storage.foldername(null)', null],
    ["storage.filename('a/b/c.png')", 'c.png'],
    ["storage.filename('c')", 'c'],
    ["storage.filename('a/')", ''],
    ["storage.filename('')", null],
    ["storage.extension('a.b/c.tar.gz')", 'gz'],
    ["storage.extension('a.b/c')", 'c'],
    ["storage.extension('.env')", 'env'],
    ["storage.extension('a.')", ''],
    ["storage.extension('')", null],
    ['storage.operation()', 'storage.object.list', 'storage.object.list'],
    ["storage.allow_only_operation('storage.object.list')", true, 'storage.object.list'],
    ["storage.allow_only_operation('object.list')", true, 'storage.object.list'],
    ["storage.allow_only_operation('storage.object.x')", true, 'object.x'],
    ["storage.allow_only_operation('object.list_v2')", false, 'storage.object.list'],
    ["storage.allow_only_operation('')", false, ''],
    ['storage.allow_only_operation(null)', false, 'storage.object.list'],
    ["storage.allow_any_operation(array['a', null, '', 'object.list'])", true, 'storage.object.list'],
    ["storage.allow_any_operation(array['a', null, ''])", false, 'storage.object.list'],
    ["storage.allow_any_operation('{}')", false, 'storage.object.list'],
    ['storage.allow_any_operation(null)', false, 'storage.object.list'],
  ]
  for (const [expression, wanted, operation] of rows)
    t.strictSame(await value(expression, operation), wanted, expression)
  const { rows: kinds } = await database.query(
    `select proname::text as name, provolatile::text as volatile from pg_proc
     where pronamespace = 'storage'::regnamespace
       and proname in ('foldername', 'filename', 'extension', 'operation', 'allow_only_operation', 'allow_any_operation', 'get_size_by_bucket')
     order by 1`,
  )
  t.strictSame(Object.fromEntries(kinds.map(({ name, volatile }) => [name, volatile])), {
    allow_any_operation: 's',
    allow_only_operation: 's',
    extension: 'i',
    filename: 'i',
    foldername: 'i',
    get_size_by_bucket: 's',
    operation: 's',
  })
  await database.query(
    `insert into storage.buckets (id, name) values ('one', 'one'), ('two', 'two');
     insert into storage.objects (bucket_id, name, metadata)
     values ('one', 'a', '{"size": 3000000000}'), ('one', 'b', '{"size": 4}'), ('two', 'a', null)`,
  )
  const { rows: sizes } = await database.query(
    'select size::text, bucket_id from storage.get_size_by_bucket() order by 2',
  )
  t.strictSame(sizes, [
    { size: '3000000004', bucket_id: 'one' },
    { size: null, bucket_id: 'two' },
  ])
  const insert = (name: string) => database.query(`select storage.can_insert_object('one', $1, null, '{}')`, [name])
  await t.rejects(insert('new'), { code: 'PT200', message: 'ROLLBACK', detail: 'rollback successful insert' })
  await t.rejects(insert('a'), { code: '23505' })
  t.equal((await database.query(`select from storage.objects where name = 'new'`)).rowCount, 0)
})
