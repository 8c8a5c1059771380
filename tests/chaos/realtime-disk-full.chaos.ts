// The disk of the database runs full under subscriptions: what was committed is delivered or reported as missing, nothing else
// is, and all goes on as soon as there is space. Mounts a small file system, which takes root on Linux.
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { findBinaries } from '../../server/postgres/embedded/binaries.ts'
import { makeCluster } from '../../server/postgres/embedded/cluster.ts'
import { startPostmaster, type Postmaster } from '../../server/postgres/embedded/postmaster.ts'
import { databaseUser } from '../../server/postgres/embedded/system-user.ts'
import { migrate } from '../../server/postgres/migrate.ts'
import { startApplication } from '../support/application.ts'
import { uriOf } from '../support/cluster.ts'
import { withClient } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { dial } from '../support/realtime.ts'
import { until } from '../support/until.ts'

t.setTimeout(300_000)

const run = promisify(execFile)
const mebibyte = 1024 * 1024

const parent = await mkdtemp(join(tmpdir(), 'rowhouse-full-'))
await chmod(parent, 0o711)
const disk = join(parent, 'disk')
await mkdir(disk)
await run('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=711', 'tmpfs', disk])

const user = await databaseUser(null)
const binaries = await findBinaries(user)
const cluster = await makeCluster({ dataDir: disk, binaries, user, password: 'postgres', log: () => undefined })
const port = await freePort()
const settings = {
  wal_level: 'logical',
  // The log takes the same space at all times, so that it is the tables that run out of it first.
  max_wal_size: '64MB',
  min_wal_size: '64MB',
  // Larger transactions are written to the disk by the decoder.
  logical_decoding_work_mem: '64kB',
}
const start = (): Promise<Postmaster> =>
  startPostmaster({ binaries, cluster, user, port, logFile: join(parent, 'log'), settings })
let postmaster = await start()
t.teardown(async () => {
  await postmaster.stop()
  await run('umount', ['-l', disk])
  await rm(parent, { recursive: true, force: true })
})

const uri = uriOf(port, 'postgres')
const query = (text: string, values: readonly unknown[] = []): Promise<unknown> =>
  withClient(uri, (client) => {
    // The crash of the database reaches it beside the query.
    client.on('error', () => undefined)
    return client.query(text, [...values])
  })
await withClient(uri, (client) => migrate(client))
await query(`alter role authenticator password 'authenticator'`)
await query(`create table public.items (id int primary key, text text);
  alter table items alter column text set storage external;
  grant select on public.items to anon;
  alter publication supabase_realtime add table public.items;`)
// All segments of the log exist.
for (let count = 0; count < 6; count++)
  await query('select pg_switch_wal(), pg_logical_emit_message(false, $1, $2)', ['', ''])

const filler = join(disk, 'filler')
/** Takes all space but some bytes. */
async function fill(free: number): Promise<void> {
  const file = await open(filler, 'w')
  const piece = Buffer.alloc(mebibyte, 'x')
  let size = 0
  try {
    for (;;) size += (await file.write(piece)).bytesWritten
  } catch (error) {
    t.match(error, { code: 'ENOSPC' })
  }
  await file.truncate(Math.max(0, size - free))
  await file.close()
}

const { url } = await startApplication(t, uri.replace('postgres:postgres@', 'authenticator:authenticator@'), {
  REALTIME_DATABASE_URL: uri,
})

type Data = { readonly type: string; readonly record: { readonly id: number } }

const client = await dial(t, url)
await client.opened
const beat = setInterval(() => client.send('heartbeat', 'phoenix', {}), 20_000)
t.teardown(() => clearInterval(beat))
t.match(await client.join('items', { postgres_changes: [{ event: '*', schema: 'public', table: 'items' }] }), {
  status: 'ok',
})
t.match((await client.next('system')).payload, { status: 'ok' })

const inserted = (): readonly number[] =>
  client.received
    .filter(({ event }) => event === 'postgres_changes')
    .map(({ payload }) => (payload as { data: Data }).data)
    .filter(({ type }) => type === 'INSERT')
    .map(({ record }) => record.id)
const gaps = (): number => client.received.filter(({ payload }) => (payload as { code?: string }).code === 'Gap').length

let id = 0
const acknowledged: number[] = []
/** @returns whether the database accepted the row */
async function insert(bytes: number): Promise<boolean> {
  const one = ++id
  try {
    await query('insert into items values ($1, repeat($2, $3))', [one, 'x', bytes])
    acknowledged.push(one)
    return true
  } catch {
    return false
  }
}
const isHeard = (one: number): boolean => inserted().includes(one)
/** @returns whether changes from now on are delivered */
const goesOn = (): Promise<boolean> => {
  const last = id
  return until(async () => {
    await insert(10)
    return inserted().some((one) => one > last && one <= id)
  })
}

t.test('no space for rows', async (t) => {
  t.ok(await insert(10))
  await fill(2 * mebibyte)
  const before = acknowledged.length
  let refused = 0
  for (let count = 0; count < 300; count++) if (!(await insert(10_000))) refused++
  t.ok(refused > 0, `${refused} refused, ${acknowledged.length - before} accepted`)
  t.ok(await until(() => acknowledged.every(isHeard)), 'what was committed is delivered')
  t.strictSame(inserted(), acknowledged, 'once, in order, and nothing else')
  t.equal(gaps(), 0)
  const other = await dial(t, url)
  await other.opened
  t.match(await other.join('room'), { status: 'ok' }, 'other clients connect')
  await rm(filler)
  t.ok(await goesOn())
})

t.test('no space for the decoder', async (t) => {
  const written = 20_000
  await query('insert into items select n, null from generate_series(1000001, $1::int) as n', [1_000_000 + written])
  t.ok(await until(() => isHeard(1_000_000 + written)))
  await fill(mebibyte / 2)
  const before = gaps()
  await query('delete from items where id > 1000000')
  const isDeleted = (): boolean =>
    client.received.filter(({ payload }) => (payload as { data?: Data }).data?.type === 'DELETE').length === written
  const isUnavailable = (): boolean =>
    client.received.some(({ payload }) => (payload as { code?: string }).code === 'Unavailable')
  t.ok(await until(() => isUnavailable() || isDeleted()))
  await rm(filler)
  t.ok(await until(() => gaps() > before || isDeleted()), 'the transaction is delivered, or reported as missing')
  t.ok(await goesOn())
})

t.test('no space for the log: the database crashes', async (t) => {
  const before = gaps()
  await fill(0)
  let failure: unknown
  for (let count = 0; count < 400 && failure === undefined; count++) {
    await query(`select pg_logical_emit_message(false, 'x', repeat('x', 1000000))`).catch((error: unknown) => {
      failure = error
    })
  }
  t.ok(failure, 'the log cannot grow')
  const ready = await fetch(`${url}/health`)
  t.equal(ready.status, 200, 'the server stays')
  await rm(filler)
  const isBack = (): Promise<boolean> =>
    query('select').then(
      () => true,
      () => false,
    )
  // Recovery may have failed for want of space; then the database has ended.
  if (!(await isBack())) {
    await postmaster.stop().catch(() => undefined)
    postmaster = await start()
  }
  t.ok(await until(isBack))
  t.ok(await goesOn())
  const heard = inserted()
  t.strictSame([...new Set(heard)], heard, 'each once')
  await until(() => acknowledged.every(isHeard) || gaps() > before)
  const lost = acknowledged.filter((one) => !isHeard(one))
  t.ok(lost.length === 0 || gaps() > before, `${lost.length} are not heard, ${gaps() - before} gaps are reported`)
})
