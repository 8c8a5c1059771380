// Moving, copying and removing objects at `/storage/v1`: every parameter and error, rows and bytes in agreement, and requests
// at the same time.
import t from 'tap'
import { startStorageService, storageFault, storageFaults as faults, type TestStorage } from '../support/storage.ts'
import { requireAgreement } from '../support/storage-files.ts'
import { exchangeRows, type StorageRow } from '../support/storage-rows.ts'
import { testWithFolder } from '../support/storage-backends.ts'

const ann = 'aaaaaaaa-0000-4000-8000-000000000001'

const fault404 = storageFault(404, 'InvalidRequest', 'The related resource does not exist', 'InvalidRequest')
const duplicate = storageFault(409, 'Duplicate', 'The resource already exists', 'ResourceAlreadyExists')

async function createBuckets({ ask }: TestStorage, ...names: readonly string[]): Promise<void> {
  for (const name of names) await ask('POST', '/bucket', { as: 'service_role', body: { name } })
}

const put = async ({ ask }: TestStorage, path: string, body = path): Promise<void> => {
  const headers = { 'Content-Type': 'text/plain', 'Cache-Control': 'max-age=60', 'X-Metadata': 'eyJhIjoxfQ==' }
  await ask('PUT', `/object/${path}`, { as: 'service_role', body, headers })
}

const read = async ({ ask }: TestStorage, path: string): Promise<string | number> => {
  const { status, text } = await ask('GET', `/object/${path}`, { as: 'service_role' })
  return status === 200 ? text : status
}

const info = async ({ ask }: TestStorage, path: string): Promise<Record<string, unknown>> =>
  (await ask('GET', `/object/info/${path}`, { as: 'service_role' })).json as Record<string, unknown>

t.test('POST /object/move', async (t) => {
  const storage = await startStorageService(t)
  await createBuckets(storage, 'one', 'two')
  for (const name of ['a', 'b', 'c', 'd']) await put(storage, `one/${name}`)
  const before = await info(storage, 'one/a')
  const move = (sourceKey: string, destinationKey: string, more: object = {}, ...as: [as?: null]): StorageRow[1] => [
    ...(['POST', '/object/move', { bucketId: 'one', sourceKey, destinationKey, ...more }] as const),
    ...as,
  ]
  const moved = { message: 'Successfully moved' }
  await exchangeRows(t, storage.ask, [
    ['to another name', move('a', 'folder/a2'), moved],
    ['to another bucket', move('b', 'b2', { destinationBucket: 'two' }), moved],
    ['to the same name', move('c', 'c'), moved],
    ['onto an object', move('c', 'd'), duplicate],
    ['what has been moved', move('a', 'a3'), faults.noObject],
    ['from no bucket', move('a', 'a3', { bucketId: 'nothing' }), faults.noObject],
    ['to no bucket', move('c', 'c2', { destinationBucket: 'nothing' }), fault404],
    ['to an invalid name', move('c', '%'), faults.key('%')],
    ['to blanks', move('c', ' / '), faults.key(' / ')],
    ['to an empty name', move('c', ''), faults.key('')],
    ['to a name that is too long', move('c', 'x'.repeat(1025)), faults.key('x'.repeat(1024))],
    [
      'no source',
      ['POST', '/object/move', { bucketId: 'one', destinationKey: 'x' }],
      faults.validation("body must have required property 'sourceKey'"),
    ],
    [
      'no bucket',
      ['POST', '/object/move', { sourceKey: 'c', destinationKey: 'x' }],
      faults.validation("body must have required property 'bucketId'"),
    ],
    [
      'no target',
      ['POST', '/object/move', { bucketId: 'one', sourceKey: 'c' }],
      faults.validation("body must have required property 'destinationKey'"),
    ],
    ['without credentials', move('c', 'c2', {}, null), faults.noToken],
  ])
  t.equal(await read(storage, 'one/folder/a2'), 'one/a')
  t.equal(await read(storage, 'two/b2'), 'one/b')
  t.equal(await read(storage, 'one/a'), 400)
  const after = await info(storage, 'one/folder/a2')
  t.match(after, { id: before.id, etag: before.etag, size: 5, content_type: 'text/plain', metadata: { a: 1 } })
  t.equal(after.cache_control, 'max-age=60')
  t.not(after.version, before.version, 'the bytes of a version are never changed')
  await requireAgreement(t, storage)
})

t.test('POST /object/copy', async (t) => {
  const storage = await startStorageService(t)
  await createBuckets(storage, 'one', 'two')
  for (const name of ['a', 'b']) await put(storage, `one/${name}`)
  const copy = (sourceKey: string, destinationKey: string, more: object = {}) => ({
    body: { bucketId: 'one', sourceKey, destinationKey, ...more },
  })
  const send = (body: object, headers = {}) =>
    storage.ask('POST', '/object/copy', { as: 'service_role', ...body, headers })
  const first = await send(copy('a', 'a2'))
  t.equal(first.status, 200)
  const row = first.json as Record<string, unknown>
  t.strictSame(Object.keys(row), [
    ...['Id', 'Key', 'name', 'bucket_id', 'owner', 'owner_id', 'version', 'id', 'updated_at', 'created_at'],
    ...['last_accessed_at', 'metadata', 'user_metadata'],
  ])
  t.match(row, {
    Key: 'one/a2',
    name: 'a2',
    bucket_id: 'one',
    owner: '',
    metadata: { mimetype: 'text/plain', cacheControl: 'max-age=60', size: 5 },
    user_metadata: { a: 1 },
  })
  t.equal(row.Id, row.id)
  t.equal(await read(storage, 'one/a2'), 'one/a')
  t.match((await send(copy('a', 'x', { destinationBucket: 'two' }))).json, { Key: 'two/x', bucket_id: 'two' })
  t.equal(await read(storage, 'two/x'), 'one/a')

  t.strictSame((await send(copy('b', 'a2'))).json, faults.exists)
  const replaced = await send(copy('b', 'a2'), { 'x-upsert': 'true' })
  t.match(replaced.json, { Id: row.Id, Key: 'one/a2' }, 'the id stays the same')
  t.equal(await read(storage, 'one/a2'), 'one/b')
  t.match((await send(copy('a', 'a'), { 'x-upsert': 'true' })).json, { Key: 'one/a' }, 'onto itself')
  t.equal(await read(storage, 'one/a'), 'one/a')

  const own = { 'x-metadata': Buffer.from('{"b":2}').toString('base64') }
  t.match((await send(copy('a', 'plain', { metadata: { mimetype: 'image/png' } }), own)).json, {
    metadata: { mimetype: 'text/plain', cacheControl: 'max-age=60' },
    user_metadata: { a: 1 },
  })
  const changes = { copyMetadata: false, metadata: { mimetype: 'image/png' } }
  t.match((await send(copy('a', 'changed', changes), own)).json, {
    metadata: { mimetype: 'image/png', cacheControl: 'max-age=60' },
    user_metadata: { b: 2 },
  })
  t.strictSame(
    ((await send(copy('a', 'bare', { copyMetadata: false }))).json as { user_metadata: unknown }).user_metadata,
    null,
    'none is copied, and none was sent',
  )
  t.equal(
    (await storage.ask('GET', '/object/one/changed', { as: 'service_role' })).headers.get('content-type'),
    'image/png',
  )

  const body = (more: object) => ({ bucketId: 'one', sourceKey: 'a', destinationKey: 'y', ...more })
  await exchangeRows(t, storage.ask, [
    ['no object', ['POST', '/object/copy', body({ sourceKey: 'nothing' })], faults.noObject],
    ['no bucket', ['POST', '/object/copy', body({ bucketId: 'nothing' })], faults.noObject],
    ['to no bucket', ['POST', '/object/copy', body({ destinationBucket: 'nothing' })], fault404],
    ['from a bucket without name', ['POST', '/object/copy', body({ bucketId: '' })], faults.bucketName],
    ['to an invalid bucket', ['POST', '/object/copy', body({ destinationBucket: 'a/b' })], faults.bucketName],
    ['to the parent folder', ['POST', '/object/copy', body({ destinationKey: 'a/../y' })], faults.key('a/../y')],
    ['to an invalid name', ['POST', '/object/copy', body({ destinationKey: '%' })], faults.key('%')],
    ['to slashes', ['POST', '/object/copy', body({ destinationKey: '//' })], faults.key('//')],
    [
      'no target',
      ['POST', '/object/copy', { bucketId: 'one', sourceKey: 'a' }],
      faults.validation("body must have required property 'destinationKey'"),
    ],
    [
      'copyMetadata is no boolean',
      ['POST', '/object/copy', body({ copyMetadata: 'no' })],
      faults.validation('body/copyMetadata must be boolean'),
    ],
    ['without credentials', ['POST', '/object/copy', body({}), null], faults.noToken],
  ])
  await requireAgreement(t, storage)
})

t.test('DELETE /object/:bucket', async (t) => {
  const storage = await startStorageService(t)
  await createBuckets(storage, 'one', 'two')
  for (const name of ['one/a', 'one/b', 'one/c', 'two/a']) await put(storage, name)
  const remove = (body: unknown, bucket = 'one', ...as: [as?: null]): StorageRow[1] => [
    ...(['DELETE', `/object/${bucket}`, body] as const),
    ...as,
  ]
  const removed = await storage.ask('DELETE', '/object/one', {
    as: 'service_role',
    body: { prefixes: ['a', 'a', 'nothing', 'b', '%', "' or 1=1"] },
  })
  t.equal(removed.status, 200)
  const rows = removed.json as Record<string, unknown>[]
  t.strictSame(rows.map(({ name }) => name).sort(), ['a', 'b'])
  t.match(rows[0], { bucket_id: 'one', owner: '', metadata: { size: 5 }, user_metadata: { a: 1 } })
  await exchangeRows(t, storage.ask, [
    ['again', remove({ prefixes: ['a', 'b'] }), []],
    ['no bucket', remove({ prefixes: ['a'] }, 'nothing'), []],
    ['a folder is no object', remove({ prefixes: [''] }), []],
    ['none', remove({ prefixes: [] }), faults.validation('body/prefixes must NOT have fewer than 1 items')],
    ['a text is a list of one', remove({ prefixes: 'a' }), []],
    ['numbers are texts', remove({ prefixes: [1] }), []],
    ['no list', remove({ prefixes: {} }), faults.validation('body/prefixes must be array')],
    ['no texts', remove({ prefixes: [{}] }), faults.validation('body/prefixes/0 must be string')],
    ['nothing', remove({}), faults.validation("body must have required property 'prefixes'")],
    ['without credentials', remove({ prefixes: ['c'] }, 'one', null), faults.noToken],
    ['a caller without policies', ['DELETE', '/object/one', { prefixes: ['c'] }, ann], []],
  ])
  t.strictSame([await read(storage, 'one/c'), await read(storage, 'two/a')], ['one/c', 'two/a'])
  await requireAgreement(t, storage)
})

testWithFolder(t, 'many objects at once', async (t) => {
  const storage = await startStorageService(t)
  await createBuckets(storage, 'one')
  await storage.database.query(
    `insert into storage.objects (bucket_id, name) select 'one', 'n/' || i from generate_series(1, 3000) as i`,
  )
  const prefixes = Array.from({ length: 3000 }, (_, place) => `n/${place + 1}`)
  const { json } = await storage.ask('DELETE', '/object/one', { as: 'service_role', body: { prefixes } })
  t.equal((json as unknown[]).length, 3000)
})

testWithFolder(t, 'requests at the same time', async (t) => {
  const storage = await startStorageService(t)
  await createBuckets(storage, 'one')
  const as = 'service_role'
  const change = (kind: string, sourceKey: string, destinationKey: string, headers = {}) =>
    storage.ask('POST', `/object/${kind}`, { as, body: { bucketId: 'one', sourceKey, destinationKey }, headers })

  for (let round = 0; round < 5; round++) {
    const sources = Array.from({ length: 6 }, (_, place) => `race-${round}-${place}`)
    for (const name of sources) await put(storage, `one/${name}`)
    const answers = await Promise.all(sources.map((name) => change('move', name, `target-${round}`)))
    const winners = sources.filter((_, place) => answers[place]?.status === 200)
    t.equal(winners.length, 1, 'one move onto a target wins')
    t.equal(await read(storage, `one/target-${round}`), `one/${winners[0] ?? ''}`)
    for (const [place, name] of sources.entries()) {
      if (winners.includes(name)) t.equal(await read(storage, `one/${name}`), 400)
      else {
        t.strictSame(answers[place]?.json, duplicate)
        t.equal(await read(storage, `one/${name}`), `one/${name}`, 'the others stay where they are')
      }
    }
  }

  await put(storage, 'one/from')
  const moves = await Promise.all(Array.from({ length: 6 }, (_, place) => change('move', 'from', `to-${place}`)))
  const won = moves.flatMap(({ status }, place) => (status === 200 ? [place] : []))
  t.equal(won.length, 1, 'one move of a source wins')
  t.equal(await read(storage, `one/to-${won[0] ?? ''}`), 'one/from')
  for (const { status, json } of moves) if (status !== 200) t.strictSame(json, faults.noObject)

  const copies = await Promise.all(
    [0, 1, 2, 3].map((place) => change('copy', `to-${won[0] ?? ''}`, `once-${place % 2}`)),
  )
  t.equal(copies.filter(({ status }) => status === 200).length, 2, 'one copy to each target wins')
  for (const { status, json } of copies) if (status !== 200) t.strictSame(json, faults.exists)

  for (let round = 0; round < 5; round++) {
    await put(storage, 'one/short-lived')
    const [copied, , upserted] = await Promise.all([
      change('copy', 'short-lived', `copy-${round}`),
      storage.ask('DELETE', '/object/one', { as, body: { prefixes: ['short-lived'] } }),
      change('copy', 'short-lived', 'common', { 'x-upsert': 'true' }),
    ])
    for (const { status, json } of [copied, upserted]) if (status !== 200) t.strictSame(json, faults.noObject)
    if (copied.status === 200) t.equal(await read(storage, `one/copy-${round}`), 'one/short-lived')
  }

  await put(storage, 'one/busy', '0')
  await Promise.all([
    ...Array.from({ length: 8 }, (_, place) => put(storage, 'one/busy', String(place))),
    ...Array.from({ length: 4 }, () => change('copy', 'busy', 'busy-copy', { 'x-upsert': 'true' })),
    change('move', 'busy', 'busy-moved'),
    ...Array.from({ length: 8 }, async () => {
      const found = await read(storage, 'one/busy')
      t.ok(found === 400 || /^\d$/.test(String(found)), 'a reader gets one version whole')
    }),
  ])
  await requireAgreement(t, storage)
})

t.test('an object is read to its end while it is removed', async (t) => {
  const storage = await startStorageService(t)
  await createBuckets(storage, 'one')
  const bytes = 'x'.repeat(8 * 1024 * 1024)
  await put(storage, 'one/large', bytes)
  const token = (await storage.ask('POST', '/object/sign/one/large', { as: 'service_role', body: { expiresIn: 60 } }))
    .json as { readonly signedURL: string }
  const response = await fetch(`${storage.url}/storage/v1${token.signedURL}`)
  await storage.ask('DELETE', '/object/one', { as: 'service_role', body: { prefixes: ['large'] } })
  t.equal((await response.text()).length, bytes.length)
  t.equal(await read(storage, 'one/large'), 400)
})

t.test('rows without bytes', async (t) => {
  const storage = await startStorageService(t)
  await createBuckets(storage, 'one')
  await storage.database.query(`insert into storage.objects (bucket_id, name) values ('one', 'empty')`)
  const missing = storageFault(404, 'Not found', 'The resource was not found', 'NoSuchKey')
  for (const kind of ['move', 'copy']) {
    const body = { bucketId: 'one', sourceKey: 'empty', destinationKey: 'x' }
    t.strictSame((await storage.ask('POST', `/object/${kind}`, { as: 'service_role', body })).json, missing, kind)
  }
  t.equal((await storage.database.query(`select from storage.objects where name = 'x'`)).rowCount, 0)
})
