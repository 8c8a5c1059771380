// Attacks on bodies above 2 MiB that the server collects while their rows arrive: nothing is kept of a body that is not sent, and
// what was collected in one attempt never becomes the response of another.
import t, { type Test } from 'tap'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { startApplication } from '../support/application.ts'
import { countCollectedBodies } from '../support/collected-bodies.ts'
import { startCuttingProxy } from '../support/cut-connection.ts'
import { createDatabase } from '../support/database.ts'
import { untilCached } from '../support/rows-comparison.ts'
import { countSharedRuns, trustAllStatements } from '../support/sharing.ts'
import { requestSlowly } from '../support/slow-request.ts'
import { until } from '../support/until.ts'

const MiB = 1024 ** 2
const database = await createDatabase()
t.teardown(() => database.drop())
const role = `attacked_${database.name}`
await database.query(`
  create role ${role};
  create table sizes (at int, lines int, style text);
  insert into sizes values (0, 5000, 'ISO');
  create view lines as
    select n, repeat('x', 1000) as text from sizes, generate_series(1, lines) n;
  create function restyled(n int) returns text stable language plpgsql as $$
    begin return case when n = (select at from sizes) then left(set_config('DateStyle', 'German', true), 0) else '' end; end $$;
  create function paused(n int) returns text stable language plpgsql as $$
    begin return case when n = (select at from sizes) then left(pg_sleep(3)::text, 0) else '' end; end $$;
  create view pausing as select n, text || paused(n) as text from lines;
  create view styled as select n, '2024-02-29'::date as day, text || restyled(n) as text from lines;
  create function noting() returns void stable language plpgsql as $$ begin end $$;
  create table added (n int, text text not null default repeat('a', 1000));
  create view tiny as select n from generate_series(1, 300000) n;
  create view whole as select 1 as n, repeat('w', 20000000) as text;
  grant all on all tables in schema public to ${role}`)
t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))

let isSharing = false
trustAllStatements(() => isSharing)
const shared = countSharedRuns()
const collected = countCollectedBodies()
const env = { PGRST_DB_ANON_ROLE: role, PGRST_DB_POOL: '2', REST_BASE_PATH: '/', PGRST_LOG_LEVEL: 'crit' }

/** Sends a request so often that its shape is cached, and its size known. */
async function warm(t: Test, get: () => Promise<{ status: number }>): Promise<void> {
  for (let time = 0; time < untilCached + 2; time++) t.equal((await get()).status, 200)
}

t.test('rows that cannot be encoded, after a part of the body was collected', async (t) => {
  const { call, service } = await startApplication(t, database.adminUri, env)
  await warm(t, () => call('GET', '/styled?select=*'))
  await database.query('update sizes set at = 4000')
  const before = collected.bodies
  const { status, body } = await call('GET', '/styled?select=*')
  t.equal(status, 200)
  t.equal((body as { day: string }[])[4500]?.day, '2024-02-29')
  t.equal(collected.bodies, before + 1, 'rows were collected')
  t.ok(await collected.isFree(), 'nothing is kept')
  const { database: served } = service
  t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
  await database.query('update sizes set at = 0')
})

for (const [title, settings] of [
  ['', {}],
  [', where a statement follows', { PGRST_DB_PRE_REQUEST: 'public.noting' }],
] as const)
  for (const sharing of [false, true])
    t.test(`a lost connection${title}, ${sharing ? 'shared' : 'not shared'}`, async (t) => {
      isSharing = sharing
      const { uri, cutAfter, cuts } = await startCuttingProxy(t, database.adminUri)
      const { call, service } = await startApplication(t, uri, { ...env, ...settings })
      await warm(t, () => call('GET', '/lines?order=n'))
      // The second attempt finds other rows.
      for (const lines of [3, 4000]) {
        const before = cuts()
        cutAfter('C', 3 * MiB, () => database.query('update sizes set lines = $1', [lines]))
        const { status, body } = await call('GET', '/lines?order=n')
        t.equal(status, 200)
        // A result that is complete may be sent before its connection is broken.
        t.ok(await until(() => cuts() === before + 1), 'the connection was lost')
        const { length } = body as unknown[]
        t.ok(length === lines || length === 5000, `${length} rows`)
        t.ok(await collected.isFree(), 'nothing is kept')
        await database.query('update sizes set lines = 5000')
      }
      const { database: served } = service
      t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
    })

t.test('a lost connection of a shared read, a part of whose large row was sent', async (t) => {
  isSharing = true
  const { service } = await startApplication(t, database.adminUri, env)
  // Its caller is not gone when the body fails.
  const handle = fetchHandler(service.engine)
  const get = (path: string): Promise<Response> => handle(new Request(`http://test${path}`))
  const path = '/whole?select=text&n=eq.1'
  for (let time = 0; time < untilCached + 2; time++) t.ok((await (await get(path)).text()).length > 20_000_000)
  const before = shared.reads
  for (let time = 0; time < 3; time++) {
    const { body } = await get(path)
    const reader = body?.getReader()
    await reader?.read()
    // It has not been read whole, so the connection waits for the reader.
    const { rows } = await database.query(
      "select count(pg_terminate_backend(pid))::int as count from pg_stat_activity where datname = current_database() and state = 'active' and query like '%whole%' and pid <> pg_backend_pid()",
    )
    t.equal(rows[0]?.count, 1, 'the connection was ended')
    const readRest = async (): Promise<void> => {
      while ((await reader?.read())?.done === false);
    }
    await t.rejects(readRest(), 'the response is broken off')
  }
  t.ok(shared.reads > before, 'reads were shared')
  t.ok(
    await until(() => service.database.statistics.idle === service.database.statistics.total),
    'every connection was returned',
  )
  t.equal((await get('/whole?select=n')).status, 200)
})

const ending =
  'select pid from pg_stat_activity where datname = current_database() and query like $1 and pid <> pg_backend_pid()'

t.test('backends that end, statements that time out and a server that stops while rows arrive', async (t) => {
  for (const sharing of [false, true]) {
    isSharing = sharing
    const { url, call, service } = await startApplication(t, database.adminUri, env)
    await warm(t, () => call('GET', '/pausing?select=*'))
    await database.query('update sizes set at = 4500')
    const begin = async (): Promise<{
      readonly answer: Promise<{ readonly status: number; readonly rows: number }>
    }> => {
      const before = collected.bodies
      const response = fetch(`${url}/pausing?select=*`).then(async (answer) => {
        const body = (await answer.json()) as unknown[]
        return { status: answer.status, rows: body.length }
      })
      t.ok(await until(() => collected.bodies > before), 'the body is being collected')
      return { answer: response }
    }
    const ended = await begin()
    await database.query(ending.replace('pid', 'pg_terminate_backend(pid)'), ['%pausing%'])
    t.strictSame(await ended.answer, { status: 200, rows: 5000 }, 'it ran once more')
    t.ok(await collected.isFree(), 'nothing is kept')
    const cancelled = await begin()
    await database.query(ending.replace('pid', 'pg_cancel_backend(pid)'), ['%pausing%'])
    t.ok((await cancelled.answer).status >= 500, 'a cancelled statement does not run again')
    t.ok(await collected.isFree(), 'nothing is kept')
    const { database: served } = service
    t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
    const stopped = await begin()
    await service.stop()
    await stopped.answer.catch(() => undefined)
    t.ok(await collected.isFree(), 'nothing is kept')
    await database.query('update sizes set at = 0')
  }
})

t.test('a folder for temporary files that cannot be written', async (t) => {
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  const { call } = await startApplication(t, database.adminUri, { ...env, DB_POOL_SPILL_MEMORY: '1mb' })
  await warm(t, () => call('GET', '/lines?order=n'))
  process.env.TMPDIR = '/nowhere'
  for (let time = 0; time < 3; time++) {
    const { status, body } = await call('GET', '/lines?order=n')
    t.equal(status, 200)
    t.equal((body as unknown[]).length, 5000, 'Postgres sends the body')
    t.ok(await collected.isFree(), 'nothing is kept')
  }
})

/** `READERS=200` reads a gigabyte. */
const slowReaders = Number(process.env.READERS ?? 60)

t.test(`${slowReaders} slow readers`, async (t) => {
  isSharing = false
  // All bodies pass through two connections, which may take longer than ten seconds on a busy machine.
  const { url, call, service } = await startApplication(t, database.adminUri, {
    ...env,
    PGRST_DB_POOL_ACQUISITION_TIMEOUT: '120',
    LOAD_SHEDDING_WAIT: '0',
  })
  await warm(t, () => call('GET', '/lines?order=n'))
  const { text } = await call('GET', '/lines?order=n')
  const before = process.memoryUsage.rss()
  const readers = Array.from({ length: slowReaders }, () => requestSlowly(`${url}/lines?order=n`))
  const statuses = await Promise.all(readers.map(async ({ response }) => (await response).statusCode))
  t.strictSame(new Set(statuses), new Set([200]))
  t.ok(collected.used() > 32 * MiB, 'some are in files')
  const grown = (process.memoryUsage.rss() - before) / MiB
  t.comment(`${Math.round(grown)} MiB more memory, ${Math.round(collected.used() / MiB)} MiB in use for bodies`)
  const { database: served } = service
  t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
  t.equal((await call('GET', '/lines?n=eq.1&select=n')).status, 200, 'others are served')
  const lengths = await Promise.all(
    readers.map(async ({ finish, hangUp }, number) => (number % 2 ? hangUp() : (await finish()).length)),
  )
  t.strictSame(new Set(lengths), new Set([undefined, text.length]))
  t.ok(await collected.isFree(), 'nothing is kept')
})

t.test('a lost connection of a write, after its rows', async (t) => {
  for (const sharing of [false, true]) {
    isSharing = sharing
    const { uri, cutAfter, cuts } = await startCuttingProxy(t, database.adminUri)
    const { call, service } = await startApplication(t, uri, env)
    const body = Array.from({ length: 4000 }, (_, n) => ({ n }))
    const headers = { Prefer: 'return=representation' }
    const add = (): ReturnType<typeof call> => call('POST', '/added?select=n,text', { body, headers })
    for (let time = 0; time < untilCached + 1; time++) {
      const { status, body } = await add()
      t.strictSame([status, (body as unknown[]).length], [201, 4000])
    }
    for (let time = 0; time < 3; time++) {
      await database.query('truncate added')
      const before = collected.bodies
      cutAfter('C', 3 * MiB)
      t.ok((await add()).status >= 500)
      t.ok(await until(() => cuts() === time + 1), 'the connection was lost')
      t.equal(collected.bodies, before + 1, 'it did not run again')
      const { rows } = await database.query('select count(*)::int as count from added')
      t.ok([0, 4000].includes(Number(rows[0]?.count)), 'all rows or none')
      t.ok(await collected.isFree(), 'nothing is kept')
    }
    const { database: served } = service
    t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
  }
})

t.test('three hundred thousand tiny rows', async (t) => {
  isSharing = false
  const { call } = await startApplication(t, database.adminUri, env)
  const before = collected.bodies
  const { status, body } = await call('GET', '/tiny')
  t.equal(status, 200)
  t.equal((body as unknown[]).length, 300_000)
  t.equal(collected.bodies, before + 1)
  t.ok(await collected.isFree(), 'nothing is kept')
})
