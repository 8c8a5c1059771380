// Attacks on calls whose rows the server encodes: a call takes effect once if its response says so, and not at all otherwise, also
// when the function has changed since the server has read the schema; nothing that a call sets reaches another caller.
import t, { type Test } from 'tap'
import { startApplication, type Application } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { countEncodedResults } from '../support/rows-comparison.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const counts = countEncodedResults()
const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const [role, other] = [`calling_${database.name}`, `other_${database.name}`] as const
await database.query(`
  create role ${role}; create role ${other};
  create table journal (at timestamptz default now(), note text);
  create type size as (width int, height int);
  create table things (id int, note text);
  create function note(given text) returns text language sql as $$ insert into journal (note) values (given) returning note $$;
  create function long(n int) returns table (a int, b text) language sql as $$
    select i, repeat('x', 1000) from generate_series(1, n) i, note('long'), set_config('response.status', '202', true) $$;
  create function leaving(style text) returns text language plpgsql as $$ begin
    perform set_config('response.headers', '[{"X-Left": "1"}]', false), set_config('response.status', '418', false),
      set_config('DateStyle', style, false), set_config('IntervalStyle', 'iso_8601', false), set_config('extra_float_digits', '-10', false),
      set_config('bytea_output', 'escape', false), set_config('TimeZone', 'Asia/Kolkata', false), set_config('search_path', 'pg_catalog', false);
    return 'left'; end $$;
  create function formatted() returns table (day date, moment timestamptz, span interval, share float8, bytes bytea, note text) language plpgsql as $$ begin
    return query select '2024-02-29'::date, '2024-02-29 12:00+00'::timestamptz, '1 day 2 hours'::interval, 0.1::float8 + 0.2, '\\x00ff'::bytea, note('v'); end $$;
  create function nested(n int) returns int language plpgsql as $$ begin
    perform note('n' || n); if n > 0 then return nested(n - 1); end if;
    perform set_config('response.status', '202', true), set_config('response.headers', '[{"X-Deep": "1"}]', true); return 0; end $$;
  create function waiting() returns table (a int, b text) language plpgsql as $$ begin
    perform note('waiting'); return query select i, repeat('x', 1000) from generate_series(1, 3000) i; perform pg_sleep(30); end $$;
  grant all on all tables in schema public to ${role}, ${other}`)
t.teardown(() => database.query(`drop owned by ${role}, ${other}; drop role ${role}; drop role ${other}`))
const env = {
  PGRST_DB_ANON_ROLE: role,
  PGRST_DB_CHANNEL_ENABLED: 'false',
  PGRST_DB_POOL: '1',
  PGRST_LOG_LEVEL: 'crit',
  REST_BASE_PATH: '/',
}

const effects = async (): Promise<number> =>
  Number((await database.query('select count(*)::int as count from journal')).rows[0]?.count)

/** Forms of the same function, all of which write a row into the journal. */
const forms: readonly (readonly [title: string, returns: string, result: string])[] = [
  ['an integer', 'int', 'select 1 from note(given)'],
  ['a text', 'text', 'select note(given)'],
  ['JSON', 'jsonb', `select jsonb_build_object('a', note(given))`],
  ['nothing', 'void', 'select note(given)'],
  ['a composite value', 'size', 'select 1, 2 from note(given)'],
  ['several texts', 'setof text', `select note(given) union all select 'x'`],
  ['composite values', 'setof size', 'select 1, 2 from note(given)'],
  ['a table', 'table (a int, b text)', 'select 1, note(given)'],
  ['a table of other types', 'table (a size, b int[])', 'select (1, 2)::size, array[1] from note(given)'],
  ['a table of other columns', 'table (c text, d date)', `select note(given), '2024-02-29'::date`],
  ['a table of one column', 'table (a int)', 'select 1 from note(given)'],
  ['rows of a table', 'setof things', 'select 1, note(given)'],
  ['records', 'setof record', `select 1, note(given)`],
  ['an array', 'int[]', 'select array[1] from note(given)'],
]

const replaced = (returns: string, result: string): string =>
  `drop function if exists changing(text); create function changing(given text) returns ${returns} language sql volatile as $$ ${result} $$`

/** Calls the function, and checks that it has one effect if it succeeds, and none otherwise. */
async function callOnce(t: Test, { call }: Application, query: string, title: string): Promise<number> {
  const before = await effects()
  const { status, text } = await call('POST', `/rpc/changing${query}`, { body: { given: 'x' } })
  t.equal((await effects()) - before, status < 400 ? 1 : 0, `${title}: ${status} ${text.slice(0, 300)}`)
  return status
}

t.test('functions that return something else than the server knows', async (t) => {
  for (const [known, returns, result] of forms) {
    await database.query(replaced(returns, result))
    const encoding = await startApplication(t, database.adminUri, env)
    const aggregating = await startApplication(t, database.adminUri, env, { encodesRows: false })
    const query = known === 'a table' ? '?select=a,b' : ''
    for (let time = 0; time < 3; time++) {
      await callOnce(t, encoding, query, known)
      await callOnce(t, aggregating, query, known)
    }
    for (const [title, ...form] of forms) {
      await database.query(replaced(...form))
      const change = `${known}, then ${title}`
      for (let time = 0; time < 2; time++) {
        const one = await callOnce(t, encoding, query, `${change}, encoded`)
        const two = await callOnce(t, aggregating, query, change)
        if (one !== two) t.comment(`${change}: ${one}, aggregated ${two}`)
      }
    }
    await encoding.service.stop()
    await aggregating.service.stop()
  }
})

t.test('what a call leaves in its session, for another caller on the same connection', async (t) => {
  const { call } = await startApplication(t, database.adminUri, env)
  const headers = { Authorization: await bearer(other, { sub: 'other' }) }
  for (const style of ['German', 'SQL, DMY', 'Postgres']) {
    for (let time = 0; time < 3; time++) {
      t.equal((await call('POST', '/rpc/leaving', { body: { style } })).status, 418)
      const before = await effects()
      const answer = await call('POST', '/rpc/formatted', { body: {}, headers })
      t.equal(answer.status, 200)
      t.equal(answer.headers.get('x-left'), null)
      t.strictSame(answer.body, [
        {
          day: '2024-02-29',
          moment: '2024-02-29T12:00:00+00:00',
          span: '1 day 02:00:00',
          share: 0.30000000000000004,
          bytes: '\\x00ff',
          note: 'v',
        },
      ])
      t.equal((await effects()) - before, 1)
    }
  }
})

t.test('headers and status of a deeply nested call', async (t) => {
  const { call } = await startApplication(t, database.adminUri, env)
  const encoded = counts.results
  for (let time = 0; time < 3; time++) {
    const before = await effects()
    const { status, headers, body } = await call('POST', '/rpc/nested', { body: { n: 20 } })
    t.strictSame([status, headers.get('x-deep'), body], [202, '1', 0])
    t.equal((await effects()) - before, 21)
  }
  t.equal(counts.results, encoded + 3)
})

t.test('a call with an idempotency key that sets the status', async (t) => {
  const { call } = await startApplication(t, database.adminUri, env)
  for (const n of [0, 3, 500]) {
    const before = await effects()
    const answers = []
    for (let time = 0; time < 3; time++)
      answers.push(await call('POST', '/rpc/long', { body: { n }, headers: { 'Idempotency-Key': `long-${n}` } }))
    t.strictSame(
      answers.map(({ status, body }) => [status, (body as unknown[]).length]),
      Array(3).fill([n === 0 ? 200 : 202, n]),
    )
    t.equal(new Set(answers.map(({ text }) => text)).size, 1, 'the same body')
    t.ok((await effects()) - before <= 1, 'at most one effect')
  }
})

t.test('a backend that ends, is cancelled or loses its client in the middle of a call', async (t) => {
  const { url, call, service } = await startApplication(t, database.adminUri, env)
  const running = `from pg_stat_activity where datname = current_database() and query like '%waiting%' and wait_event = 'PgSleep'`
  const isRunning = (): Promise<boolean> =>
    until(async () => (await database.query(`select 1 ${running}`)).rowCount === 1)
  for (const [how, end, status] of [
    ['ends', 'pg_terminate_backend', 503],
    ['is cancelled', 'pg_cancel_backend', 500],
  ] as const) {
    const before = await effects()
    const answer = call('POST', '/rpc/waiting')
    t.ok(await isRunning(), 'it runs')
    await database.query(`select ${end}(pid) ${running}`)
    t.equal((await answer).status, status, how)
    t.equal(await effects(), before, 'it has no effect')
  }
  const before = await effects()
  const client = new AbortController()
  const answer = fetch(`${url}/rpc/waiting`, { method: 'POST', signal: client.signal }).catch(() => undefined)
  t.ok(await isRunning(), 'it runs')
  client.abort()
  await answer
  t.ok(await until(async () => (await database.query(`select 1 ${running}`)).rowCount === 0), 'it is cancelled')
  const { database: served } = service
  t.ok(await until(() => served.statistics.idle === served.statistics.total), 'the connection was returned')
  t.equal(await effects(), before, 'it has no effect')
})
