// Sizes, changes of the schema that the server does not know of, several users on one connection, clients that hang up and batches, while
// the server encodes the rows of functions that may have effects: nothing takes effect twice.
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { createDatabase } from '../support/database.ts'
import { postHead, rawRequest } from '../support/raw-request.ts'
import { countEncodedResults } from '../support/rows-comparison.ts'
import type { SentRequest } from '../support/sent-request.ts'
import { bearer } from '../support/token.ts'
import { startWritesComparison } from '../support/written-rows.ts'

const counts = countEncodedResults()

const call = (path: string, body: unknown, more: SentRequest['headers'] = {}): SentRequest => ({
  method: 'POST',
  path: `/rpc/${path}`,
  headers: { 'Content-Type': 'application/json', ...more },
  body: JSON.stringify(body),
})

t.test('beside a service for which Postgres writes the JSON', async (t) => {
  const { compare, rows } = await startWritesComparison(t, ['written-rows', 'called-rows'])
  const check = async (t: Test, request: SentRequest, status: number, isEncoded = true): Promise<void> => {
    const before = counts.results
    const found = await compare(request)
    if (found.difference !== undefined) t.fail(found.difference.slice(0, 2000))
    t.equal(found.status, status, request.path)
    t.equal(counts.results > before, isEncoded, isEncoded ? 'is encoded' : 'is not encoded')
  }
  const single = { Accept: 'application/vnd.pgrst.object+json' }

  t.test('results of any size', async (t) => {
    for (const [bytes, lines] of [
      [10, 0],
      [70_000, 1],
      [65_000, 40],
      [1_000_000, 5],
      [3_000_000, 1],
    ])
      await check(t, call('papers', { bytes, lines }), 200)
    for (const letter of ['x', '"', '\u0001', 'ü']) await check(t, call('paper', { letter, times: 2_800_000 }), 200)
  })

  t.test('errors at the first, a middle and the last row leave nothing', async (t) => {
    const [before] = await rows('journal')
    for (const at of [1, 500, 600]) {
      for (const name of ['quotients', 'lazy_quotients']) await check(t, call(name, { at, times: 600 }), 400, false)
      await check(t, call('raising', { state: 'PT402', message: 'no', at, times: 600 }), 402, false)
    }
    t.equal((await rows('journal'))[0], before)
  })

  t.test('a result that is not one row is rolled back', async (t) => {
    const [before] = await rows('children')
    await check(t, call('added', { first: 100, times: 2 }, single), 406)
    await check(t, call('added', { first: 100, times: 0 }, single), 406)
    await check(t, call('added', { first: 100, times: 3 }, { Prefer: 'handling=strict, max-affected=2' }), 400)
    t.equal((await rows('children'))[0], before)
    await check(t, call('added', { first: 100, times: 1 }, single), 200)
  })

  t.test('headers and status belong to the request that set them', async (t) => {
    for (let time = 0; time < 5; time++) {
      const set = { headers: `[{"X-Time": "${time}"}]`, status: '203' }
      await check(t, call('headed', { ...set, times: 2 }), 203)
      await check(t, call('headed_one', set), 203)
      await check(t, call('add_note', { n: 1 }), 200)
      await check(t, call('headed', { headers: null, status: null, times: 1 }), 200)
    }
  })

  t.test('calls in a batch, the last of which may fail', async (t) => {
    for (const at of [0, 3, 0]) {
      const requests = [
        { id: 'a', method: 'POST', url: '/rpc/headed', body: { headers: '[{"X-A": "1"}]', status: '203', times: 2 } },
        { id: 'b', method: 'POST', url: '/rpc/added', body: { first: 200, times: 3 } },
        { id: 'c', method: 'POST', url: '/rpc/quotients', body: { at, times: 5 } },
      ]
      const { difference, status } = await compare({ ...call('', { requests }), path: '/$batch' })
      t.equal(difference, undefined)
      t.equal(status, at === 0 ? 200 : 400)
    }
    for (const table of ['journal', 'children']) {
      const [one, other] = await rows(table)
      t.equal(one, other, table)
    }
  })
})

t.test('changes of functions that the server does not know of', async (t) => {
  const database = await createDatabase()
  const role = `caller_${database.name}`
  t.teardown(() => database.drop())
  await database.query(`
    create table calls (n int generated always as identity);
    create role ${role}; grant all on calls to ${role}`)
  t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
  const define = (result: string, body: string): Promise<unknown> =>
    database.query(`
      drop function if exists changing(); create function changing() returns ${result} language plpgsql as
      $$ begin insert into calls default values; ${body}; end $$`)
  await define('setof int', 'return next 1')
  const { url } = await startApplication(t, database.adminUri, {
    PGRST_DB_ANON_ROLE: role,
    PGRST_DB_CHANNEL_ENABLED: 'false',
    PGRST_DB_POOL: '1',
    REST_BASE_PATH: '/',
  })
  let calls = 0
  const ask = async (): Promise<unknown> => {
    calls++
    const response = await fetch(`${url}/rpc/changing`, { method: 'POST' })
    return response.json()
  }
  const before = counts.results
  for (let time = 0; time < 4; time++) t.strictSame(await ask(), [1])
  t.equal(counts.results, before + 4)
  for (const [result, body, expected] of [
    ['setof text', `return next 'a "b"'`, ['a "b"']],
    ['setof text[]', `return next array['a', null]`, [['a', null]]],
    ['setof jsonb', `return next '{"a": 1}'`, [{ a: 1 }]],
  ] as const) {
    await define(result, body)
    for (let time = 0; time < 4; time++) t.strictSame(await ask(), expected, result)
  }
  const { rows } = await database.query('select count(*)::int as count from calls')
  t.equal(rows[0]?.count, calls, 'every call took effect once')
})

t.test('two users whose calls use one connection, beside clients that hang up', async (t) => {
  const database = await createDatabase()
  const [user, anonymous] = [`user_${database.name}`, `anon_${database.name}`]
  t.teardown(() => database.drop())
  await database.query(`
    create table letters (id int generated always as identity, owner text default current_setting('request.jwt.claims')::json ->> 'sub', text text);
    create role ${user}; create role ${anonymous}; grant all on letters to ${user};
    alter table letters enable row level security;
    create policy own on letters using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
    create function write_letter(text text, times int default 1) returns setof letters language plpgsql as $$
    begin
      insert into letters (text) select write_letter.text from generate_series(1, times);
      perform set_config('response.headers', json_build_array(json_build_object('X-Owner', (select min(owner) from letters)))::text, true);
      return query select * from letters order by id desc limit 50;
    end $$`)
  t.teardown(() =>
    database.query([user, anonymous].map((role) => `drop owned by ${role}; drop role ${role}`).join('; ')),
  )
  const settings = { PGRST_DB_ANON_ROLE: anonymous, PGRST_DB_POOL: '1', REST_BASE_PATH: '/' }
  const { url } = await startApplication(t, database.adminUri, settings)
  const tokens = { ann: await bearer(user, { sub: 'ann' }), bob: await bearer(user, { sub: 'bob' }) }
  const before = counts.results
  const write = async (owner: 'ann' | 'bob', number: number): Promise<void> => {
    const response = await fetch(`${url}/rpc/write_letter`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: tokens[owner] },
      body: JSON.stringify({ text: `${owner} ${number}` }),
    })
    const letters = (await response.json()) as { owner: string; text: string }[]
    t.equal(response.headers.get('x-owner'), owner)
    t.equal(letters[0]?.text, `${owner} ${number}`)
    t.ok(letters.every((letter) => letter.owner === owner && letter.text.startsWith(owner)))
  }
  const size = 100
  const hangUp = async (number: number): Promise<void> => {
    const body = JSON.stringify({ text: `ann gone ${number} ${'x'.repeat(3000)}`, times: size })
    const headers = { 'Content-Type': 'application/json', Authorization: tokens.ann }
    const { socket, closed } = rawRequest(url, `${postHead('/rpc/write_letter', body.length, headers)}${body}`)
    if (number % 2 === 0) socket.once('data', () => socket.destroy())
    else setTimeout(() => socket.destroy(), 5 * number)
    await closed
  }
  await Promise.all(
    Array.from({ length: 12 }, async (_, n) => Promise.all([write('ann', n), write('bob', n), hangUp(n)])),
  )
  t.ok(counts.results > before + 20, 'rows were encoded')
  const { rows: found } = await database.query(
    `select left(text, 12) as text, count(*)::int as count from letters where text like 'ann gone%' group by 1`,
  )
  t.ok(found.length >= 6, 'those that had a response were committed')
  t.strictSame(
    found.filter(({ count }) => count !== size),
    [],
    'whole',
  )
})
