// Requests on shared connections get the same responses as on separate ones, and do not wait long for others' locks.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { readCluster, uriOf } from '../support/cluster.ts'
import { createDatabase, withClient, type TestDatabase } from '../support/database.ts'
import { gates } from '../support/locks.ts'
import { seededRandom, type Random, testSeed } from '../support/seeded-random.ts'
import { countSharedRuns, trustAllStatements } from '../support/sharing.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

trustAllStatements()
const runs = countSharedRuns()
const seed = testSeed()

const asAdmin = async (text: string): Promise<void> => {
  const { port } = await readCluster()
  await withClient(uriOf(port, 'postgres'), (client) => client.query(text))
}
await asAdmin(`
  create role sharing_anon nologin;
  create role sharing_user nologin;
  create role sharing_hasty nologin;
  create role sharing_server login password 'sharing' noinherit;
  grant sharing_anon, sharing_user, sharing_hasty to sharing_server;
  alter role sharing_hasty set statement_timeout = '1s';
  alter role sharing_anon set default_transaction_isolation = 'repeatable read'`)

async function createNotes(): Promise<TestDatabase> {
  const database = await createDatabase()
  await database.query(`
    create schema api;
    grant usage on schema api to sharing_anon, sharing_user, sharing_hasty;
    create function api.caller() returns text stable language sql as
      $$ select current_setting('request.jwt.claims', true)::json->>'sub' $$;
    create table api.notes (owner text default api.caller(), id int, body text, times int default 0, primary key (owner, id));
    create view api.noted with (security_invoker) as select id, body, clock_timestamp() is not null as now from api.notes;
    alter table api.notes enable row level security;
    create policy own on api.notes using (owner = api.caller());
    create function api.nap(seconds float) returns int volatile language sql as $$ select 1 from pg_sleep(seconds) $$;
    create function api.divide(a int, b int) returns int stable language sql as $$ select a / b $$;
    create function api.refuse(state text) returns int stable language plpgsql as
      $$ begin raise exception 'refused' using errcode = state; end $$;
    create table api.locked (id int primary key, times int);
    insert into api.locked values (1, 0);
    grant select, insert, update, delete on all tables in schema api to sharing_anon, sharing_user, sharing_hasty`)
  return database
}

/** Selects the backend that sleeps in `api.nap`. */
const sleepers = "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"

const databases: TestDatabase[] = []
t.teardown(async () => {
  for (const database of databases) await database.drop()
  await asAdmin('drop role sharing_anon, sharing_user, sharing_hasty, sharing_server')
})

async function start(settings: Record<string, string>) {
  const database = await createNotes()
  databases.push(database)
  const application = await startApplication(t, database.uri('sharing_server', 'sharing'), {
    PGRST_DB_SCHEMAS: 'api',
    PGRST_DB_EXTRA_SEARCH_PATH: '',
    PGRST_DB_ANON_ROLE: 'sharing_anon',
    ...settings,
  })
  return { ...application, database }
}

type Request = { readonly method: string; readonly path: string; readonly body?: unknown; readonly prefer?: string }

function generate(random: Random, next: { id: number }): Request {
  const id = random.below(next.id + 3)
  const prefer = random.pick(['return=minimal', 'return=representation', 'return=headers-only', 'count=exact'])
  return random.pick<() => Request>([
    () => ({ method: 'GET', path: `/notes?id=eq.${id}` }),
    () => ({ method: 'GET', path: '/notes?select=id,body,times&order=id', prefer }),
    () => ({ method: 'GET', path: `/noted?id=lte.${id}&order=id`, prefer }),
    () => ({ method: 'GET', path: `/notes?select=unknown${id % 3}` }),
    () => ({ method: 'GET', path: `/notes?id=eq.x${id}` }),
    () => ({ method: 'GET', path: `/rpc/divide?a=${id}&b=${id % 3}` }),
    () => ({ method: 'GET', path: `/rpc/refuse?state=${random.pick(['26000', '42P05', '0A000', 'PT404', '22012'])}` }),
    () => ({ method: 'POST', path: '/notes', body: { id: next.id++, body: `b${id}` }, prefer }),
    () => ({ method: 'POST', path: '/notes', body: { id: next.id++, body: `c${id}` }, prefer }),
    () => ({ method: 'POST', path: '/notes', body: { id, body: 'again' }, prefer }),
    () => ({ method: 'PATCH', path: `/notes?id=eq.${id}`, body: { times: id }, prefer }),
    () => ({ method: 'DELETE', path: `/notes?id=eq.${id}`, prefer }),
  ])()
}

type Crowd = { readonly callers: number; readonly steps: number; readonly pool: string; readonly interrupt?: boolean }

/**
 * Sends generated requests of many callers with and without sharing, and compares the responses.
 *
 * @param crowd `interrupt`: whether other requests occupy the connections of the pool all the time
 */
async function compare(t: Test, { callers, steps, pool, interrupt = false }: Crowd): Promise<void> {
  // A busy machine must not refuse any request, nor end its wait.
  const patient = { LOAD_SHEDDING_WAIT: '0', PGRST_DB_POOL_ACQUISITION_TIMEOUT: '300' }
  const sharing = await start({ ...patient, DB_POOL_SHARING: 'all', PGRST_DB_POOL: pool })
  const servers = [sharing, await start({ ...patient, DB_POOL_SHARING: 'none' })]
  let isDone = false
  const naps = Array.from({ length: interrupt ? Number(pool) : 0 }, async () => {
    while (!isDone) await sharing.call('POST', '/rest/v1/rpc/nap', { body: { seconds: 0.02 } })
  })
  await Promise.all(
    Array.from({ length: callers }, async (_, number) => {
      const caller = `caller${number}`
      const token = await signToken({ role: 'sharing_user', sub: caller })
      const random = seededRandom(seed + number)
      const next = { id: 1 }
      for (let step = 0; step < steps; step++) {
        const { method, path, body, prefer } = generate(random, next)
        const headers = { Authorization: `Bearer ${token}`, ...(prefer === undefined ? {} : { Prefer: prefer }) }
        const [shared, alone] = await Promise.all(
          servers.map(({ call }) => call(method, `/rest/v1${path}`, { body, headers })),
        )
        const label = `seed ${seed} ${caller} step ${step}: ${method} ${path}`
        t.strictSame([shared?.status, shared?.body], [alone?.status, alone?.body], label)
        if (path.startsWith('/notes') && Array.isArray(shared?.body)) {
          t.ok(
            (shared.body as { owner?: string }[]).every(({ owner = caller }) => owner === caller),
            label,
          )
        }
      }
    }),
  )
  isDone = true
  await Promise.all(naps)
}

t.test('sharing on and off: equal responses, and only the caller’s rows', (t) =>
  compare(t, { callers: 16, steps: 50, pool: '4' }),
)

t.test('the same for a crowd that waits for connections together', async (t) => {
  const before = runs.waited
  await compare(t, { callers: 60, steps: 20, pool: '2', interrupt: true })
  t.ok(runs.waited - before > 100, `${runs.waited - before} statements waited together`)
})

t.test('clients that leave, and a connection that is lost, while two users wait together', async (t) => {
  const { url, call, database } = await start({ PGRST_DB_POOL: '1' })
  const [one, other] = await Promise.all(
    ['one', 'other'].map(async (sub) => ({
      sub,
      headers: { Authorization: `Bearer ${await signToken({ role: 'sharing_user', sub })}` },
    })),
  )
  if (!one || !other) throw new Error('two users')
  const post = ({ headers }: typeof one, id: number, signal?: AbortSignal) =>
    fetch(`${url}/rest/v1/notes`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ id, body: 'x' }),
      ...(signal ? { signal } : {}),
    })
  for (const user of [one, other]) t.equal((await post(user, 0)).status, 201)
  while ((await database.query(gates)).rowCount === 0) await post(one, 0)

  // Reads know the shape of their plan before they wait.
  const read = ({ headers }: typeof one) => call('GET', '/rest/v1/notes?select=owner,id&order=id', { headers })
  for (const user of [one, other]) await read(user)
  const before = runs.waited
  const nap = (seconds: number) => call('POST', '/rest/v1/rpc/nap', { body: { seconds } })
  const napping = async (): Promise<boolean> =>
    (await database.query(`${sleepers} and state = 'active'`)).rows.length > 0

  const occupied = nap(5)
  t.ok(await until(napping))
  const leaving = new AbortController()
  const left = [1, 2, 3].map((id) => post(one, id, leaving.signal).catch(() => 'left'))
  const stayed = post(other, 4)
  const reads = Array.from({ length: 20 }, (_, index) => read(index % 2 === 0 ? one : other))
  await pause(200)
  leaving.abort()
  t.strictSame(await Promise.all(left), ['left', 'left', 'left'])
  t.equal((await occupied).status, 200)
  t.equal((await stayed).status, 201)
  for (const [index, { status, body }] of (await Promise.all(reads)).entries()) {
    const { sub } = index % 2 === 0 ? one : other
    const rows = body as { owner: string }[]
    t.equal(status, 200)
    t.ok(rows.length > 0 && rows.every(({ owner }) => owner === sub), `only rows of ${sub}`)
  }
  const stored = async () => (await database.query('select owner, id from api.notes order by id, owner')).rows
  const expected = [
    { owner: 'one', id: 0 },
    { owner: 'other', id: 0 },
    { owner: 'other', id: 4 },
  ]
  t.strictSame(await stored(), expected, 'the writes of clients that left did not begin')

  const lost = nap(30)
  t.ok(await until(napping))
  const waiting = [...Array.from({ length: 10 }, (_, index) => read(index % 2 === 0 ? one : other))]
  const written = post(one, 5)
  await pause(100)
  await database.query(`select pg_terminate_backend(pid) from (${sleepers}) as napping`)
  t.match(await lost, { status: 503 })
  for (const { status } of await Promise.all(waiting)) t.equal(status, 200)
  t.equal((await written).status, 201)
  t.strictSame(await stored(), [...expected, { owner: 'one', id: 5 }])
  t.ok(runs.waited - before > 20, `${runs.waited - before} statements waited together`)
})

t.test('errors of a role with its own isolation level leave the connections usable', async (t) => {
  const { call } = await start({ PGRST_DB_POOL: '3' })
  const statuses: number[] = []
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all([1, 2, 3].map(() => call('GET', '/rest/v1/notes?select=unknown')))
    statuses.push(...answers.map(({ status }) => status))
  }
  t.strictSame([...new Set(statuses)], [400])
  const token = await signToken({ role: 'sharing_user', sub: 'x' })
  for (let time = 0; time < 10; time++) {
    t.equal((await call('GET', '/rest/v1/notes', { headers: { Authorization: `Bearer ${token}` } })).status, 200)
    t.equal((await call('GET', '/rest/v1/notes')).status, 200)
  }
  t.equal((await call('GET', '/ready')).status, 200)
})

t.test('writes behind a lock get their own timeout', async (t) => {
  const { call, database } = await start({ PGRST_DB_POOL: '30' })
  const token = await signToken({ role: 'sharing_hasty', sub: 'x' })
  const patch = () =>
    call('PATCH', '/rest/v1/locked?id=eq.1', { body: { times: 1 }, headers: { Authorization: `Bearer ${token}` } })
  while ((await database.query(gates)).rowCount === 0) await patch()
  // Opens the connections that the following statements use.
  await Promise.all(Array.from({ length: 24 }, patch))
  await withClient(database.adminUri, async (client) => {
    await client.query('begin')
    await client.query('select from api.locked for update')
    const spreads: number[] = []
    // A timeout for each position in the queue would be twenty seconds, every time.
    for (let attempt = 0; attempt < 5 && spreads.every((spread) => spread >= 10_000); attempt++) {
      const times = await Promise.all(
        Array.from({ length: 20 }, async () => {
          t.match(await patch(), { status: 500, body: { code: '57014' } })
          return performance.now()
        }),
      )
      spreads.push(Math.max(...times) - Math.min(...times))
    }
    t.ok(
      Math.min(...spreads) < 10_000,
      `the last of 20 was answered ${spreads.map(Math.round).join()} ms after the first`,
    )
    await client.query('rollback')
  })
})

t.test('reads on a lost connection are run once more', async (t) => {
  const { call, database } = await start({ PGRST_DB_POOL: '4' })
  const token = await signToken({ role: 'sharing_user', sub: 'x' })
  const headers = { Authorization: `Bearer ${token}` }
  let isDone = false
  const statuses: number[] = []
  const work = async (): Promise<void> => {
    while (!isDone) statuses.push((await call('GET', '/rest/v1/notes?select=id', { headers })).status)
  }
  const working = Promise.all(Array.from({ length: 8 }, work))
  for (let round = 0; round < 10; round++) {
    await database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'sharing_server' and query ilike '%api%notes%' and datname = current_database()",
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  isDone = true
  await working
  t.strictSame([...new Set(statuses)], [200], `of ${statuses.length} reads`)
})
