// Buckets: every endpoint with its responses and errors, as users and as service_role.
import t, { type Test } from 'tap'
import {
  startStorageService,
  storageFault,
  storageFaults as faults,
  type AskStorage,
  type StorageCallerName,
} from '../support/storage.ts'

const alice = 'aaaaaaaa-0000-4000-8000-000000000001'

type Row = readonly [
  name: string,
  request: readonly [method: string, path: string, body?: unknown, as?: StorageCallerName | null],
  body: unknown,
  status?: number,
]

/** Sends requests, as service_role by default (null: without credentials), and compares status and body. */
async function exchange(t: Test, ask: AskStorage, rows: readonly Row[]): Promise<void> {
  for (const [name, [method, path, body, as = 'service_role'], wanted, status] of rows) {
    const answer = await ask(method, path, { ...(as === null ? {} : { as }), ...(body === undefined ? {} : { body }) })
    const isFault = typeof wanted === 'object' && wanted !== null && 'statusCode' in wanted
    t.strictSame(
      { status: answer.status, body: answer.json },
      { status: status ?? (isFault ? 400 : 200), body: wanted },
      name,
    )
  }
}

const invalidLimit = storageFault(
  400,
  'InvalidRequest',
  'Invalid file size format, hint: use 20GB / 20MB / 30KB / 3B',
  'InvalidRequest',
)
const hundred = 'b'.repeat(100)

t.test('creating', async (t) => {
  const { ask, database } = await startStorageService(t, { FILE_SIZE_LIMIT: '2000000' })
  const create = (body: unknown, as?: StorageCallerName | null): Row[1] => ['POST', '/bucket', body, as]
  await exchange(t, ask, [
    ['by name', create({ name: 'plain' }), { name: 'plain' }],
    ['with another id', create({ name: 'shown', id: 'other' }), { name: 'shown' }],
    ['with an empty id', create({ name: 'named', id: '' }), { name: 'named' }],
    ['public', create({ name: 'public', public: true }), { name: 'public' }],
    ['limit in bytes', create({ name: 'bytes', file_size_limit: 1000 }), { name: 'bytes' }],
    ['limit with a unit', create({ name: 'units', file_size_limit: '1.5MB' }), { name: 'units' }],
    ['limit in lower case', create({ name: 'lower', file_size_limit: '3kb' }), { name: 'lower' }],
    ['no limit', create({ name: 'none', file_size_limit: null, allowed_mime_types: null }), { name: 'none' }],
    [
      'types',
      create({ name: 'types', allowed_mime_types: ['image/*', '', 'text/plain;charset=utf-8'] }),
      { name: 'types' },
    ],
    ['the same again', create({ name: 'plain' }), faults.bucketExists],
    ['the same name with another id', create({ name: 'plain', id: 'new' }), faults.bucketExists],
    ['hundred characters', create({ name: hundred }), { name: hundred }],
    ['more', create({ name: `${hundred}b` }), faults.bucketName],
    ['blank at the end', create({ name: 'a ' }), faults.bucketName],
    ['blank at the beginning of the id', create({ name: 'a', id: ' a' }), faults.bucketName],
    ['slash', create({ name: 'a/b' }), faults.bucketName],
    ['umlaut', create({ name: 'bücket' }), faults.bucketName],
    ['empty', create({ name: '' }), faults.bucketName],
    ['limit above that of the server', create({ name: 'x', file_size_limit: '3MB' }), faults.tooLarge],
    [
      'values of other types',
      create({ name: 7, id: null, public: 'true', file_size_limit: '30', allowed_mime_types: 'image/png' }),
      { name: '7' },
    ],
    ['null and an empty limit', create({ name: 'empty', public: null, file_size_limit: '' }), { name: 'empty' }],
    ['null for the name', create({ name: null }), faults.bucketName],
    ['limit of another unit', create({ name: 'x', file_size_limit: '3TB' }), invalidLimit],
    [
      'negative limit',
      create({ name: 'x', file_size_limit: -1 }),
      faults.validation('body/file_size_limit must be >= 0'),
    ],
    ['malformed type', create({ name: 'x', allowed_mime_types: ['picture'] }), faults.mimeType('picture')],
    ['no name', create({}), faults.validation("body must have required property 'name'")],
    [
      'public is no boolean',
      create({ name: 'x', public: 'perhaps' }),
      faults.validation('body/public must be boolean'),
    ],
    [
      'another kind',
      create({ name: 'x', type: 'ANALYTICS' }),
      storageFault(
        409,
        'FeatureNotEnabled',
        'The feature iceberg_catalog is not enabled for this resource',
        'FeatureNotEnabled',
      ),
    ],
    ['without a policy', create({ name: 'x' }, alice), faults.rowSecurity],
    ['anonymous', create({ name: 'x' }, 'anon'), faults.rowSecurity],
    ['without credentials', create({ name: 'x' }, null), faults.noToken],
    [
      'as the server itself',
      create({ name: 'x' }, 'supabase_storage_admin' as 'anon'),
      faults.token('permission denied to set role "supabase_storage_admin"'),
    ],
  ])
  const { rows } = await database.query(
    'select id, public, file_size_limit::int as size, allowed_mime_types as types from storage.buckets order by created_at',
  )
  t.strictSame(rows, [
    { id: 'plain', public: false, size: null, types: null },
    { id: 'other', public: false, size: null, types: null },
    { id: 'named', public: false, size: null, types: null },
    { id: 'public', public: true, size: null, types: null },
    { id: 'bytes', public: false, size: 1000, types: null },
    { id: 'units', public: false, size: 1_500_000, types: null },
    { id: 'lower', public: false, size: 3000, types: null },
    { id: 'none', public: false, size: null, types: null },
    { id: 'types', public: false, size: null, types: ['image/*', 'text/plain;charset=utf-8'] },
    { id: hundred, public: false, size: null, types: null },
    { id: '7', public: true, size: 30, types: ['image/png'] },
    { id: 'empty', public: false, size: null, types: null },
  ])
})

t.test('bodies that are not JSON', async (t) => {
  const { ask } = await startStorageService(t)
  const send = (body: string, type: string) =>
    ask('POST', '/bucket', { as: 'service_role', body, headers: { 'Content-Type': type } })
  const cases = [
    [
      '{',
      'application/json',
      storageFault(
        400,
        'FastifyError',
        "Body is not valid JSON but content-type is set to 'application/json'",
        'InvalidRequest',
      ),
    ],
    [
      '',
      'application/json',
      storageFault(
        400,
        'FastifyError',
        "Body cannot be empty when content-type is set to 'application/json'",
        'InvalidRequest',
      ),
    ],
    ['<a/>', 'text/xml', faults.contentType],
    ['null', 'application/json', faults.validation('body must be object')],
    [
      `{"name":"${'a'.repeat(1024 * 1024)}"}`,
      'application/json',
      storageFault(413, 'FastifyError', 'Request body is too large', 'EntityTooLarge'),
    ],
  ] as const
  for (const [body, type, wanted] of cases)
    t.strictSame((await send(body, type)).json, wanted, `${type} ${body.slice(0, 9)}`)
})

t.test('tokens', async (t) => {
  const { ask } = await startStorageService(t)
  const send = async (authorization: string) =>
    (await ask('GET', '/bucket', { headers: { Authorization: authorization } })).json
  t.strictSame(await send('Bearer nonsense'), faults.token('Invalid Compact JWS'))
  t.strictSame(await send('Bearer'), faults.token('Invalid Compact JWS'))
  const { bearer } = await import('../support/token.ts')
  const good = await bearer('service_role')
  t.strictSame(await send(`${good.slice(0, -4)}AAAA`), faults.token('signature verification failed'))
  t.strictSame(await send(await bearer('service_role', { exp: 1 })), faults.token('"exp" claim timestamp check failed'))
  t.strictSame(await send(good), [])
})

t.test('reading and listing', async (t) => {
  const { ask, database } = await startStorageService(t)
  await database.query(
    `insert into storage.buckets (id, name, owner, owner_id, public, file_size_limit, allowed_mime_types, created_at, updated_at) values
       ('b', 'b', null, null, true, 5, '{image/png}', '2026-01-02T03:04:05.678901Z', '2026-01-05Z'),
       ('a', 'A 50%', '${alice}', '${alice}', false, null, null, '2026-01-03Z', '2026-01-03Z'),
       ('c', 'c_d', null, null, null, null, null, '2026-01-04Z', '2026-01-04Z')`,
  )
  const b = {
    ...{ id: 'b', name: 'b', owner: '', public: true, file_size_limit: 5, allowed_mime_types: ['image/png'] },
    ...{ created_at: '2026-01-02T03:04:05.678Z', updated_at: '2026-01-05T00:00:00.000Z' },
  }
  const list = async (query: string, as: StorageCallerName = 'service_role'): Promise<unknown> => {
    const { json } = await ask('GET', `/bucket${query}`, { as })
    return Array.isArray(json) ? (json as { id: string }[]).map(({ id }) => id).join('') : json
  }
  t.strictSame((await ask('GET', '/bucket/b', { as: 'service_role' })).json, b)
  t.equal(((await ask('GET', '/bucket/a', { as: 'service_role' })).json as { owner: string }).owner, alice)
  t.strictSame((await ask('GET', '/bucket/b', { as: alice })).json, faults.noBucket, 'no policy')
  t.strictSame((await ask('GET', '/bucket/none', { as: 'service_role' })).json, faults.noBucket)
  t.strictSame(((await ask('GET', '/bucket?limit=1', { as: 'service_role' })).json as unknown[])[0], {
    ...b,
    type: 'STANDARD',
  })
  t.strictSame(await list('', alice), '', 'no policy')
  const lists: readonly (readonly [string, string])[] = [
    ['', 'bac'],
    ['?sortColumn=id', 'abc'],
    ['?sortColumn=id&sortOrder=desc', 'cba'],
    ['?sortColumn=created_at&sortOrder=desc', 'cab'],
    ['?sortColumn=updated_at', 'acb'],
    ['?sortColumn=name&sortOrder=asc&limit=2&offset=1', 'bc'],
    ['?search=C_', 'c'],
    ['?search=50%25', 'a'],
    ['?search=%25', 'a'],
    ['?search=%5C', ''],
    ['?offset=2', 'c'],
    ['?offset=7', ''],
  ]
  for (const [query, wanted] of lists) t.equal(await list(query), wanted, query)
  const wrong: readonly (readonly [string, string])[] = [
    ['?limit=0', 'querystring/limit must be >= 1'],
    ['?limit=x', 'querystring/limit must be integer'],
    ['?limit=', 'querystring/limit must be integer'],
    ['?offset=-1', 'querystring/offset must be >= 0'],
    ['?offset=1.5', 'querystring/offset must be integer'],
    ['?sortColumn=owner', 'querystring/sortColumn must be equal to one of the allowed values'],
    ['?sortOrder=up', 'querystring/sortOrder must be equal to one of the allowed values'],
  ]
  for (const [query, message] of wrong) t.strictSame(await list(query), faults.validation(message), query)
})

t.test('changing', async (t) => {
  const { ask, database } = await startStorageService(t)
  await database.query(
    "insert into storage.buckets (id, name, file_size_limit) values ('b', 'b', 7), ('other', 'other', 7)",
  )
  const updated = { message: 'Successfully updated' }
  const change = (body: unknown, as?: StorageCallerName | null): Row[1] => ['PUT', '/bucket/b', body, as]
  await exchange(t, ask, [
    ['public', change({ public: true }), updated],
    ['types', change({ allowed_mime_types: ['image/png'] }), updated],
    ['limit', change({ file_size_limit: '2KB' }), updated],
    ['nothing', change({}), faults.validation('body must NOT have fewer than 1 properties')],
    [
      'unknown names',
      change({ name: 'x' }),
      storageFault(400, 'InvalidRequest', 'No content provided', 'InvalidRequest'),
    ],
    ['limit above that of the server', change({ file_size_limit: '53MB' }), faults.tooLarge],
    ['malformed type', change({ allowed_mime_types: ['x'] }), faults.mimeType('x')],
    ['without a policy', change({ public: false }, alice), faults.noBucket],
    ['without credentials', change({ public: false }, null), faults.noToken],
    ['no such bucket', ['PUT', '/bucket/none', { public: true }], faults.noBucket],
    ['a name that is none', ['PUT', '/bucket/%C3%BC', { public: true }], faults.bucketName],
  ])
  const { rows } = await database.query(
    'select id, public, file_size_limit::int as size, allowed_mime_types as types from storage.buckets order by id',
  )
  t.strictSame(rows, [
    { id: 'b', public: true, size: 2000, types: ['image/png'] },
    { id: 'other', public: false, size: 7, types: null },
  ])
  await exchange(t, ask, [
    ['removing the limits', change({ file_size_limit: null, allowed_mime_types: null }), updated],
  ])
  const { rows: after } = await database.query(
    "select public, file_size_limit as size, allowed_mime_types as types from storage.buckets where id = 'b'",
  )
  t.strictSame(after, [{ public: true, size: null, types: null }])
})

t.test('emptying and deleting', async (t) => {
  const { ask, database } = await startStorageService(t)
  const notEmpty = storageFault(
    409,
    'ResourceNotEmpty',
    'The bucket you tried to delete is not empty',
    'ResourceNotEmpty',
  )
  const wrongRole = storageFault(403, 'Unauthorized', 'Access denied: Invalid role', 'AccessDenied')
  const emptied = { message: 'Empty bucket has been queued. Completion may take up to an hour.' }
  await exchange(t, ask, [
    ['a bucket', ['POST', '/bucket', { name: 'b' }], { name: 'b' }],
    ['another', ['POST', '/bucket', { name: 'c' }], { name: 'c' }],
  ])
  const uploaded = await ask('POST', '/object/b/one.txt', { as: 'service_role', body: 'one' })
  t.equal(uploaded.status, 200, uploaded.text)
  // More objects than are deleted at once.
  await database.query(
    "insert into storage.objects (bucket_id, name, version) select 'b', 'n' || n, gen_random_uuid() from generate_series(1, 2500) as n",
  )
  await database.query("insert into storage.objects (bucket_id, name) values ('c', 'kept')")
  await exchange(t, ask, [
    ['deleting a bucket with objects', ['DELETE', '/bucket/b'], notEmpty],
    ['the same without a policy', ['DELETE', '/bucket/b', undefined, alice], faults.noBucket],
    ['emptying as a user', ['POST', '/bucket/b/empty', undefined, alice], wrongRole, 403],
    ['emptying without credentials', ['POST', '/bucket/b/empty', undefined, null], faults.noToken],
    ['emptying none', ['POST', '/bucket/none/empty'], faults.noBucket],
    ['emptying', ['POST', '/bucket/b/empty'], emptied],
    ['deleting without a policy', ['DELETE', '/bucket/b', undefined, alice], faults.noBucket],
    ['deleting', ['DELETE', '/bucket/b'], { message: 'Successfully deleted' }],
    ['deleting again', ['DELETE', '/bucket/b'], faults.noBucket],
    [
      'another method',
      ['PATCH', '/bucket/c', {}],
      storageFault(404, 'Not Found', 'Route PATCH:/bucket/c not found', 'InvalidRequest'),
      404,
    ],
  ])
  const { rows } = await database.query('select bucket_id, name from storage.objects')
  t.strictSame(rows, [{ bucket_id: 'c', name: 'kept' }])
})

t.test('policies on buckets', async (t) => {
  const { ask, database } = await startStorageService(t)
  await database.query(
    `create policy makes on storage.buckets for insert to authenticated with check (owner_id = (select auth.uid())::text);
     create policy sees on storage.buckets for select to authenticated using (owner_id = (select auth.uid())::text);
     create policy changes on storage.buckets for update to authenticated using (storage.allow_only_operation('bucket.update'))`,
  )
  const bob = 'bbbbbbbb-0000-4000-8000-000000000002'
  await exchange(t, ask, [
    ['a bucket of a user', ['POST', '/bucket', { name: 'mine' }, alice], { name: 'mine' }],
    ['is changed by its owner', ['PUT', '/bucket/mine', { public: true }, alice], { message: 'Successfully updated' }],
    ['not by others', ['PUT', '/bucket/mine', { public: false }, bob], faults.noBucket],
    ['is not seen by others', ['GET', '/bucket/mine', undefined, bob], faults.noBucket],
    ['its id is taken for others', ['POST', '/bucket', { name: 'mine' }, bob], faults.bucketExists],
    ['there is no policy for deletion', ['DELETE', '/bucket/mine', undefined, alice], faults.noBucket],
  ])
})
