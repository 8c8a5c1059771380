// Errors, sizes, changes of the schema, and clients that leave or are slow, while the server encodes rows: responses stay those
// of a service for which Postgres writes the JSON.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { createDatabase } from '../support/database.ts'
import {
  countEncodedResults,
  startRowsComparison,
  untilCached,
  type RowsComparison,
} from '../support/rows-comparison.ts'
import type { SentRequest } from '../support/sent-request.ts'
import { trustAllStatements } from '../support/sharing.ts'
import { requestSlowly } from '../support/slow-request.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
t.teardown(() => database.drop())
const [anonymous, user] = ['anon', 'user'].map((name) => `${name}_${database.name}`)
if (anonymous === undefined || user === undefined) throw new Error('a role is missing')
await database.query(`
  create role ${anonymous}; create role ${user};
  create function failing(at int) returns table (n int, quotient int) stable language sql as
    $$ select n, 1 / (n - at) from generate_series(1, 1000) n $$;
  create table threshold (at int);
  insert into threshold values (0);
  create view divided as select n, 1 / (n - (select at from threshold)) as quotient from generate_series(1, 1000) n;
  create function lines(bytes int, lines int) returns table (n int, text text) stable language sql as
    $$ select n, repeat('x', bytes) from generate_series(1, lines) n $$;
  create function controls(bytes int, lines int) returns table (n int, text text) stable language sql as
    $$ select n, repeat(chr(1), bytes) from generate_series(1, lines) n $$;
  create table letters (id int primary key, owner text, text text);
  insert into letters select n, case n % 2 when 0 then 'ann' else 'bob' end, 'for ' || case n % 2 when 0 then 'ann' else 'bob' end || n
    from generate_series(1, 60) n;
  alter table letters enable row level security;
  create policy own on letters using (owner = current_setting('request.jwt.claims', true)::json ->> 'sub');
  create table changing (id int primary key, a text);
  insert into changing values (1, '1'), (2, null), (3, '3');
  create view shown as select id, a from changing;
  create table long (id int primary key, text text);
  insert into long select n, repeat('x', 1000) from generate_series(1, 1000) n;
  grant select on all tables in schema public to ${anonymous}, ${user}`)
t.teardown(() => database.query([anonymous, user].map((role) => `drop owned by ${role}; drop role ${role}`).join('; ')))

/** Whether statements share connections, as soon as their shape is cached. */
let isSharing = false
trustAllStatements(() => isSharing)
const counts = countEncodedResults()

const get = (path: string, headers: SentRequest['headers'] = {}): SentRequest => ({ method: 'GET', path, headers })
const start = (t: Pick<Test, 'teardown'>, pool: number, connections = 1): Promise<RowsComparison> =>
  startRowsComparison(t, database.adminUri, { PGRST_DB_ANON_ROLE: anonymous, PGRST_DB_POOL: String(pool) }, connections)

async function check(t: Test, { difference }: RowsComparison, request: SentRequest, connection = 0): Promise<void> {
  const found = await difference(request, connection)
  if (found !== undefined) t.fail(found)
}

for (const sharing of [false, true]) {
  t.test(`on ${sharing ? 'shared connections' : 'connections of their own'}`, async (t) => {
    isSharing = sharing
    const comparison = await start(t, 2)

    t.test('an error at the first, a middle and the last row', async (t) => {
      for (const at of [0, 1, 500, 1000, 0]) {
        await database.query('update threshold set at = $1', [at])
        for (let time = 0; time <= untilCached; time++) await check(t, comparison, get('/divided'))
        const before = counts.results
        const [{ status, body }] = await comparison.ask(get('/divided'))
        t.equal(status, at === 0 ? 200 : 400)
        t.equal(body.includes('22012'), at > 0)
        t.equal(counts.results > before, at === 0)
      }
      for (const at of [-1, 0, 1, 500, 1000, 500, 0, 1001, 1]) await check(t, comparison, get(`/rpc/failing?at=${at}`))
    })

    t.test('results around the size from which on they are streamed', async (t) => {
      const before = counts.results
      for (let bytes = 65_440; bytes < 65_540; bytes++) {
        await check(t, comparison, get(`/rpc/lines?bytes=${bytes}&lines=1`))
        await check(t, comparison, get(`/rpc/lines?bytes=${bytes}&lines=1`, { Prefer: 'count=exact' }))
      }
      t.ok(counts.results > before + 150, 'they are encoded')
    })

    t.test('results whose size changes from one request to the next', async (t) => {
      const [KiB, MiB] = [1024, 1024 * 1024]
      const sizes = [
        ...[
          [10, 1],
          [1000, 63],
          [1000, 66],
          [100 * KiB, 1],
          [10, 3],
          [100 * KiB, 9],
          [100 * KiB, 11],
          [10, 0],
        ],
        ...[
          [1000, 1040],
          [100 * KiB, 20],
          [100 * KiB, 22],
          [10, 5],
          [2 * MiB - 100, 1],
          [2 * MiB + 100, 1],
        ],
        ...[
          [3 * MiB, 1],
          [5 * MiB, 1],
        ],
      ]
      for (const [bytes = 0, lines = 0] of [...sizes, ...sizes.toReversed()])
        await check(t, comparison, get(`/rpc/lines?bytes=${bytes}&lines=${lines}`))
      // With a shape of its own, each is the first large one of many small ones.
      for (const [index, [bytes = 0, lines = 0]] of sizes.slice(-7).entries()) {
        const own = `&order=n&select=${'n,'.repeat(index)}text`
        for (let time = 0; time <= untilCached; time++)
          await check(t, comparison, get(`/rpc/lines?bytes=10&lines=2${own}`))
        for (let time = 0; time < 2; time++)
          await check(t, comparison, get(`/rpc/lines?bytes=${bytes}&lines=${lines}${own}`))
      }
      for (const [bytes, lines] of [
        [10, 1],
        [10, 1],
        [1_900_000, 1],
        [10, 1],
        [60_000, 40],
      ])
        await check(t, comparison, get(`/rpc/controls?bytes=${bytes}&lines=${lines}`))
    })
  })
}

t.test('the row after the last that db-max-rows allows', async (t) => {
  isSharing = true
  const comparison = await startRowsComparison(t, database.adminUri, {
    PGRST_DB_ANON_ROLE: anonymous,
    PGRST_DB_MAX_ROWS: '3',
  })
  // The size from which on a result is streamed, with and without more rows.
  for (let bytes = 21_795; bytes < 21_825; bytes++)
    for (const lines of [3, 4]) await check(t, comparison, get(`/rpc/lines?bytes=${bytes}&lines=${lines}`))
  const requests = [get('/divided'), get('/divided', { Prefer: 'count=exact' }), get('/divided?offset=1&limit=9')]
  for (const at of [0, 5, 4, 3, 2, 1, 4, 0]) {
    await database.query('update threshold set at = $1', [at])
    for (const request of requests) for (let time = 0; time <= untilCached; time++) await check(t, comparison, request)
    for (let time = 0; time <= untilCached; time++) await check(t, comparison, get(`/rpc/failing?at=${at}`))
  }
})

t.test('changes of the schema between requests', async (t) => {
  isSharing = true
  const comparison = await start(t, 3, 3)
  const requests = [
    '/changing?order=id',
    '/changing?select=a&order=id',
    '/shown?order=id',
    '/shown?select=v:a&id=eq.1',
  ].map((path) => get(path))
  requests.push(get('/changing?order=id', { Prefer: 'count=exact', Range: '0-1' }))
  const changes = [
    'alter table changing add b int default 7',
    'alter table changing drop b',
    'drop view shown; alter table changing alter a type int using a::int; create view shown as select id, a from changing',
    'drop view shown; alter table changing alter a type numeric(10, 2); create view shown as select a, id from changing',
    `drop view shown; alter table changing alter a type timestamptz using '2024-01-01Z'; create view shown as select id, a from changing`,
    `drop view shown; alter table changing alter a type json using to_json(a); create view shown as select id, a from changing`,
    `drop view shown; alter table changing alter a type boolean using true; create view shown as select id, a from changing`,
    `create type feeling as enum ('fine', 'bad'); drop view shown; alter table changing alter a type feeling using 'fine'; create view shown as select id, a from changing`,
    `alter type feeling add value 'so "so"'`,
    `update changing set a = 'so "so"' where id = 1`,
    `create function feeling_json(feeling) returns json immutable language sql as $$ select json_build_object('felt', $1::text) $$;
      create cast (feeling as json) with function feeling_json(feeling)`,
    'drop cast (feeling as json)',
    `drop view shown; alter table changing alter a type feeling[] using array[a]; create view shown as select id, a from changing`,
    `create type twin as (x int, y text); drop view shown; alter table changing alter a type twin using row(1, 'y'); create view shown as select id, a from changing`,
    `drop view shown; alter table changing alter a type text using 'text'; create view shown as select id, a, a as c from changing`,
    'alter table changing rename a to d; alter table changing rename d to a',
    `drop view shown; alter table changing add twin twin default row(2, 'z'); create view shown as select id, a, a as e, twin from changing`,
    'drop view shown; alter table changing drop twin; create view shown as select id, a, a as c from changing',
    'alter view shown rename c to e',
  ]
  const all = async (t: Test): Promise<void> => {
    for (const request of requests)
      await Promise.all([0, 1, 2].map((connection) => check(t, comparison, request, connection)))
  }
  for (const change of changes) {
    await t.test(change.slice(0, 70), async (t) => {
      for (let time = 0; time < untilCached + 1; time++) await all(t)
      await database.query(`${change}; grant select on shown to ${anonymous}`)
      // Without the new schema cache, the server does not know of a cast, nor of more columns than those that it lists because it
      // cannot encode one of them.
      if (!change.includes('cast') && !change.includes('a as c')) await all(t)
      for (const { service } of [comparison.encoding, comparison.aggregating]) await service.engine.reload()
      for (let time = 0; time < untilCached + 2; time++) await all(t)
    })
  }
})

t.test('two users whose requests share one connection', async (t) => {
  isSharing = true
  const comparison = await start(t, 1, 4)
  const tokens = await Promise.all(['ann', 'bob'].map((sub) => bearer(user, { sub })))
  const before = counts.results
  await Promise.all(
    [0, 1, 2, 3].map(async (connection) => {
      for (let time = 0; time < 150; time++) {
        const request = get('/letters?order=id', { Authorization: tokens[(time + connection) % 2] ?? '' })
        const [{ status, body }] = await comparison.ask(request, connection)
        const [own, foreign] = (time + connection) % 2 === 0 ? ['ann', 'bob'] : ['bob', 'ann']
        if (status !== 200 || !body.includes(own ?? '') || body.includes(foreign ?? ''))
          t.fail(`${own ?? ''} gets ${body}`)
      }
    }),
  )
  t.ok(counts.results > before + 500, 'rows are encoded')
})

t.test('thirty requests at once on one connection', async (t) => {
  for (isSharing of [false, true]) {
    const comparison = await start(t, 1, 30)
    const requests = Array.from({ length: 30 }, (_, index) =>
      get(`/rpc/lines?bytes=${4 ** (index % 8)}&lines=${index}`),
    )
    for (let time = 0; time < 5; time++)
      await Promise.all(requests.map((request, connection) => check(t, comparison, request, connection)))
  }
})

/** Some 1 MB: the rows of a function, and those of a keyset page. */
const large = [
  ['/rpc/lines?bytes=1000&lines=980', {}],
  ['/long?limit=960', { Prefer: 'pagination=keyset' }],
] as const

for (const [path, headers] of large) {
  t.test(`clients that disconnect in the middle of ${path}`, async (t) => {
    isSharing = false
    const { encoding, difference, ask } = await start(t, 2)
    for (let time = 0; time < untilCached + 1; time++) await ask(get(path, headers))
    const before = counts.results
    for (let time = 0; time < 30; time++) {
      const slow = requestSlowly(encoding.url + path, headers)
      const response = await slow.response
      if (time % 3 > 0) await once(response.resume(), 'data')
      slow.hangUp()
    }
    t.ok(counts.results > before + 20, 'rows are encoded')
    const { database: served } = encoding.service
    t.ok(await until(() => served.statistics.idle === served.statistics.total), 'every connection was returned')
    t.ok(await until(() => served.statistics.unplacedBytes === 0), 'no response is kept')
    t.equal(await difference(get(path, headers)), undefined)
  })
}

for (const [path, headers] of large)
  t.test(`slow readers of ${path}`, async (t) => {
    isSharing = false
    const { encoding, ask } = await start(t, 2)
    for (let time = 0; time < untilCached + 1; time++) await ask(get(path, headers))
    const [{ body }] = await ask(get(path, headers))
    const before = counts.results
    const { database: served } = encoding.service
    const memory = process.memoryUsage().rss
    const readers = []
    for (let number = 0; number < 100; number++) {
      const reader = requestSlowly(encoding.url + path, headers)
      await reader.response
      readers.push(reader)
    }
    t.ok(counts.results >= before + 100, 'rows are encoded')
    t.ok(served.statistics.unplacedBytes <= 32 * 1024 ** 2, `${served.statistics.unplacedBytes} bytes wait for readers`)
    const grown = (process.memoryUsage().rss - memory) / 1024 ** 2
    t.ok(grown < 150, `${Math.round(grown)} MiB more for 100 MB`)
    for (const { length } of await Promise.all(readers.map(({ finish }) => finish()))) t.equal(length, body.length)
    t.ok(await until(() => served.statistics.unplacedBytes === 0), 'no response is kept')
  })
