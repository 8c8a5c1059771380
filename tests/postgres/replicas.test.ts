// Reads on replicas, with a real primary and two standbys.
import t, { type Test } from 'tap'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { createRest, type RestOptions } from '../../server/index.ts'
import { connect, type ConnectOptions, type ReplicaEvent } from '../../server/postgres/index.ts'
import type { ReplicatedDatabase } from '../../server/postgres/replicas/replicated-database.ts'
import type { ReplicaStatistics } from '../../server/postgres/replicas/replica.ts'
import { linksOf } from '../support/page-walk.ts'
import { PositionTokens } from '../../server/rest/extensions/read-your-writes/position-token.ts'
import { startReplication } from '../support/replication.ts'
import { until } from '../support/until.ts'

const { primary, standbys } = await startReplication(t, 2)
const [first, second] = standbys as [typeof primary, typeof primary]
const both = [first, second]
await primary.query(`
  create role login login noinherit password 'login';
  create role reader nologin;
  create role strict nologin;
  create role serial nologin;
  create role odd nologin;
  alter role strict set pgrst.read = 'primary';
  alter role odd set pgrst.read = 'sometimes';
  alter role serial set default_transaction_isolation = 'serializable';
  grant reader, strict, serial, odd to login;
  create table public.items (id int primary key, name text, owner text);
  alter table public.items enable row level security;
  create policy own on public.items using (owner is null or owner = current_setting('request.jwt.claims')::json ->> 'sub');
  grant all on public.items to reader, strict, serial, odd;
  create function public.port() returns int stable language sql as $$ select inet_server_port() $$;
  create function public.volatile_port() returns int volatile language sql as $$ select inet_server_port() $$;
  create function public.needs_primary() returns int stable language plpgsql as
    $$ begin perform pg_current_wal_lsn(); return inet_server_port(); end $$;
  create function public.slow(seconds float) returns int stable language plpgsql as
    $$ begin perform pg_sleep(seconds); return inet_server_port(); end $$;
  create function public.slow_row(item public.items) returns int stable language plpgsql as
    $$ begin perform pg_sleep(0.4); return 1; end $$`)

type Rest = {
  readonly ask: (path: string, init?: RequestInit & { readonly as?: string }) => Promise<Response>
  readonly port: (init?: RequestInit & { readonly as?: string }) => Promise<number>
  readonly statistics: () => readonly ReplicaStatistics[]
  readonly events: readonly ReplicaEvent[]
  readonly reload: () => Promise<void>
}

const secret = 'a secret of the tests, long enough for positions'

async function start(t: Test, options: ConnectOptions = {}, more: Partial<RestOptions> = {}): Promise<Rest> {
  const events: ReplicaEvent[] = []
  const database = connect(primary.uri('login:login'), {
    replicas: both.map(({ uri }) => uri('login:login')),
    onReplica: (event) => events.push(event),
    ...options,
  })
  const rest = await createRest({
    database,
    schemas: ['public'],
    identify: (request) => ({
      role: request.header('x-role') ?? 'reader',
      claims: { sub: request.header('x-sub') ?? 'somebody' },
    }),
    cursorSecrets: [secret],
    ...more,
  })
  t.teardown(async () => {
    await rest.close()
    await database.close()
  })
  const handle = fetchHandler(rest)
  const ask: Rest['ask'] = (path, { as = 'reader', headers, ...init } = {}) =>
    handle(
      new Request(`http://localhost${path}`, {
        ...init,
        headers: { 'x-role': as, 'content-type': 'application/json', ...(headers as Record<string, string>) },
      }),
    )
  const replicated = database as unknown as ReplicatedDatabase
  const statistics = (): readonly ReplicaStatistics[] => replicated.statistics
  if (options.replicas?.length !== 0) {
    t.ok(await until(() => statistics().some(({ isUsable }) => isUsable)), 'a replica is usable')
  }
  return {
    ask,
    port: async (init) => (await (await ask('/rpc/port', init)).json()) as number,
    statistics,
    events,
    reload: () => rest.reload(),
  }
}

const ports = both.map(({ port }) => port)
const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers,
})

t.test('reads go to the replicas in turn, everything else to the primary', async (t) => {
  const rest = await start(t)
  await until(() => rest.statistics().every(({ isUsable }) => isUsable))
  const seen = new Set<number>()
  for (let time = 0; time < 6; time++) seen.add(await rest.port())
  t.strictSame([...seen].sort(), [...ports].sort())
  t.ok(ports.includes(await rest.port(post({}))), 'a stable function that is called with POST')
  t.equal(await (await rest.ask('/rpc/volatile_port', post({}))).json(), primary.port, 'a volatile function')
  t.equal(await rest.port({ headers: { prefer: 'read=primary' } }), primary.port)
  const preferred = await rest.ask('/rpc/port', { headers: { prefer: 'read=primary' } })
  t.equal(preferred.headers.get('preference-applied'), 'read=primary')
  t.equal(preferred.headers.get('rowhouse-position'), null, 'reads have no position')
  t.equal(await rest.port({ as: 'strict' }), primary.port, 'a role that reads from the primary')
  t.equal(await rest.port({ as: 'serial' }), primary.port, 'a serializable role')
  t.ok(ports.includes(await rest.port({ as: 'odd' })), 'an invalid setting is ignored')
  t.equal((await rest.ask('/items', { method: 'HEAD' })).status, 200)
  t.ok(rest.statistics().every(({ reruns }) => reruns === 0))
})

t.test('an error of a replica is answered by the primary', async (t) => {
  const rest = await start(t)
  t.equal(await (await rest.ask('/rpc/needs_primary')).json(), primary.port, 'a function that fails during recovery')
  t.equal(
    rest.statistics().reduce((sum, { reruns }) => sum + reruns, 0),
    1,
  )
  for (const standby of both) await standby.query('select pg_wal_replay_pause()')
  await primary.query(`create role late nologin; grant late to login; grant all on public.items to late`)
  await primary.query(
    'create table public.later (id int); grant all on public.later to late, reader; insert into public.later values (1)',
  )
  t.equal(await rest.port({ as: 'late' }), primary.port, 'a role that the replica lacks')
  await rest.reload()
  const response = await rest.ask('/later', { as: 'late' })
  t.strictSame(await response.json(), [{ id: 1 }], 'a table that the replica lacks')
  t.equal((await rest.ask('/items?id=eq.x')).status, 400, 'an error of the request')
  for (const standby of both) await standby.query('select pg_wal_replay_resume()')
})

t.test('a client sees its own writes on a lagging replica', async (t) => {
  const rest = await start(t, { replicaWait: 20 })
  await until(() => rest.statistics().every(({ isUsable }) => isUsable))
  await first.query('select pg_wal_replay_pause()')
  await second.query('select pg_wal_replay_pause()')
  t.teardown(() => Promise.all(both.map(({ query }) => query('select pg_wal_replay_resume()'))))
  const other = await rest.ask('/items?id=eq.1&select=id')
  t.strictSame(await other.json(), [])
  const created = await rest.ask('/items', post({ id: 1, name: 'one' }))
  t.equal(created.status, 201)
  const position = created.headers.get('rowhouse-position') ?? ''
  const cookie = created.headers.get('set-cookie') ?? ''
  t.match(position, /^1\./)
  t.equal(cookie, `rowhouse-position=${position}; Path=/; Max-Age=70; HttpOnly; SameSite=Lax; Secure`)
  const ids = async (headers: Record<string, string>): Promise<unknown> =>
    (await rest.ask('/items?id=eq.1&select=id', { headers })).json()
  t.strictSame(await ids({}), [], 'another client reads from a replica')
  t.strictSame(await ids({ 'rowhouse-position': position }), [{ id: 1 }])
  t.strictSame(await ids({ cookie: `other=1; rowhouse-position=${position}` }), [{ id: 1 }])
  t.strictSame(await ids({ 'rowhouse-position': `${position.slice(0, -1)}!` }), [], 'a malformed position')
  const forged = position.replace(/^1\.\w+\.\w+/, '1.1.ffffffff')
  t.strictSame(await ids({ 'rowhouse-position': forged }), [], 'a forged position is no position')
  const old = await rest.ask('/items?id=eq.2', { method: 'DELETE' })
  t.strictSame(
    await ids({ 'rowhouse-position': 'nonsense', cookie: `rowhouse-position=${old.headers.get('rowhouse-position')}` }),
    [{ id: 1 }],
    'the valid one counts',
  )

  const tag =
    (await rest.ask('/items?id=eq.1', { headers: { 'rowhouse-position': position } })).headers.get('etag') ?? ''
  const changed = await rest.ask('/items?id=eq.1', {
    method: 'PATCH',
    body: '{"name":"uno"}',
    headers: { 'if-match': tag },
  })
  t.equal(changed.status, 204)
  const refused = await rest.ask('/items?id=eq.1', {
    method: 'PATCH',
    body: '{"name":"eins"}',
    headers: { 'if-match': tag },
  })
  t.equal(refused.status, 412, 'a tag of an older version')
  t.equal(refused.headers.get('rowhouse-position'), null, 'nothing was written')
  const undone = await rest.ask('/rpc/volatile_port', post({}, { prefer: 'tx=rollback' }))
  t.ok(undone.headers.get('rowhouse-position'), 'clients may not roll back')

  await first.query('select pg_wal_replay_resume()')
  await second.query('select pg_wal_replay_resume()')
  const after = { 'rowhouse-position': changed.headers.get('rowhouse-position') ?? '' }
  t.ok(await until(async () => ports.includes(await rest.port({ headers: after }))), 'replicas that have caught up')
  const names = await rest.ask('/items?id=eq.1&select=name', { headers: after })
  t.strictSame(await names.json(), [{ name: 'uno' }])
  const crossOrigin = await rest.ask('/items?id=eq.9', { method: 'DELETE', headers: { origin: 'https://a.example' } })
  t.match(crossOrigin.headers.get('access-control-expose-headers'), /Rowhouse-Position/)
})

t.test('positions that this process did not issue, and a flood of them', async (t) => {
  const wait = 400
  const rest = await start(t, { replicaWait: wait })
  await until(() => rest.statistics().every(({ isUsable }) => isUsable))
  const soon = Math.ceil(Date.now() / 1000) + 600
  const tokens = (text: string): PositionTokens => new PositionTokens([Buffer.from(text)])
  const huge = { timeline: 1, lsn: 2n ** 63n }
  const isOnPrimary = async (position: string, { port } = rest): Promise<boolean> =>
    (await port({ headers: { 'rowhouse-position': position } })) === primary.port
  t.ok(await isOnPrimary(tokens(secret).seal(huge, soon)), 'another process with the same secret')
  for (const ignored of [tokens('another secret').seal(huge, soon), tokens(secret).seal(huge, soon - 601)]) {
    t.notOk(await isOnPrimary(ignored), 'signed with another secret, or expired')
  }
  const patient = await start(t, { replicaWait: 3_600_000 })
  await until(() => patient.statistics().every(({ isUsable }) => isUsable))
  const elsewhere = tokens(secret).seal({ timeline: 99, lsn: 1n }, soon)
  t.ok(await isOnPrimary(elsewhere, patient), 'no replica is on this timeline: nothing to wait for')

  const position = tokens(secret).seal(huge, soon)
  const before = process.memoryUsage().heapUsed
  const started = performance.now()
  const flood = Array.from({ length: 300 }, async () => {
    const response = await rest.ask('/rpc/port', { headers: { 'rowhouse-position': position } })
    return `${response.status} ${await response.text()}`
  })
  const others = Array.from({ length: 20 }, () => rest.port())
  for (const port of await Promise.all(others)) t.ok(ports.includes(port), 'other reads are answered by replicas')
  t.comment(`${Math.round((process.memoryUsage().heapUsed - before) / flood.length / 1024)} KiB for each waiting read`)
  const refused = (answer: string): boolean => /^503 .*"PGRSTX04"/.test(answer)
  const answers = await Promise.all(flood)
  t.ok(
    answers.every((answer) => answer === `200 ${primary.port}` || refused(answer)),
    'the primary answers, or its queue refuses',
  )
  const duration = Math.round(performance.now() - started)
  t.comment(`${answers.length} answers within ${duration} ms, ${answers.filter(refused).length} of them 503`)
  t.ok(ports.includes(await rest.port()))
  t.ok(rest.statistics().every(({ isUsable }) => isUsable))
})

t.test('a write and the read after it, again and again', async (t) => {
  const rest = await start(t, { replicaWait: 1000 })
  const client = async (id: number): Promise<number> => {
    let stale = 0
    await rest.ask('/items', post({ id, name: '0' }))
    for (let number = 1; number <= 25; number++) {
      const written = await rest.ask(`/items?id=eq.${id}`, {
        method: 'PATCH',
        body: JSON.stringify({ name: String(number) }),
      })
      const headers = { 'rowhouse-position': written.headers.get('rowhouse-position') ?? '' }
      const read = await rest.ask(`/items?id=eq.${id}&select=name`, { headers })
      const [row] = (await read.json()) as { name: string }[]
      if (row?.name !== String(number)) stale++
    }
    return stale
  }
  const stale = await Promise.all(Array.from({ length: 8 }, (_, index) => client(1000 + index)))
  t.strictSame(
    stale,
    stale.map(() => 0),
  )
  const reads = rest.statistics().reduce((sum, it) => sum + it.reads, 0)
  t.ok(reads > 100, `${reads} of 200 reads ran on a replica`)
  t.ok(
    rest.statistics().every(({ reruns }) => reruns === 0),
    'none of them again',
  )
})

t.test('batches and rows of several users', async (t) => {
  const rest = await start(t)
  await primary.query(`insert into public.items values (51, 'a', 'ann'), (52, 'b', 'ben')`)
  const batch = await rest.ask(
    '/$batch',
    post(
      { requests: [{ id: '1', method: 'POST', url: '/items', body: { id: 53, name: 'c', owner: 'ann' } }] },
      { 'x-sub': 'ann' },
    ),
  )
  t.equal(batch.status, 200)
  const headers = { 'rowhouse-position': batch.headers.get('rowhouse-position') ?? '' }
  t.ok(headers['rowhouse-position'])
  const rows = async (sub: string): Promise<unknown> =>
    (await rest.ask('/items?id=in.(51,52,53)&select=id&order=id', { headers: { ...headers, 'x-sub': sub } })).json()
  t.strictSame(await rows('ann'), [{ id: 51 }, { id: 53 }])
  t.strictSame(await rows('ben'), [{ id: 52 }])
  const reading = await rest.ask('/$batch', post({ requests: [{ id: '1', method: 'GET', url: '/items?id=eq.51' }] }))
  t.equal(reading.headers.get('rowhouse-position'), null, 'a batch of reads has no position')
  await until(async () => ((await rows('ann')) as unknown[]).length === 2)
  const page = await rest.ask('/items?id=in.(51,53)&select=id&limit=1&order=id', {
    headers: { ...headers, 'x-sub': 'ann', prefer: 'pagination=keyset' },
  })
  const { next = '' } = linksOf(page.headers.get('link'), '/items')
  const following = await rest.ask(next, { headers: { ...headers, 'x-sub': 'ann' } })
  t.strictSame(await following.json(), [{ id: 53 }], 'the next page')
  const exported = await rest.ask('/items?id=in.(51,53)&select=id&order=id', {
    headers: { ...headers, 'x-sub': 'ann', accept: 'application/x-ndjson' },
  })
  t.equal(await exported.text(), '{"id":51}\n{"id":53}\n')
  const imported = await rest.ask('/items', {
    method: 'POST',
    body: '{"id":61}\n{"id":62}\n',
    headers: { 'content-type': 'application/x-ndjson' },
  })
  t.equal(imported.status, 201)
  t.ok(imported.headers.get('rowhouse-position'), 'an import has a position')
})

t.test('a recovery conflict is no failed read', async (t) => {
  const rest = await start(t, { replicas: [first.uri('login:login')] })
  await until(() => rest.statistics()[0]?.isUsable === true)
  const before = rest.statistics()[0]?.reruns ?? 0
  const reading = rest.ask('/items?select=id,slow_row&limit=2&order=id')
  const running = `select from pg_stat_activity where state = 'active' and query like '%slow_row%' and pid <> pg_backend_pid()`
  t.ok(await until(async () => (await first.query(running)).length > 0), 'it runs on the standby')
  // The standby cancels queries that hold a lock on the relation.
  await primary.query('alter table public.items add column more int')
  const response = await reading
  t.equal(response.status, 200)
  t.equal(((await response.json()) as unknown[]).length, 2)
  t.equal((rest.statistics()[0]?.reruns ?? 0) - before, 1, 'it ran again')
  t.ok(await until(() => rest.statistics()[0]?.isUsable === true), 'the replica is still used')
})

t.test('a replica that lags too much is left out', async (t) => {
  const rest = await start(t, { replicaMaxLag: 1 })
  await until(() => rest.statistics().every(({ isUsable }) => isUsable))
  await first.query('select pg_wal_replay_pause()')
  t.teardown(() => first.query('select pg_wal_replay_resume()'))
  await primary.query(`insert into public.items values (71)`)
  const name = `127.0.0.1:${first.port}`
  t.ok(
    await until(() => rest.events.some(({ replica, reason }) => replica === name && reason?.includes('lags') === true)),
  )
  for (let time = 0; time < 4; time++) t.equal(await rest.port(), second.port)
  await first.query('select pg_wal_replay_resume()')
  t.ok(await until(() => rest.statistics().every(({ isUsable }) => isUsable)), 'it is used again')
})

t.test('a replica that stops responding, and one that is killed, cost no read', async (t) => {
  const rest = await start(t)
  await until(() => rest.statistics().every(({ isUsable }) => isUsable))
  let isOver = false
  const statuses = new Map<number, number>()
  const load = Array.from({ length: 6 }, async () => {
    while (!isOver) {
      const { status } = await rest.ask('/items?select=id&limit=5')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  const name = `127.0.0.1:${second.port}`
  const isLost = (): boolean => rest.statistics().find((it) => it.name === name)?.isUsable === false
  const thaw = await second.freeze()
  t.ok(await until(isLost), 'it is noticed')
  thaw()
  t.ok(await until(() => !isLost()), 'it is used again')
  await second.kill()
  t.ok(await until(isLost), 'it is noticed')
  await new Promise((resolve) => setTimeout(resolve, 200))
  isOver = true
  await Promise.all(load)
  t.strictSame([...statuses.keys()], [200], JSON.stringify([...statuses]))
  await second.start()
  t.ok(await until(() => !isLost()), 'it is used again')
})

t.test('a promoted standby and another database are not used', async (t) => {
  await primary.query('create database other')
  const rest = await start(t, { replicas: [primary.uri('login:login'), first.uri('login:login')] })
  t.ok(await until(() => rest.events.some(({ reason }) => reason === 'it is not a standby')))
  for (let time = 0; time < 4; time++) t.equal(await rest.port(), first.port)
  await until(async () => (await first.query(`select from pg_database where datname = 'other'`)).length === 1)
  const wrong = await start(t, {
    replicas: [first.uri('login:login'), second.uri('login:login').replace('/postgres', '/other')],
  })
  t.ok(await until(() => wrong.events.some(({ reason }) => reason === 'it is not a replica of the same database')))
  await second.query('select pg_promote()')
  const event = (): boolean => wrong.events.some(({ reason }) => reason === 'it is not a standby')
  t.ok(await until(event), 'the promotion is noticed')
  t.equal(await wrong.port(), first.port)
})
