// Attacks on writes that run triggers, while the server encodes their rows: nothing runs twice, and what triggers have set belongs to
// the request that they ran for.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { countCollectedBodies } from '../support/collected-bodies.ts'
import { startCuttingProxy } from '../support/cut-connection.ts'
import { createDatabase } from '../support/database.ts'
import { countEncodedResults, untilCached } from '../support/rows-comparison.ts'
import { countSharedRuns, trustAllStatements } from '../support/sharing.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'
import { startWritesComparison } from '../support/written-rows.ts'

const MiB = 1024 ** 2
const database = await createDatabase()
t.teardown(() => database.drop())
const role = `writer_${database.name}`
await database.query(`
  create role ${role};
  create sequence runs;
  create table papers (n text, text text not null default repeat('a', 1000));
  create function mark() returns trigger language plpgsql security definer as $$
  declare
    me text := coalesce(current_setting('request.jwt.claims', true)::json ->> 'sub', 'nameless');
  begin
    -- Sequences keep what has run, whether it was committed or not.
    perform nextval('runs');
    perform set_config('response.headers', json_build_array(json_build_object('X-Me', me))::text, true);
    if me = 'odd' then perform set_config('response.status', '202', true); end if;
    if new.n = 'raise' then raise 'no'; end if;
    if new.n = 'end' then perform pg_terminate_backend(pg_backend_pid()); end if;
    return new;
  end $$;
  create trigger mark before insert on papers for each row execute function mark();
  create table plain (n text);
  grant all on all tables in schema public to ${role}`)
t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))

let isSharing = false
trustAllStatements(() => isSharing)
const shared = countSharedRuns()
const collected = countCollectedBodies()
const encoded = countEncodedResults()
const env = { PGRST_DB_ANON_ROLE: role, PGRST_DB_POOL: '1', REST_BASE_PATH: '/', PGRST_LOG_LEVEL: 'crit' }
const headers = { Prefer: 'return=representation' }

/** How many rows the trigger has seen since the last call. */
async function runs(): Promise<number> {
  const { rows } = await database.query(`
    select case when is_called then last_value else 0 end::int as runs, setval('runs', 1, false) from runs`)
  return Number(rows[0]?.runs)
}

const count = async (): Promise<number> =>
  Number((await database.query('select count(*)::int as count from papers')).rows[0]?.count)

const numbered = (length: number, last?: string): { n: string }[] =>
  Array.from({ length }, (_, n) => ({ n: n === length - 1 && last !== undefined ? last : String(10_000 + n) }))

t.test('users on one connection, whose triggers set headers and status', async (t) => {
  for (const sharing of [false, true]) {
    isSharing = sharing
    const { call } = await startApplication(t, database.adminUri, env)
    const before = [encoded.results, shared.writes] as const
    const write = async (n: number): Promise<void> => {
      const me = n % 3 === 0 ? 'odd' : `user${n}`
      const own = { ...headers, Authorization: await bearer(role, { sub: me }) }
      const path = n % 4 === 0 ? '/plain' : '/papers?select=n'
      const response = await call('POST', path, { body: { n: String(n) }, headers: own })
      t.strictSame(response.body, [{ n: String(n) }])
      t.equal(response.headers.get('x-me'), n % 4 === 0 ? null : me)
      t.equal(response.status, n % 4 !== 0 && me === 'odd' ? 202 : 201)
    }
    for (let time = 0; time < untilCached; time++) await Promise.all(Array.from({ length: 60 }, (_, n) => write(n)))
    t.equal(encoded.results - before[0], 60 * untilCached, 'every result is encoded')
    t.equal(shared.writes > before[1], sharing, 'connections are shared')
  }
})

t.test('an error of the last row, after 3 MiB of rows', async (t) => {
  for (const sharing of [false, true]) {
    isSharing = sharing
    const { call } = await startApplication(t, database.adminUri, env)
    await database.query('truncate papers')
    for (let time = 0; time <= untilCached; time++) {
      await runs()
      const refused = await call('POST', '/papers', { body: numbered(3000, 'raise'), headers })
      t.equal(refused.status, 400)
      t.equal(refused.headers.get('x-me'), null)
      t.equal(await runs(), 3000, 'it ran once')
      t.equal(await count(), 0)
    }
    const { status, body } = await call('POST', '/papers', { body: numbered(3000), headers })
    t.strictSame([status, (body as unknown[]).length], [201, 3000])
    t.ok(await collected.isFree(), 'nothing is kept')
  }
})

t.test('a connection that is lost after the last row, before what the triggers have set', async (t) => {
  const rows = 4000
  // Length, number of columns, and the lengths of three of them, of which the first is null.
  const bytesOfRow = 1 + 4 + 2 + 3 * 4 + 5 + 1000
  for (const sharing of [false, true]) {
    isSharing = sharing
    const { uri, cutAfter, cuts } = await startCuttingProxy(t, database.adminUri)
    const { call, service } = await startApplication(t, uri, env)
    const add = (): ReturnType<typeof call> => call('POST', '/papers?select=n,text', { body: numbered(rows), headers })
    for (let time = 0; time <= untilCached; time++) t.equal((await add()).status, 201)
    for (const [place, bytes] of [
      ['D', rows * bytesOfRow],
      ['D', 3 * MiB],
      ['C', 3 * MiB],
    ] as const) {
      await database.query('truncate papers')
      await runs()
      const before = cuts()
      cutAfter(place, bytes)
      t.ok((await add()).status >= 500)
      t.ok(await until(() => cuts() === before + 1), 'the connection was lost')
      t.equal(await runs(), rows, 'it ran once')
      t.ok([0, rows].includes(await count()), 'all rows or none')
      t.ok(await collected.isFree(), 'nothing is kept')
    }
    const { database: served } = service
    t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
  }
})

t.test('a backend that ends in a trigger', async (t) => {
  for (const sharing of [false, true]) {
    isSharing = sharing
    const { call } = await startApplication(t, database.adminUri, env)
    await database.query('truncate papers')
    for (let time = 0; time <= untilCached; time++) {
      await runs()
      t.ok((await call('POST', '/papers', { body: numbered(2500, 'end'), headers })).status >= 500)
      t.equal(await runs(), 2500, 'it ran once')
      t.equal(await count(), 0)
    }
    const { status, headers: received } = await call('POST', '/plain', { body: { n: 'x' }, headers })
    t.strictSame([status, received.get('x-me')], [201, null])
  }
})

t.test('changes of a table that the server does not know of', async (t) => {
  await database.query(`
    create table changing (id int primary key, a text);
    grant all on changing to ${role};
    create function change() returns trigger language plpgsql as $$
      begin perform set_config('response.status', '202', true); new.a := new.a || '!'; return new; end $$;
    create trigger change before insert or update on changing for each row execute function change()`)
  const { call } = await startApplication(t, database.adminUri, { ...env, PGRST_DB_CHANNEL_ENABLED: 'false' })
  let id = 0
  for (const [change, more] of [
    ['select', {}],
    [
      "alter table changing add more jsonb default '{\"a\": 1}', add day date default '2024-02-29'",
      { more: { a: 1 }, day: '2024-02-29' },
    ],
    ['alter table changing drop more, add numbers int[] default array[1]', { day: '2024-02-29', numbers: [1] }],
    ['alter table changing drop day, drop numbers', {}],
  ] as const) {
    await database.query(change)
    for (let time = 0; time <= untilCached; time++) {
      const before = encoded.results
      const { status, body } = await call('POST', '/changing', { body: { id: ++id, a: 'x' }, headers })
      t.strictSame([status, body], [202, [{ id, a: 'x!', ...more }]])
      t.equal(encoded.results, before + 1)
    }
  }
  const { rows } = await database.query('select count(*)::int as count from changing')
  t.equal(rows[0]?.count, id, 'every row was written once')
})

t.test('beside a service for which Postgres writes the JSON', async (t) => {
  isSharing = false
  const { compare, rows, callers } = await startWritesComparison(t, ['written-rows', 'triggered-rows'])
  const write = (method: string, path: string, body: unknown, more: Record<string, string> = {}) => ({
    method,
    path,
    headers: { 'Content-Type': 'application/json', Authorization: callers[0] ?? '', ...headers, ...more },
    body: JSON.stringify(body),
  })
  const object = { Accept: 'application/vnd.pgrst.object+json' }
  const few = { Prefer: 'return=representation, handling=strict, max-affected=1' }
  const many = (length: number, note: string): object[] => Array.from({ length }, (_, n) => ({ id: 100 + n, note }))
  for (const [request, status] of [
    [write('POST', '/reacted', many(3, 'x'), object), 406],
    [write('POST', '/reacted', many(3, 'x')), 201],
    [write('PATCH', '/reacted?id=gte.100', { note: 'teapot' }, few), 400],
    [write('PATCH', '/reacted?id=gte.100', { note: 'teapot' }, object), 406],
    [write('PATCH', '/reacted?id=gte.100', { note: 'teapot' }), 418],
    [write('PATCH', '/reacted?id=gte.100&order=id.desc&limit=1', { note: 'German' }), 200],
    [write('PATCH', '/reacted?id=eq.100', { note: 'skipped' }), 200],
    [write('PATCH', '/reacted?id=eq.100', { note: 'skipped' }, object), 406],
    [
      write(
        'POST',
        '/reacted',
        { id: 100, note: 'merged' },
        { Prefer: `${headers.Prefer}, resolution=merge-duplicates` },
      ),
      200,
    ],
    [write('PUT', '/reacted?id=eq.100', { id: 100, note: 'put' }), 200],
    [write('PUT', '/reacted?id=eq.200', { id: 200, note: 'put' }), 201],
    [write('PUT', '/reacted?id=eq.201', { id: 202, note: 'put' }), 400],
    [write('POST', '/reacted?select=', { id: 90, note: 'x' }), 201],
    [write('DELETE', '/reacted?select=&id=eq.90', undefined), 200],
    [write('POST', '/afterwards', { id: 1, note: 'teapot' }), 201],
    [write('POST', '/afterwards', { id: 2, note: 'again' }), 201],
    [write('POST', '/afterwards', { id: 3, note: 'no json' }), 201],
    [write('POST', '/afterwards', { id: 4, note: 'paid' }), 402],
    [write('POST', '/by_statement', { id: 1, note: 'x' }), 201],
    [write('POST', '/deferred', { id: 1, note: 'teapot' }), 201],
    [write('POST', '/deferred', { id: 2, note: 'paid' }), 402],
    [write('PATCH', '/heads?id=eq.1&select=*,followers(*)', { id: 9 }), 200],
    [write('DELETE', '/heads?id=eq.9&select=*,followers(*)', undefined), 200],
    [write('POST', '/instead', { id: 1, note: 'teapot' }), 418],
    [write('POST', '/by_rule', { id: 1, note: 'x' }), 201],
    [write('POST', '/allowed', { id: 50, owner: 'bob', note: 'teapot' }), 403],
    [write('POST', '/allowed', { id: 50, owner: 'ann', note: 'teapot' }), 418],
    [
      write('DELETE', '/reacted?id=gte.100&select=note,moment,day', undefined, {
        Prefer: 'return=representation, tx=rollback',
      }),
      200,
    ],
    [write('DELETE', '/reacted?id=gte.100&select=note,moment,day', undefined), 200],
  ] as const) {
    // prettier-ignore
    const { difference, status: found } = await compare(request)
    if (difference !== undefined) t.fail(difference.slice(0, 4000))
    t.equal(found, status, `${request.method} ${request.path} ${request.body}`)
  }
  for (const [last, expected] of [
    ['x', 200],
    ['paid', 402],
    ['teapot', 418],
  ] as const) {
    const requests = ['quiet', 'x', 'quiet', last].map((note, n) => ({
      id: `p${n}`,
      method: 'POST',
      url: '/reacted',
      headers: { prefer: headers.Prefer },
      body: [{ id: 300 + n, note }],
    }))
    const { difference, status } = await compare(write('POST', '/$batch', { requests }))
    if (difference !== undefined) t.fail(difference.slice(0, 4000))
    t.equal(status, expected)
    await compare(write('DELETE', '/reacted?id=gte.300', undefined))
  }
  for (const table of [
    'reacted',
    'afterwards',
    'by_statement',
    'deferred',
    'heads',
    'followers',
    'keyless',
    'allowed',
  ]) {
    const [one, other] = await rows(table)
    t.equal(one, other, table)
  }
})
