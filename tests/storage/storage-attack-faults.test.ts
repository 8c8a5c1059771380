// Disks and databases that fail in the middle of requests to `/storage/v1`: a clear error, nothing half visible, and the
// next attempt succeeds.
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FileStore } from '../../server/services/storage/backends/file-store.ts'
import { storageDatabase } from '../../server/services/storage/storage-database.ts'
import { sweep } from '../../server/services/storage/sweep.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { createGate } from '../support/gate.ts'
import { holdRequest } from '../support/held-request.ts'
import { createLatch } from '../support/latch.ts'
import { askStorage, storageBearer, storageFault, type StorageAnswer } from '../support/storage.ts'
import { filesOf, requireAgreement } from '../support/storage-files.ts'
import { until } from '../support/until.ts'

const service = { as: 'service_role' } as const
const database = await createMigratedDatabase()
t.teardown(database.drop)
await database.query(`insert into storage.buckets (id, name, public) values ('b', 'b', true)`)
const gate = await createGate(t, database.port)
await gate.open()
const folder = t.testdir()
const uri = new URL(database.authenticatorUri)
uri.port = String(gate.port)
const application = await startApplication(t, uri.href, {
  STORAGE_FILE_BACKEND_PATH: folder,
})
const { url } = application
const ask = askStorage(url)
const { incoming, versions } = filesOf(folder)

const read = async (name: string): Promise<string | number> => {
  const { status, text } = await ask('GET', `/object/b/${name}`, service)
  return status === 200 ? text : status
}
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const tus = { 'Tus-Resumable': '1.0.0' }
const createUpload = (name: string, length: number): Promise<StorageAnswer> =>
  ask('POST', '/upload/resumable', {
    ...service,
    headers: {
      ...tus,
      'Upload-Length': String(length),
      'Upload-Metadata': `bucketName ${base64('b')},objectName ${base64(name)}`,
    },
  })
const addressOf = ({ headers }: StorageAnswer): string =>
  new URL(headers.get('location') ?? '').pathname.replace('/storage/v1', '')
const patchHeaders = (offset: number) => ({
  ...tus,
  'Content-Type': 'application/offset+octet-stream',
  'Upload-Offset': String(offset),
})
const patch = (address: string, offset: number, body: string) =>
  ask('PATCH', address, { ...service, body, headers: patchHeaders(offset) })
const offsetOf = async (address: string): Promise<number> =>
  Number((await ask('HEAD', address, { ...service, headers: tus })).headers.get('upload-offset'))

type Step = 'open' | 'writev' | 'sync' | 'rename' | 'sync folder'
type Failure = { readonly step: Step; readonly code: string }

type Handles = {
  writev: (this: FileHandle, ...chunks: unknown[]) => Promise<unknown>
  sync: (this: FileHandle) => Promise<void>
}

/** Makes steps of the file system fail below the folder of the store. */
async function faultyDisk(): Promise<{ fault: Failure | undefined }> {
  const disk: { fault: Failure | undefined } = { fault: undefined }
  const { open, rename } = fs
  const failAt = (step: Step): void => {
    if (disk.fault?.step !== step) return
    const { code } = disk.fault
    throw Object.assign(new Error(`${code}: injected, ${step}`), { code, syscall: step, errno: -1 })
  }
  const file = await open(join(folder, 'probe'), 'w')
  const handles = Object.getPrototypeOf(file) as Handles
  await file.close()
  await fs.rm(join(folder, 'probe'))
  const { writev, sync } = handles
  fs.open = async (path, flags, mode) => {
    if (flags !== 'r') failAt('open')
    return open(path, flags, mode)
  }
  fs.rename = async (...paths) => {
    failAt('rename')
    return rename(...paths)
  }
  handles.writev = async function (...chunks) {
    failAt('writev')
    return writev.apply(this, chunks)
  }
  handles.sync = async function () {
    failAt((await this.stat()).isDirectory() ? 'sync folder' : 'sync')
    return sync.apply(this)
  }
  syncBuiltinESMExports()
  return disk
}

const disk = await faultyDisk()

const full = storageFault(507, 'Insufficient Storage', 'The server has no space left for the object', 'InternalError')
const failed = storageFault(500, 'Internal', 'Internal Server Error', 'InternalError')

t.test('a full disk, and one that can only be read', async (t) => {
  await ask('PUT', '/object/b/kept', { ...service, body: 'kept' })
  await ask('PUT', '/object/b/source', { ...service, body: 'source' })
  const form = (): FormData => {
    const data = new FormData()
    data.set('file', new Blob(['x'.repeat(300_000)]))
    return data
  }
  const change = { bucketId: 'b', sourceKey: 'source', destinationKey: 'new' }
  const { url: signed } = (await ask('POST', '/object/upload/sign/b/new', service)).json as { readonly url: string }
  const requests: readonly (readonly [method: string, path: string, body: unknown])[] = [
    ['POST', '/object/b/new', 'x'.repeat(300_000)],
    ['POST', '/object/b/new', form()],
    ['PUT', '/object/b/kept', 'replaced'],
    ['PUT', signed, 'signed'],
    ['POST', '/object/copy', change],
    ['POST', '/object/move', change],
  ]
  const address = addressOf(await createUpload('new', 10))
  await patch(address, 0, 'first')
  const before = [await versions(), (await database.query('select name, version from storage.objects')).rows]
  const steps: readonly Step[] = ['open', 'writev', 'sync', 'rename', 'sync folder']
  for (const step of steps) {
    for (const code of ['ENOSPC', 'EROFS', 'EIO']) {
      const wanted = code === 'ENOSPC' ? full : failed
      disk.fault = { step, code }
      // Each request at one of the codes is enough for the others.
      for (const [method, path, body] of code === 'ENOSPC' ? requests : requests.slice(0, 1)) {
        const { status, json } = await ask(method, path, { ...service, body })
        t.strictSame(
          [status, json],
          [Number(wanted.statusCode), wanted],
          `${code} at ${step}: ${method} ${path.split('?')[0]}`,
        )
      }
      const { status, text } = await patch(address, 5, 'last!')
      t.strictSame([status, text], [Number(wanted.statusCode), wanted.message], `${code} at ${step}: PATCH`)
      disk.fault = undefined
      t.equal(await incoming(), 0, 'no temporary files')
      t.ok(await until(async () => (await versions()).length === before[0]?.length), `${code} at ${step}: no bytes`)
      t.equal(await offsetOf(address), 5)
    }
  }
  t.strictSame(
    [await versions(), (await database.query('select name, version from storage.objects')).rows],
    before,
    'nothing has changed',
  )
  t.strictSame([await read('new'), await read('kept'), await read('source')], [400, 'kept', 'source'])
  t.equal((await patch(address, 5, 'last!')).status, 204, 'with space, the upload is resumed')
  t.equal(await read('new'), 'firstlast!')
  for (const [method, path, body] of requests.slice(2, 3)) {
    t.equal((await ask(method, path, { ...service, body })).status, 200)
  }
  t.equal(await read('kept'), 'replaced')
  await requireAgreement(t, { database, folder })
})

t.test('a large upload to a full disk is refused while it is sent', async (t) => {
  disk.fault = { step: 'writev', code: 'ENOSPC' }
  const length = 20_000_000
  const authorization = { Authorization: await storageBearer('service_role') }
  const address = addressOf(await createUpload('large', length))
  const cases = [
    ['POST', '/object/b/large', {}],
    ['PATCH', address, patchHeaders(0)],
  ] as const
  for (const [method, path, headers] of cases) {
    const held = holdRequest(method, `${url}/storage/v1${path}`, length, { ...authorization, ...headers })
    void held.send(Buffer.alloc(1_000_000))
    t.equal((await held.answer).status, 507, method)
    held.hangUp()
    const whole = await ask(method, path, { ...service, body: Buffer.alloc(length), headers })
    t.equal(whole.status, 507, `${method}: a client that sends everything first`)
  }
  disk.fault = undefined
  t.equal(await offsetOf(address), 0)
  await requireAgreement(t, { database, folder })
})

const unavailable = storageFault(503, 'DatabaseError', 'The database is not available at the moment', 'DatabaseError')

const reconnect = async (t: Test): Promise<void> => {
  await gate.open()
  t.ok(await until(async () => (await ask('GET', '/bucket', service)).status === 200), 'the database is back')
}

/** Removes the bytes whose rows were perhaps written. */
async function sweepOrphans(t: Test): Promise<number> {
  const context = {
    store: new FileStore(folder),
    database: storageDatabase(application.service.database, () => false),
    warn: (message: string) => t.fail(message),
  }
  return sweep(context, new Date(Date.now() + 60_000))
}

t.test('no database', async (t) => {
  const address = addressOf(await createUpload('resumed', 4))
  await ask('PUT', '/object/b/there', { ...service, body: 'there' })
  const sign = await ask('POST', '/object/sign/b/there', { ...service, body: { expiresIn: 600 } })
  const { signedURL } = sign.json as { readonly signedURL: string }
  const change = { bucketId: 'b', sourceKey: 'there', destinationKey: 'absent' }
  await gate.shut()
  const requests: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ['POST', '/object/b/absent', 'x'.repeat(300_000)],
    ['PUT', '/object/b/there', 'new'],
    ['GET', '/object/b/there'],
    ['GET', '/object/public/b/there'],
    ['GET', '/object/info/b/there'],
    ['GET', signedURL],
    ['GET', '/render/image/public/b/there'],
    ['POST', '/object/sign/b/there', { expiresIn: 60 }],
    ['POST', '/object/list/b', { prefix: '' }],
    ['POST', '/object/list-v2/b', {}],
    ['POST', '/object/move', change],
    ['POST', '/object/copy', change],
    ['DELETE', '/object/b/there'],
    ['DELETE', '/object/b', { prefixes: ['there'] }],
    ['GET', '/bucket'],
    ['POST', '/bucket', { name: 'c' }],
    ['PUT', '/bucket/b', { public: false }],
    ['POST', '/bucket/b/empty'],
    ['DELETE', '/bucket/b'],
  ]
  const answers = await Promise.all(requests.map(([method, path, body]) => ask(method, path, { ...service, body })))
  for (const [index, { status, json, headers }] of answers.entries()) {
    t.strictSame([status, json], [503, unavailable], requests[index]?.slice(0, 2).join(' ') ?? '')
    t.equal(headers.get('retry-after'), '1')
  }
  const resumable = await Promise.all([
    createUpload('absent', 4),
    patch(address, 0, 'abcd'),
    ask('DELETE', address, { ...service, headers: tus }),
  ])
  for (const { status, text } of resumable) t.strictSame([status, text], [503, unavailable.message])
  t.equal((await ask('HEAD', address, { ...service, headers: tus })).status, 503)
  await reconnect(t)
  t.strictSame([await read('there'), await read('absent')], ['there', 400])
  t.equal((await patch(address, 0, 'abcd')).status, 204)
  t.equal(await read('resumed'), 'abcd')
  await requireAgreement(t, { database, folder })
})

t.test('the database is gone when the bytes have arrived', async (t) => {
  const headers = { Authorization: await storageBearer('service_role') }
  const address = addressOf(await createUpload('late tus', 4))
  const before = (await versions()).length
  const held = [
    holdRequest('POST', `${url}/storage/v1/object/b/late`, 4, headers),
    holdRequest('PUT', `${url}/storage/v1/object/b/there`, 4, headers),
    holdRequest('PATCH', `${url}/storage/v1${address}`, 4, { ...headers, ...patchHeaders(0) }),
  ]
  for (const request of held) await request.send('x')
  t.ok(await until(async () => (await incoming()) === 3))
  await gate.shut()
  const answers = await Promise.all(held.map((request) => request.finish('yyy')))
  t.strictSame(
    answers.map(({ status }) => status),
    [503, 503, 503],
  )
  for (const { text } of answers.slice(0, 2)) t.strictSame(JSON.parse(text), unavailable)
  t.equal(answers[2]?.text, unavailable.message)
  await reconnect(t)
  t.strictSame([await read('late'), await read('there'), await read('late%20tus')], [400, 'there', 400])
  t.equal(await offsetOf(address), 0)
  const left = (await versions()).length - before
  t.equal(await sweepOrphans(t), left, 'the sweep removes what the uploads have left behind')
  await requireAgreement(t, { database, folder })
  t.equal((await ask('POST', '/object/b/late', { ...service, body: 'again' })).status, 200)
  t.equal((await patch(address, 0, 'abcd')).status, 204)
  t.strictSame([await read('late'), await read('late%20tus')], ['again', 'abcd'])
  await requireAgreement(t, { database, folder })
})

t.test('the connection to the database breaks while a row is committed', async (t) => {
  await database.query(`
    create function storage.at_commit() returns trigger language plpgsql as $$ begin return null; end $$;
    create constraint trigger at_commit after insert or update on storage.objects deferrable initially deferred
      for each row when (new.name like 'commit%') execute function storage.at_commit()`)
  for (const isCommitted of [true, false]) {
    await ask('PUT', '/object/b/source', { ...service, body: 'source' })
    await ask('PUT', '/object/b/moved', { ...service, body: 'moved' })
    const first = { 'x-metadata': base64('{"first":1}') }
    await ask('PUT', '/object/b/commit-put', { ...service, body: 'first', headers: first })
    const address = addressOf(await createUpload('commit-tus', 5))
    const latch = await createLatch(t, database)
    await database.query(`create or replace function storage.at_commit() returns trigger language plpgsql as $$
      begin
        -- Not when the caller's permission is found out.
        if current_user = 'supabase_storage_admin' then perform ${latch.wait}; end if;
        return null;
      end $$`)
    const change = (sourceKey: string, destinationKey: string) => ({ bucketId: 'b', sourceKey, destinationKey })
    const answers = [
      ask('POST', '/object/b/commit-post', { ...service, body: 'whole' }),
      ask('PUT', '/object/b/commit-put', { ...service, body: 'whole' }),
      ask('POST', '/object/copy', { ...service, body: change('source', 'commit-copy') }),
      ask('POST', '/object/move', { ...service, body: change('moved', 'commit-move') }),
      patch(address, 0, 'whole'),
    ]
    t.ok(await latch.isAwaited(5), 'all rows are about to be committed')
    if (isCommitted) {
      gate.mute()
      await latch.release()
      const written = `select from storage.objects where name like 'commit%' and user_metadata is distinct from '{"first": 1}'`
      t.ok(await until(async () => (await database.query(written)).rowCount === 5))
    } else {
      await database.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and usename = 'authenticator'`)
    }
    await gate.shut()
    t.strictSame(
      (await Promise.all(answers)).map(({ status }) => status),
      [503, 503, 503, 503, 503],
    )
    const running = `select from pg_stat_activity where datname = current_database() and usename = 'authenticator'`
    t.ok(await until(async () => (await database.query(running)).rowCount === 0), 'no connection is left')
    await latch.release()
    await database.query(`create or replace function storage.at_commit() returns trigger language plpgsql as $$
      begin return null; end $$`)
    await reconnect(t)
    const wanted = isCommitted
      ? ['whole', 'whole', 'source', 'moved', 400, 'whole']
      : [400, 'first', 400, 400, 'moved', 400]
    const found = async () =>
      Promise.all(
        ['commit-post', 'commit-put', 'commit-copy', 'commit-move', 'moved', 'commit-tus'].map((name) => read(name)),
      )
    t.strictSame(await found(), wanted)
    t.equal(await offsetOf(address), isCommitted ? 5 : 0, 'the client can resume')
    await sweepOrphans(t)
    await requireAgreement(t, { database, folder })
    t.strictSame(await found(), wanted, 'the sweep removes no bytes of objects')
    if (isCommitted) {
      const prefixes = ['commit-post', 'commit-put', 'commit-copy', 'commit-move', 'commit-tus']
      t.equal((await ask('DELETE', '/object/b', { ...service, body: { prefixes } })).status, 200)
    } else t.equal((await patch(address, 0, 'whole')).status, 204)
  }
  await requireAgreement(t, { database, folder })
})
