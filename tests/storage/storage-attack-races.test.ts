// Requests to `/storage/v1` at the same time, about the same objects and buckets.
import t from 'tap'
import { FileStore } from '../../server/services/storage/backends/file-store.ts'
import { moveObject } from '../../server/services/storage/object-move.ts'
import { ObjectNames } from '../../server/services/storage/object-names.ts'
import { storageDatabase } from '../../server/services/storage/storage-database.ts'
import { lastingIdentity } from '../../server/identity/identity.ts'
import { holdRequest, type HeldRequest } from '../support/held-request.ts'
import {
  startStorageService,
  storageBearer,
  storageFault,
  storageFaults as faults,
  type StorageAnswer,
} from '../support/storage.ts'
import { filesOf, requireAgreement } from '../support/storage-files.ts'
import { until } from '../support/until.ts'

const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const
const service = { as: 'service_role' } as const
const storage = await startStorageService(t)
const { ask, database, folder, application, url } = storage
await database.query(`
  insert into storage.buckets (id, name, public) values ('b', 'b', true);
  create policy own on storage.objects for all to authenticated
    using (owner_id = auth.uid()::text) with check (owner_id = auth.uid()::text)`)

const { incoming } = filesOf(folder)
const read = async (path: string): Promise<string | number> => {
  const { status, text } = await ask('GET', `/object/${path}`, service)
  return status === 200 ? text : status
}
const put = (path: string, body: string): Promise<StorageAnswer> => ask('PUT', `/object/${path}`, { ...service, body })
const change = (kind: 'move' | 'copy', sourceKey: string, destinationKey: string, headers = {}) =>
  ask('POST', `/object/${kind}`, { ...service, body: { bucketId: 'b', sourceKey, destinationKey }, headers })
const remove = (name: string) => ask('DELETE', '/object/b', { ...service, body: { prefixes: [name] } })
const related = storageFault(404, 'InvalidRequest', 'The related resource does not exist', 'InvalidRequest')
const duplicate = storageFault(409, 'Duplicate', 'The resource already exists', 'ResourceAlreadyExists')

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const tus = { 'Tus-Resumable': '1.0.0' }
const createUpload = async (bucket: string, name: string, length: number): Promise<string> => {
  const metadata = `bucketName ${base64(bucket)},objectName ${base64(name)}`
  const headers = { ...tus, 'Upload-Length': String(length), 'Upload-Metadata': metadata }
  const { headers: answered } = await ask('POST', '/upload/resumable', { ...service, headers })
  return new URL(answered.get('location') ?? '').pathname.replace('/storage/v1', '')
}
const patchHeaders = (offset: number) => ({
  ...tus,
  'Content-Type': 'application/offset+octet-stream',
  'Upload-Offset': String(offset),
})
const patch = (address: string, offset: number, body: string, headers = {}) =>
  ask('PATCH', address, { ...service, body, headers: { ...patchHeaders(offset), ...headers } })

/** Begins a request of `service_role`, and waits until the first of its bytes are in the store. */
async function hold(method: string, path: string, length: number, headers = {}): Promise<HeldRequest> {
  const before = await incoming()
  const authorization = await storageBearer('service_role')
  const held = holdRequest(method, `${url}/storage/v1${path}`, length, { Authorization: authorization, ...headers })
  await held.send('x')
  await until(async () => (await incoming()) > before)
  return held
}

t.test('what is moved is what the caller was permitted to move', async (t) => {
  const plain = storageDatabase(application.service.database, () => false)
  /** Moves `name` as ann, with something happening once the policies have permitted it. */
  const moveMeanwhile = async (name: string, meanwhile: () => Promise<unknown>): Promise<unknown> => {
    let isFirst = true
    const context = {
      store: new FileStore(folder),
      warn: (message: string) => t.fail(message),
      settings: (): never => {
        throw new Error('a move within a bucket needs no settings')
      },
      names: new ObjectNames(plain, () => ({ storageUnicodeNames: true })),
      database: {
        ...plain,
        tryOut: async (...statement: Parameters<typeof plain.tryOut>) => {
          const rows = await plain.tryOut(...statement)
          if (isFirst) await meanwhile()
          isFirst = false
          return rows
        },
      },
    }
    const identity = lastingIdentity('authenticated', { sub: ann, role: 'authenticated' })
    const scope = { identity, operation: 'storage.object.move', method: 'POST', path: '/object/move', headers: {} }
    const [from, to] = [
      { bucket: 'b', name },
      { bucket: 'b', name: `${name} moved` },
    ]
    return moveObject(context, scope, from, to, ann).catch((error: unknown) => error)
  }
  const ownerOf = async (name: string): Promise<unknown> =>
    (await database.query('select owner_id from storage.objects where name = $1', [name])).rows[0]?.owner_id

  for (const name of ['replaced', 'given', 'removed', 'newer', 'again']) {
    await ask('POST', `/object/b/${name}`, { as: ann, body: `${name} of ann` })
  }
  const replaced = await moveMeanwhile('replaced', async () => {
    await ask('DELETE', '/object/b', { as: ann, body: { prefixes: ['replaced'] } })
    await ask('POST', '/object/b/replaced', { as: bob, body: 'of bob' })
  })
  t.match(replaced, { code: 'NoSuchKey' }, "bob's object looks as one that does not exist")
  t.strictSame([await read('b/replaced'), await ownerOf('replaced')], ['of bob', bob])
  t.equal(await read('b/replaced%20moved'), 400)

  const give = () => database.query("update storage.objects set owner_id = $1 where name = 'given'", [bob])
  t.match(await moveMeanwhile('given', give), { code: 'NoSuchKey' })
  t.strictSame([await read('b/given'), await ownerOf('given')], ['given of ann', bob])

  t.match(await moveMeanwhile('removed', () => remove('removed')), { code: 'NoSuchKey' })

  t.equal(await moveMeanwhile('newer', () => ask('PUT', '/object/b/newer', { as: ann, body: 'newer' })), undefined)
  t.equal(await read('b/newer%20moved'), 'newer', 'a new version of it is moved')
  const recreate = async (): Promise<void> => {
    await remove('again')
    await ask('POST', '/object/b/again', { as: ann, body: 'created again' })
  }
  t.equal(await moveMeanwhile('again', recreate), undefined)
  t.equal(await read('b/again%20moved'), 'created again', 'another one is moved, because policies permit it, too')
  await requireAgreement(t, storage)
})

t.test('emptying a bucket', async (t) => {
  await ask('POST', '/bucket', { ...service, body: { name: 'emptied' } })
  const empty = () => ask('POST', '/bucket/emptied/empty', service)
  await put('emptied/a', 'a')
  const held = await hold('POST', '/object/emptied/late', 4)
  t.equal((await empty()).status, 200)
  t.equal(await read('emptied/a'), 400)
  t.equal((await held.finish('yyy')).status, 200, 'an upload that ends later creates its object')
  t.equal(await read('emptied/late'), 'xyyy')

  const clock = globalThis.Date
  t.teardown(() => (globalThis.Date = clock))
  const now = clock.now() - 3_600_000
  globalThis.Date = class extends clock {
    constructor(...given: [] | [number | string]) {
      super(given[0] ?? now)
    }
  } as DateConstructor
  const { status } = await empty()
  globalThis.Date = clock
  t.equal(status, 200)
  t.equal(await read('emptied/late'), 400, 'by the clock of the database, though that of the server is late')

  const answers = await Promise.all([
    ...Array.from({ length: 8 }, (_, index) => put(`emptied/${index}`, 'x')),
    ...Array.from({ length: 4 }, empty),
  ])
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
  await requireAgreement(t, storage)
})

t.test('deleting a bucket during uploads', async (t) => {
  await ask('POST', '/bucket', { ...service, body: { name: 'brief' } })
  const address = await createUpload('brief', 'resumable', 4)
  t.equal((await patch(address, 0, 'ab')).status, 204)
  const late = await createUpload('brief', 'late', 4)
  const lateHeld = await hold('PATCH', late, 4, patchHeaders(0))
  const [inserted, upserted] = [await hold('POST', '/object/brief/a', 4), await hold('PUT', '/object/brief/b', 4)]
  t.strictSame((await ask('DELETE', '/bucket/brief', service)).json, { message: 'Successfully deleted' })
  for (const held of [inserted, upserted]) {
    const { status, text } = await held.finish('yyy')
    t.strictSame([status, JSON.parse(text)], [400, related])
  }
  t.strictSame(await lateHeld.finish('yyy'), { status: 404, text: 'Bucket not found' })
  const refused = await patch(address, 2, 'cd')
  t.strictSame([refused.status, refused.text], [404, related.message])
  t.equal((await ask('DELETE', address, { ...service, headers: tus })).status, 404, 'it expires')
  await requireAgreement(t, storage)

  // An upload that is faster keeps the bucket.
  for (let round = 0; round < 5; round++) {
    await ask('POST', '/bucket', { ...service, body: { name: 'short' } })
    const [uploaded, deleted] = await Promise.all([put('short/a', 'whole'), ask('DELETE', '/bucket/short', service)])
    if (uploaded.status === 200) {
      t.equal(deleted.status, 400)
      t.match(deleted.json, { code: 'ResourceNotEmpty' })
      t.equal(await read('short/a'), 'whole')
      await ask('POST', '/bucket/short/empty', service)
      t.equal((await ask('DELETE', '/bucket/short', service)).status, 200)
    } else {
      t.ok([faults.noBucket.message, related.message].includes((uploaded.json as typeof related).message))
      t.equal(deleted.status, 200)
    }
  }
  await requireAgreement(t, storage)
})

t.test('resumable uploads to one name', async (t) => {
  const upsert = { 'X-Upsert': 'true' }
  for (const headers of [{}, upsert]) {
    const name = `resumable ${Object.keys(headers).length}`
    const contents = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(40))
    const addresses = await Promise.all(contents.map(() => createUpload('b', name, 40)))
    await Promise.all(addresses.map((address, index) => patch(address, 0, (contents[index] ?? '').slice(0, 20))))
    const answers = await Promise.all(
      addresses.map((address, index) => patch(address, 20, (contents[index] ?? '').slice(20), headers)),
    )
    const won = answers.flatMap(({ status }, index) => (status === 204 ? [contents[index]] : []))
    t.equal(won.length, headers === upsert ? 4 : 1)
    t.ok(won.includes(String(await read(`b/${encodeURIComponent(name)}`))), 'one of the winners, whole')
    for (const { status, text } of answers) {
      if (status !== 204) t.strictSame([status, text], [409, 'The resource already exists'])
    }
    for (const address of addresses) await ask('DELETE', address, { ...service, headers: { ...tus, ...upsert } })
  }
  await requireAgreement(t, storage)
})

t.test('moves, uploads, copies and removals of one object', async (t) => {
  for (let round = 0; round < 6; round++) {
    await put('b/source', `source ${round}`)
    await remove('target')
    const [moved, uploaded] = await Promise.all([
      change('move', 'source', 'target'),
      put('b/target', `upload ${round}`),
    ])
    t.equal(uploaded.status, 200)
    if (moved.status === 200) {
      t.ok([`source ${round}`, `upload ${round}`].includes(String(await read('b/target'))))
      t.equal(await read('b/source'), 400)
    } else {
      t.strictSame(moved.json, duplicate)
      t.strictSame([await read('b/source'), await read('b/target')], [`source ${round}`, `upload ${round}`])
    }

    await put('b/source', `source ${round}`)
    const [away, replaced] = await Promise.all([
      change('move', 'source', `away ${round}`),
      put('b/source', `newer ${round}`),
    ])
    t.strictSame([away.status, replaced.status], [200, 200])
    const found = [await read(`b/away%20${round}`), await read('b/source')]
    t.ok(
      found.join() === `newer ${round},400` || found.join() === `source ${round},newer ${round}`,
      `each version is in one place: ${found.join()}`,
    )

    await put('b/source', `source ${round}`)
    await remove('copy')
    const [copied] = await Promise.all([change('copy', 'source', 'copy'), remove('source')])
    if (copied.status === 200) t.equal(await read('b/copy'), `source ${round}`, 'a copy is whole')
    else t.strictSame([copied.json, await read('b/copy')], [faults.noObject, 400])
  }
  await requireAgreement(t, storage)
})

t.test('the log has no errors of the server', (t) => {
  t.strictSame(
    application.logged().filter(({ level }) => Number(level) >= 50),
    [],
  )
  t.end()
})
