// Bodies above 2 MiB that the server writes from rows: they are collected in memory and files, and sent from there.
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { countCollectedBodies } from '../support/collected-bodies.ts'
import { createDatabase } from '../support/database.ts'
import { startRowsComparison, untilCached, type RowsComparison } from '../support/rows-comparison.ts'
import type { SentRequest } from '../support/sent-request.ts'
import { trustAllStatements } from '../support/sharing.ts'
import { requestSlowly } from '../support/slow-request.ts'
import { until } from '../support/until.ts'

const MiB = 1024 ** 2
const database = await createDatabase()
t.teardown(() => database.drop())
const role = `large_${database.name}`
await database.query(`
  create role ${role};
  create function lines(bytes int, lines int) returns table (n int, text text) stable language sql as
    $$ select n, repeat(chr(97 + n % 26), bytes) from generate_series(1, lines) n $$;
  create table threshold (at int);
  insert into threshold values (0);
  create view divided as
    select n, 1 / (n - (select at from threshold)) as quotient, repeat('x', 1000) as text from generate_series(1, 10000) n;
  create function pausing() returns table (n int, text text) stable language sql as
    $$ select n, repeat('x', 1000) || case when n = 9000 then pg_sleep(1)::text else '' end from generate_series(1, 10000) n $$;
  create table wide (id int primary key, text text not null, times int not null default 0);
  insert into wide select n, repeat('w' || n, 200) from generate_series(1, 20000) n;
  create table kept (id int primary key, text text, parent int);
  alter table kept add constraint late foreign key (parent) references wide deferrable initially deferred;
  insert into kept select n, repeat('k', 1000), 1 from generate_series(1, 5000) n;
  create table values (id int primary key, text text);
  insert into values select n, repeat('v', case n when 1 then 3000000 else 10 end) from generate_series(1, 3) n;
  grant all on all tables in schema public to ${role}`)
t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))

let isSharing = false
trustAllStatements(() => isSharing)

const collected = countCollectedBodies()
const { used, isFree } = collected

const env = { PGRST_DB_ANON_ROLE: role, PGRST_DB_POOL: '2', REST_BASE_PATH: '/' }
const get = (path: string, headers: SentRequest['headers'] = {}): SentRequest => ({ method: 'GET', path, headers })
const start = (t: Pick<Test, 'teardown'>): Promise<RowsComparison> => startRowsComparison(t, database.adminUri, env)

/** Sends a request until its shape is cached and its size known, and compares. Returns how many bodies were collected for the last one. */
async function compare(t: Test, { difference }: RowsComparison, request: SentRequest): Promise<number> {
  let before = 0
  for (let time = 0; time < untilCached + 2; time++) {
    before = collected.bodies
    const found = await difference(request)
    if (found !== undefined) t.fail(found)
  }
  return collected.bodies - before
}

for (const sharing of [false, true]) {
  t.test(`the same bytes on ${sharing ? 'shared connections' : 'connections of their own'}`, async (t) => {
    isSharing = sharing
    const comparison = await start(t)
    for (const lines of [2079, 2080, 2081, 2082])
      await compare(t, comparison, get(`/rpc/lines?bytes=985&lines=${lines}`))
    for (const [path, headers] of [
      ['/rpc/lines?bytes=1000&lines=3000', {}],
      ['/rpc/lines?bytes=100000&lines=60', {}],
      ['/wide?order=id&limit=4000', {}],
      ['/wide?order=id&limit=3000', { Prefer: 'count=exact' }],
      ['/wide?order=id&limit=3000', { Prefer: 'pagination=keyset' }],
    ] as const)
      t.equal(await compare(t, comparison, get(path, headers)), 1, `${path} is collected`)
    t.equal(await compare(t, comparison, get('/values?order=id')), 0, 'a row above 2 MiB is sent by Postgres')
    t.equal(
      await compare(t, comparison, get('/wide?order=id&limit=4000', { Accept: 'application/vnd.pgrst.object+json' })),
      0,
    )
    t.ok(await isFree(), 'nothing is kept')
  })
}

t.test('an error in the last row has its status', async (t) => {
  isSharing = false
  const comparison = await start(t)
  t.equal(await compare(t, comparison, get('/divided')), 1)
  for (const at of [10_000, 5000, 1]) {
    await database.query('update threshold set at = $1', [at])
    await compare(t, comparison, get('/divided'))
    const [{ status, body }] = await comparison.ask(get('/divided'))
    t.equal(status, 400)
    t.match(body, '22012')
    t.ok(await isFree(), 'nothing is kept')
  }
})

const hashOf = (text: string): string => createHash('sha256').update(text, 'latin1').digest('hex')

t.test('slow readers occupy no connection', async (t) => {
  const comparison = await start(t)
  const { encoding, ask } = comparison
  const path = '/wide?order=id&limit=8000'
  await compare(t, comparison, get(path))
  const [{ body }] = await ask(get(path))
  const readers = []
  for (let number = 0; number < 10; number++) {
    const reader = requestSlowly(encoding.url + path)
    await reader.response
    readers.push(reader)
  }
  const { database: served } = encoding.service
  t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
  t.ok(used() > 32 * MiB, 'some are in files')
  readers.splice(0, 4).forEach(({ hangUp }) => hangUp())
  for (const { finish } of readers) t.strictSame(await finish(), { length: body.length, hash: hashOf(body) })
  t.ok(await isFree(), 'nothing is kept')
})

t.test('clients that hang up while rows arrive', async (t) => {
  const comparison = await start(t)
  const { encoding } = comparison
  await compare(t, comparison, get('/rpc/pausing'))
  const before = collected.bodies
  for (let time = 0; time < 4; time++) {
    const reader = requestSlowly(`${encoding.url}/rpc/pausing`)
    t.ok(await until(() => collected.bodies > before + time), 'the body is being collected')
    reader.hangUp()
  }
  t.ok(await isFree(), 'nothing is kept')
  const { database: served } = encoding.service
  t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
})

t.test('rows that a write returns', async (t) => {
  const { call } = await startApplication(t, database.adminUri, { ...env, PGRST_DB_TX_END: 'commit-allow-override' })
  const returning = { Prefer: 'return=representation' }
  const rows = async (columns: string): Promise<string> => {
    const { rows } = await database.query(
      `select json_agg(w)::text as json from (select ${columns} from wide order by id) w`,
    )
    return String(rows[0]?.json)
  }
  const sorted = (json: string): string =>
    JSON.stringify((JSON.parse(json) as { id: number }[]).sort((a, b) => a.id - b.id))
  const before = collected.bodies
  const written = await call('PATCH', '/wide?id=gt.0&select=id,text,times', { body: { times: 1 }, headers: returning })
  t.equal(written.status, 200)
  t.equal(written.headers.get('content-length'), String(Buffer.byteLength(written.text)))
  t.ok(sorted(written.text) === sorted(await rows('id, text, times')), 'all rows')
  t.equal(collected.bodies, before + 1)
  const tooMany = { Prefer: 'return=representation, handling=strict, max-affected=100' }
  t.match(await call('PATCH', '/wide?id=gt.0&select=id,text', { body: { times: 2 }, headers: tooMany }), {
    status: 400,
    body: { code: 'PGRST124' },
  })
  t.match(await call('PATCH', '/kept?id=gt.0&select=id,text', { body: { parent: -1 }, headers: returning }), {
    status: 409,
    body: { code: '23503' },
  })
  t.match(
    await call('DELETE', '/kept?id=gt.0&select=id,text', { headers: { Prefer: 'return=representation, tx=rollback' } }),
    { status: 200 },
  )
  t.equal(collected.bodies, before + 4, 'each of them was collected')
  const { rows: left } = await database.query(
    'select (select count(*) from wide where times = 1)::int as wide, (select count(*) from kept where parent = 1)::int as kept',
  )
  t.strictSame(left, [{ wide: 20_000, kept: 5000 }])
  t.ok(await isFree(), 'nothing is kept')
})

t.test('no room', async (t) => {
  const none = { ...env, DB_POOL_SPILL_MEMORY: '1mb', DB_POOL_SPILL_DISK: '1mb' }
  const comparison = await startRowsComparison(t, database.adminUri, none)
  // Postgres sends what there is no room for.
  t.equal(await compare(t, comparison, get('/wide?order=id&limit=4000')), 0)
  const returning = { Prefer: 'return=representation' }
  const { call, service } = await startApplication(t, database.adminUri, none)
  const { status, body } = await call('PATCH', '/wide?id=gt.0&select=id,text', {
    body: { times: 3 },
    headers: returning,
  })
  t.equal(status, 200)
  t.equal((body as unknown[]).length, 20_000, 'the rows of a write are kept in memory')
  t.match(await call('PATCH', '/wide?id=lt.100&select=id', { body: { times: 4 }, headers: returning }), { status: 200 })
  t.ok(await isFree(), 'nothing is kept')
  const { statistics } = service.database
  t.equal(statistics.idle, statistics.total, 'every connection was returned')
})

t.test('room that others take while rows arrive', async (t) => {
  const comparison = await startRowsComparison(t, database.adminUri, {
    ...env,
    DB_POOL_SPILL_MEMORY: '0',
    DB_POOL_SPILL_DISK: '12mb',
  })
  const { encoding, ask } = comparison
  await compare(t, comparison, get('/wide?order=id&limit=8000'))
  const [{ body }] = await ask(get('/wide?order=id&limit=8000'))
  const readers = []
  for (let number = 0; number < 4; number++) {
    const reader = requestSlowly(`${encoding.url}/wide?order=id&limit=8000`)
    readers.push(reader)
    if (number < 2) await reader.response
  }
  for (const { finish, response } of readers) {
    await response
    t.strictSame(await finish(), { length: body.length, hash: hashOf(body) })
  }
  t.ok(await isFree(), 'nothing is kept')
})
