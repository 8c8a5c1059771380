// The setting `db-select-readable-columns`: `*` means the columns that the role may read.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { loadFixture } from '../support/fixture.ts'
import { runSection, sectionFunction } from '../support/readme-section.ts'
import { exchangeAll, fault, type Exchange } from '../support/request-table.ts'
import { bearer } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await loadFixture(database, 'column-grants')
const settings = { PGRST_DB_SCHEMAS: 'staff', PGRST_LOG_LEVEL: 'crit', PGRST_DB_AGGREGATES_ENABLED: 'true' }
const on = { ...settings, DB_SELECT_READABLE_COLUMNS: 'true' }
const { url, call } = await startApplication(t, database.authenticatorUri, on)

const get = (path: string, body: unknown, more: Partial<Exchange> = {}): Exchange => ({
  send: ['GET', path],
  body,
  ...more,
})
const noCredential =
  'The request has no key and no token. Send an API key in the header apikey, or sign in and send the token as Authorization: Bearer.'
const denied = (table: string, hint: string | null = noCredential) =>
  fault('42501', `permission denied for table ${table}`, null, hint)
const ada = { id: 1, name: 'Ada', team_id: 1 }
const bo = { id: 2, name: 'Bo', team_id: 2 }
const wholeAda = { id: 1, name: 'Ada', salary: 10, team_id: 1, notes: 'a' }
const asUser = { as: 'authenticated' }

t.test('without the setting, the error is PostgREST’s, apart from the hint', async (t) => {
  const { url } = await startApplication(t, database.authenticatorUri, settings)
  await exchangeAll(t, url, [
    get('/people', denied('people'), { status: 401, also: { 'WWW-Authenticate': 'Bearer' } }),
    get('/people?id=eq.1', [wholeAda], asUser),
  ])
})

t.test('requests and responses', async (t) => {
  // A plan is cached when its shape is seen again, so the third request uses the cache.
  const rows: Exchange[] = [
    get('/people?order=id', [ada, bo]),
    get('/people?select=*&order=id', [ada, bo]),
    get('/people?select=*,team:teams(*)&id=eq.2', [{ ...bo, team: { id: 2, name: 'blue' } }]),
    get('/teams?select=name,people(*)&id=eq.1', [{ name: 'red', people: [ada] }]),
    get('/teams?select=team:name,...people(*)&id=eq.1', [{ team: 'red', id: [1], name: ['Ada'], team_id: [1] }]),
    get('/people?select=label:name,...teams(*)&order=id&limit=1', [{ label: 'Ada', id: 1, name: 'red' }]),
    get('/people?distinct=on.(team_id)&order=id.desc&limit=1', [bo]),
    get('/people?select=*&having=id.count().eq.1&order=id&limit=1', [ada]),
    get('/directory?order=id&limit=1', [{ id: 1, name: 'Ada' }]),
    get('/rpc/everyone?limit=1', [wholeAda]),
    get('/people?order=id&limit=1', 'id,name,team_id\n1,Ada,1', {
      accept: 'text/csv',
      contentType: 'text/csv; charset=utf-8',
      range: '0-0/*',
    }),
    get('/people?id=eq.1', ada, {
      accept: 'application/vnd.pgrst.object+json',
      contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
      range: '0-0/*',
    }),
    { send: ['HEAD', '/people'], contentType: 'application/json; charset=utf-8', range: '0-1/*' },
    get('/people?order=id&limit=1', [ada], {
      prefer: 'count=exact',
      applied: 'count=exact',
      status: 206,
      range: '0-0/2',
    }),
    // A column by its name, and a table without any readable column, get the error of the database.
    get('/people?select=salary', denied('people'), { status: 401, also: { 'WWW-Authenticate': 'Bearer' } }),
    get('/people?salary=gt.1', denied('people'), { status: 401, also: { 'WWW-Authenticate': 'Bearer' } }),
    get('/secrets', denied('secrets'), { status: 401, also: { 'WWW-Authenticate': 'Bearer' } }),
    get('/secrets', denied('secrets', null), { status: 403, ...asUser }),
    get('/people?id=eq.1', [wholeAda], asUser),
    get('/people?select=*,team:teams(*)&id=eq.1', [{ ...wholeAda, team: { id: 1, name: 'red', budget: 100 } }], asUser),
  ]
  for (let time = 0; time < 3; time++) await exchangeAll(t, url, rows)
})

t.test('the representation of writes', async (t) => {
  const { url } = await startApplication(t, database.authenticatorUri, { ...on, PGRST_DB_TX_END: 'rollback' })
  const prefer = 'return=representation'
  const applied = prefer
  const row = { id: 3, name: 'Cy', salary: 30, team_id: 1, notes: 'c' }
  for (let time = 0; time < 2; time++) {
    await exchangeAll(t, url, [
      { send: ['POST', '/people', row], prefer, applied, status: 201, body: [{ id: 3, name: 'Cy', team_id: 1 }] },
      { send: ['POST', '/people', row], status: 201 },
      {
        send: ['POST', '/people?select=*,teams(*)', row],
        prefer,
        applied,
        status: 201,
        body: [{ id: 3, name: 'Cy', team_id: 1, teams: { id: 1, name: 'red' } }],
      },
      { send: ['PATCH', '/people?id=eq.1', { salary: 11 }], prefer, applied, body: [ada], range: '0-0/*' },
      { send: ['DELETE', '/people?id=eq.2'], prefer, applied, body: [bo] },
      {
        send: ['PATCH', '/people?id=eq.1', { salary: 11 }],
        prefer,
        applied,
        body: [{ ...wholeAda, salary: 11 }],
        range: '0-0/*',
        ...asUser,
      },
      // The role may not read the primary key, which only the Location header needs.
      {
        send: ['POST', '/badges', { serial: 1, colour: 'red' }],
        prefer,
        applied,
        status: 201,
        body: [{ colour: 'red' }],
      },
      {
        send: ['POST', '/badges', { serial: 1, colour: 'red' }],
        prefer: 'return=headers-only',
        status: 401,
        body: denied('badges'),
        also: { 'WWW-Authenticate': 'Bearer' },
      },
    ])
  }
})

t.test('privileges that change without a reload take effect at once', async (t) => {
  const people = () => call('GET', '/rest/v1/people?id=eq.1')
  for (let time = 0; time < 3; time++) await people()
  await database.query('grant select (notes) on staff.people to anon')
  t.match(await people(), { status: 200, body: [{ ...ada, notes: 'a' }] })
  await database.query('revoke select (team_id) on staff.people from anon')
  t.strictSame((await people()).body, [{ id: 1, name: 'Ada', notes: 'a' }])
  await database.query('grant select on staff.people to anon')
  t.strictSame((await people()).body, [wholeAda])
  await database.query('revoke select on staff.people from anon')
  t.strictSame((await people()).body, denied('people'))
  await database.query('grant select (id, name, team_id) on staff.people to anon')
  t.strictSame((await people()).body, [ada])
})

t.test('privileges that change while requests run never cause an error', async (t) => {
  let isDone = false
  const changes = (async () => {
    while (!isDone) {
      await database.query('grant select (notes) on staff.people to anon')
      await database.query('revoke select (notes) on staff.people from anon')
    }
  })()
  const bodies = new Set<string>()
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('GET', '/rest/v1/people?id=eq.1')))
    for (const { text } of answers) bodies.add(text)
  }
  isDone = true
  await changes
  // Between the check and the statement, a column may be revoked, or the columns change too often.
  const expected = new Set([JSON.stringify([ada]), JSON.stringify([{ ...ada, notes: 'a' }])])
  const others = [...bodies].filter((text) => !expected.has(JSON.stringify(JSON.parse(text))))
  t.ok(
    others.every((text) => /"42501"|"PGRSTX34"/.test(text)),
    others.join(),
  )
  t.ok(bodies.size > 0)
})

t.test('a batch runs again, as a whole, when columns have changed', async (t) => {
  await database.query(`
    create sequence staff.numbers;
    create function staff.number() returns bigint language sql security definer as $$ select nextval('staff.numbers') $$;
    create function staff.close() returns bigint language sql security definer as $$
      revoke select (name) on staff.teams from anon; select nextval('staff.numbers') $$`)
  const { call } = await startApplication(t, database.authenticatorUri, { ...on, PGRST_DB_TX_END: 'rollback' })
  const team = { id: 1, name: 'red' }
  const row = { id: 3, name: 'Cy', salary: 30, team_id: 1, notes: 'c' }
  const headers = { Prefer: 'return=representation' }
  const batch = async (...requests: object[]) => {
    const body = { requests: requests.map((request, index) => ({ id: `r${index}`, method: 'GET', ...request })) }
    const { status, body: answer } = await call('POST', '/rest/v1/$batch', { body })
    const { responses } = answer as { responses?: readonly { body: unknown }[] }
    return [status, responses?.map(({ body }) => body) ?? answer]
  }
  const all = [
    { method: 'POST', url: '/people', body: row, headers },
    { url: '/teams?id=eq.1' },
    { url: '/people?id=eq.${r1#/0/id}' },
    { url: '/directory?id=eq.1' },
  ]
  const expected = [[{ id: 3, name: 'Cy', team_id: 1 }], [team], [ada], [{ id: 1, name: 'Ada' }]]
  t.strictSame(await batch(...all), [200, expected], 'nothing is known of any of the tables')
  t.strictSame(await batch(...all), [200, expected])
  await database.query('grant select (notes) on staff.people to anon; grant select (budget) on staff.teams to anon')
  const more = [[{ id: 3, name: 'Cy', team_id: 1, notes: 'c' }], [{ ...team, budget: 100 }], [{ ...ada, notes: 'a' }]]
  t.strictSame(await batch(...all.slice(0, 3)), [200, more])
  await database.query(
    'revoke select (notes) on staff.people from anon; revoke select (budget) on staff.teams from anon',
  )
  const calling = [{ method: 'POST', url: '/rpc/number', body: {} }, { url: '/teams?id=eq.1' }]
  t.strictSame(await batch(...calling), [200, [1, [team]]], 'the function is called once')
  // A function may have effects that a rollback does not undo, so the batch does not run again after it.
  const closing = [{ method: 'POST', url: '/rpc/close', body: {} }, { url: '/teams?id=eq.1' }]
  t.match(await batch(...closing), [503, { code: 'PGRSTX34', request: 'r1' }])
  t.strictSame(await batch(...calling), [200, [3, [team]]], 'it was called once, and undone but for its number')
})

t.test('a pre-request function never runs twice', async (t) => {
  await database.query(`
    create sequence staff.calls;
    grant usage on sequence staff.calls to anon, authenticated;
    create function staff.before() returns void language sql as $$ select nextval('staff.calls') $$`)
  const { call } = await startApplication(t, database.authenticatorUri, { ...on, PGRST_DB_PRE_REQUEST: 'staff.before' })
  const change = (send = call) =>
    send('PATCH', '/rest/v1/people?id=eq.1', { body: { salary: 10 }, headers: { Prefer: 'return=representation' } })
  const first = await change()
  t.match(first, { status: 503, body: { code: 'PGRSTX34' } })
  t.equal(first.headers.get('retry-after'), '1')
  t.strictSame((await change()).body, [ada])
  t.strictSame((await change()).body, [ada])
  const { rows } = await database.query('select last_value::int as calls from staff.calls')
  t.strictSame(rows, [{ calls: 3 }])
  // The columns are checked before EXPLAIN, which would fail on those that the role may not read.
  const limited = { ...on, PGRST_DB_PRE_REQUEST: 'staff.before', DB_MAX_COST: '100000' }
  const { call: callLimited } = await startApplication(t, database.authenticatorUri, limited)
  t.equal((await change(callLimited)).status, 503)
  t.strictSame((await change(callLimited)).body, [ada])
})

t.test('supabase-js', async (t) => {
  const people = async (role: string) => {
    const key = (await bearer(role)).slice('Bearer '.length)
    // The client requires a WebSocket, which Node 20 lacks. It is not used here.
    const client = createClient(url, key, { realtime: { transport: class {} as never } })
    return client
      .schema('staff' as never)
      .from('people')
      .select()
      .eq('id', 1)
  }
  t.match(await people('authenticated'), { data: [wholeAda], error: null })
  t.strictSame((await people('anon')).data, [ada])
})

t.test('the examples of the README', async (t) => {
  type Person = { readonly id: number }
  const sorted = (people: readonly Person[]) => people.toSorted((a, b) => a.id - b.id)
  const token = (await bearer('anon')).slice('Bearer '.length)
  const printed = await runSection('readable-columns-curl', { URL: url, TOKEN: token })
  t.strictSame(sorted(JSON.parse(printed) as Person[]), [ada, bo])
  const client = createClient(url, token, { db: { schema: 'staff' }, realtime: { transport: class {} as never } })
  const example = await sectionFunction<[unknown]>('readable-columns', ['client'], ['people'])
  const { people } = (await example(client)) as { people: { data: Person[] } }
  t.strictSame(sorted(people.data), [ada, bo])
})
