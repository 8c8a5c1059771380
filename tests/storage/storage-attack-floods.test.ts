// Many slow clients of `/storage/v1`, and clients that disconnect at any moment.
import { readdir, readlink } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { holdRequest, type HeldRequest } from '../support/held-request.ts'
import { createLatch } from '../support/latch.ts'
import { requestSlowly } from '../support/slow-request.ts'
import { startStorageService, storageBearer, storageFault, type StorageAnswer } from '../support/storage.ts'
import { filesOf, requireAgreement } from '../support/storage-files.ts'
import { until } from '../support/until.ts'

const poolSize = 5
const service = { as: 'service_role' } as const
const storage = await startStorageService(t, { PGRST_DB_POOL: String(poolSize) })
const { ask, database, folder, application, url } = storage
await database.query(`insert into storage.buckets (id, name, public) values ('b', 'b', true)`)
const { incoming } = filesOf(folder)
const authorization = { Authorization: await storageBearer('service_role') }

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const tus = { 'Tus-Resumable': '1.0.0' }
const createUpload = async (name: string, length: number): Promise<string> => {
  const metadata = `bucketName ${base64('b')},objectName ${base64(name)}`
  const headers = { ...tus, 'Upload-Length': String(length), 'Upload-Metadata': metadata }
  const answer = await ask('POST', '/upload/resumable', { ...service, headers })
  return new URL(answer.headers.get('location') ?? '').pathname.replace('/storage/v1', '')
}
const patchHeaders = { ...tus, 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': '0' }

const formStart = '--x\r\nContent-Disposition: form-data; name=""; filename="f"\r\n\r\n'
const formEnd = '\r\n--x--\r\n'

type Kind = 'POST' | 'PUT' | 'form' | 'PATCH'

/** An upload that the test sends in two halves. */
type Upload = {
  readonly name: string
  readonly held: HeldRequest
  readonly sendHalf: () => Promise<void>
  readonly finish: () => HeldRequest['answer']
}

/** Sends the head of an upload. */
async function begin(kind: Kind, name: string, bytes: Buffer): Promise<Upload> {
  const half = bytes.length / 2
  const isForm = kind === 'form'
  const [start, end] = isForm ? [formStart, formEnd] : ['', '']
  const path = kind === 'PATCH' ? await createUpload(name, bytes.length) : `/object/b/${name}`
  const headers: Readonly<Record<string, string>> = isForm
    ? { 'Content-Type': 'multipart/form-data; boundary=x' }
    : kind === 'PATCH'
      ? patchHeaders
      : {}
  const held = holdRequest(
    isForm ? 'POST' : kind,
    `${url}/storage/v1${path}`,
    start.length + bytes.length + end.length,
    { ...authorization, ...headers },
  )
  return {
    name,
    held,
    sendHalf: () => held.send(Buffer.concat([Buffer.from(start), bytes.subarray(0, half)])),
    finish: () => held.finish(Buffer.concat([bytes.subarray(half), Buffer.from(end)])),
  }
}

const kinds: readonly Kind[] = ['POST', 'PUT', 'form', 'PATCH']

const collect = (): void => {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}
const memory = (): number => {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const connections = async (condition: string): Promise<number> =>
  Number(
    (
      await database.query(
        `select count(*) as count from pg_stat_activity
         where datname = current_database() and usename = 'authenticator' and ${condition}`,
      )
    ).rows[0]?.count,
  )

t.test('200 slow uploads', async (t) => {
  const count = 200
  const bytes = Buffer.alloc(600_000, 'abc')
  await ask('PUT', '/object/b/small', { ...service, body: 'small' })
  await ask('PUT', '/object/b/large', { ...service, body: bytes })
  // Loads what each kind of upload needs.
  for (const kind of kinds) {
    const first = await begin(kind, `first-${kind}`, Buffer.from('ab'))
    await first.sendHalf()
    await first.finish()
  }
  const before = memory()
  const uploads: Upload[] = []
  for (let index = 0; index < count; index++) {
    uploads.push(await begin(kinds[index % kinds.length] ?? 'POST', `flood-${index}`, bytes))
  }
  await Promise.all(uploads.map(({ sendHalf }) => sendHalf()))
  let refused = 0
  for (const { held } of uploads) void held.answer.then(() => refused++)
  t.ok(await until(async () => (await incoming()) + refused === count), 'all uploads are open')
  t.equal(refused, 0)
  t.ok(await until(() => memory() - before < (count * bytes.length) / 4), 'the half that has arrived is on the disk')

  const reads = await Promise.all([
    ...Array.from({ length: 50 }, () =>
      application.call('GET', '/rest/v1/classification_runs', { headers: authorization }),
    ),
    ...Array.from({ length: 50 }, () => ask('GET', '/object/public/b/small')),
    ...Array.from({ length: 5 }, () => ask('GET', '/object/b/large', service)),
    ...Array.from({ length: 20 }, (_, index) => ask('PUT', `/object/b/quick-${index}`, { ...service, body: 'quick' })),
  ])
  t.strictSame(new Set(reads.map(({ status }) => status)), new Set([200]), 'others are served')
  t.equal(refused, 0, 'while the uploads are open')
  // Two listen for changes, and two are in reserve while all of the pool are in use (`db-pool-reserve`).
  const open = await connections('true')
  t.ok(open <= poolSize + 2 + 2, `${open} connections`)
  t.equal(await connections("state <> 'idle'"), 0, 'slow uploads need no transaction')

  const answers = await Promise.all(uploads.map(({ finish }) => finish()))
  const unavailable = storageFault(503, 'DatabaseError', 'The database is not available at the moment', 'DatabaseError')
  for (const [index, { status, text }] of answers.entries()) {
    const { name } = uploads[index] ?? { name: '' }
    if (status === 503) t.ok([unavailable.message, JSON.stringify(unavailable)].includes(text), text)
    else if (!(status === 200 || status === 204)) t.fail(`${name}: ${status} ${text}`)
  }
  for (const [index, { name }] of uploads.entries()) {
    if (index % 20 > 3 || answers[index]?.status === 503) continue
    t.ok((await ask('GET', `/object/public/b/${name}`)).bytes.equals(bytes), `${name} is whole`)
  }
  await requireAgreement(t, storage)
})

t.test('forms with large fields', async (t) => {
  const tooLarge = storageFault(
    413,
    'Payload too large',
    'The fields of the form exceeded the maximum allowed size',
    'EntityTooLarge',
  )
  const send = (fields: readonly (readonly [string, number])[]): Promise<StorageAnswer> => {
    const form = new FormData()
    for (const [name, size] of fields) form.set(name, `{"a":"${'x'.repeat(size)}"}`)
    form.set('file', new Blob(['x']))
    return ask('POST', '/object/b/fields', { ...service, body: form })
  }
  const half = 700_000
  t.strictSame((await send([['metadata', 2 * half]])).json, tooLarge, 'a field is not cut off')
  t.strictSame(
    (
      await send([
        ['note', half],
        ['other', half],
      ])
    ).json,
    tooLarge,
    'in total',
  )
  t.equal((await ask('GET', '/object/info/b/fields', service)).status, 400)
  t.equal((await send([['metadata', half]])).status, 200)
  t.equal((await ask('GET', '/object/info/b/fields', service)).status, 200)
})

/** Requires that nothing of the requests so far is going on. */
async function requireQuiet(t: Test): Promise<void> {
  t.ok(await until(async () => (await connections("state <> 'idle'")) === 0), 'no open transaction')
  await requireAgreement(t, storage)
  const open = async (): Promise<readonly string[]> => {
    const descriptors = await readdir('/proc/self/fd').catch(() => [])
    const paths = await Promise.all(descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')))
    // Folders stay open.
    return paths.filter((path) => path.startsWith(folder) && !/\/objects\/[0-9a-f]{2}$/.test(path))
  }
  t.ok(await until(async () => (await open()).length === 0), 'no open file')
}

t.test('clients that disconnect', async (t) => {
  const bytes = Buffer.alloc(200_000, 'xyz')
  const found = async (name: string): Promise<Buffer | undefined> => {
    const { status, bytes: body } = await ask('GET', `/object/public/b/${name}`)
    return status === 200 ? body : undefined
  }
  const latchOf = async (condition: string): ReturnType<typeof createLatch> => {
    const latch = await createLatch(t, database)
    await database.query(`create or replace function storage.pause() returns trigger language plpgsql as $$
      begin if ${condition} then perform ${latch.wait}; end if; return new; end $$`)
    return latch
  }
  await database.query(`
    create function storage.pause() returns trigger language plpgsql as $$ begin return new; end $$;
    create trigger pause before insert on storage.objects for each row when (new.name like 'gone%')
      execute function storage.pause()`)

  for (const kind of kinds) {
    const early = await begin(kind, `gone-early-${kind}`, bytes)
    early.held.hangUp()
    const middle = await begin(kind, `gone-middle-${kind}`, bytes)
    await middle.sendHalf()
    t.ok(await until(async () => (await incoming()) > 0))
    middle.held.hangUp()
    await requireQuiet(t)
    t.strictSame([await found(early.name), await found(middle.name)], [undefined, undefined])
  }

  const asked = await latchOf("current_user <> 'supabase_storage_admin'")
  const permissions = await Promise.all(
    (['POST', 'PUT', 'form'] as const).map((kind) => begin(kind, `gone-asked-${kind}`, bytes)),
  )
  for (const { sendHalf } of permissions) await sendHalf()
  t.ok(await asked.isAwaited(3), 'permissions are being found out')
  for (const { held } of permissions) held.hangUp()
  await asked.release()
  await requireQuiet(t)
  for (const { name } of permissions) t.equal(await found(name), undefined, name)

  const uploads: Upload[] = []
  for (const kind of kinds) uploads.push(await begin(kind, `gone-late-${kind}`, bytes))
  for (const { sendHalf } of uploads) await sendHalf()
  t.ok(await until(async () => (await incoming()) === kinds.length))
  const written = await latchOf("current_user = 'supabase_storage_admin'")
  for (const { finish } of uploads) void finish()
  t.ok(await written.isAwaited(kinds.length), 'rows are being written')
  for (const { held } of uploads) held.hangUp()
  await written.release()
  await requireQuiet(t)
  for (const { name } of uploads) t.ok((await found(name))?.equals(bytes), `${name} is whole`)

  const sent = await Promise.all(kinds.map((kind) => begin(kind, `gone-sent-${kind}`, bytes)))
  for (const { held, sendHalf, finish } of sent) {
    await sendHalf()
    void finish()
    setImmediate(() => held.hangUp())
  }
  await Promise.all(sent.map(({ held }) => held.answer))
  await requireQuiet(t)
  for (const { name } of sent) {
    const body = await found(name)
    t.ok(body === undefined || body.equals(bytes), `${name} is whole, or does not exist`)
  }

  await ask('PUT', '/object/b/download', { ...service, body: Buffer.alloc(20_000_000) })
  const downloads = Array.from({ length: 10 }, () => requestSlowly(`${url}/storage/v1/object/public/b/download`))
  await Promise.all(downloads.map(({ response }) => response))
  for (const { hangUp } of downloads) hangUp()
  await requireQuiet(t)
})

t.test('the log has no errors of the server', (t) => {
  t.strictSame(
    application.logged().filter(({ level }) => Number(level) >= 50),
    [],
  )
  t.end()
})
