// Requests per second of roles, users and API keys: `alter role … set pgrst.max_requests_per_second`, `rowhouse keys limit`.
import { readFile } from 'node:fs/promises'
import { createClient } from '@supabase/supabase-js'
import t, { type Test } from 'tap'
import { createApiKey, setApiKeyLimits } from '../../server/identity/api-key/api-key.ts'
import { startApplication, type Application } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { readmeSection, runSection, sectionFunction } from '../support/readme-section.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const inDatabase = (role: string, name: string, value: string | number): Promise<unknown> =>
  database.query(`alter role ${role} in database ${database.name} set pgrst.${name} = '${value}'`)

await database.query(`
  create table public.notes (id int primary key, owner text default 'ann');
  insert into public.notes values (1), (2);
  grant select, insert on public.notes to anon, authenticated, service_role;
  create function public.free() returns text language plpgsql as $$
  begin
    perform set_config('pgrst.max_requests_per_second', '1000000', false);
    perform set_config('response.headers', '[{"RateLimit": "\\"role\\";r=99;t=0"}]', true);
    return current_user;
  end $$;
  create function public.refill() returns void language sql set search_path = '' as
    'delete from rowhouse_limits.buckets';
  create function public.take() returns int language plpgsql as
    $$ begin return (select granted from rowhouse_limits.take('["role","anon"]', 1000000, 1000000, 1)); end $$;
`)
const env = { REST_BASE_PATH: '/', PGRST_DB_ANON_ROLE: 'anon' }
const one = await startApplication(t, database.authenticatorUri, env)
const two = await startApplication(t, database.authenticatorUri, env)

const reload = async (): Promise<void> => {
  await database.query('truncate rowhouse_limits.buckets')
  await Promise.all([one, two].map(({ service }) => service.engine.reloadSettings()))
}
/** Replaces the limits of a role. */
async function limit(role: string, settings: Readonly<Record<string, string | number>>): Promise<void> {
  await database.query(`alter role ${role} in database ${database.name} reset all`)
  for (const [name, value] of Object.entries(settings)) await inDatabase(role, name, value)
  await reload()
}
/** A text with times of up to 100 seconds as at first: on a busy machine, some of them are over. */
const asAtFirst = (text: string): string => text.replace(/(^|t=|in )[5-9]\d(?=$|,| s\.)/g, '$1100')
const fields = ({ headers }: Answer): (string | null)[] =>
  ['ratelimit-policy', 'ratelimit', 'retry-after'].map((name) => {
    const value = headers.get(name)
    return value === null ? null : asAtFirst(value)
  })
const as = async (role: string, sub?: string): Promise<Record<string, string>> => ({
  Authorization: await bearer(role, sub === undefined ? {} : { sub }),
})
const statuses = (answers: readonly Answer[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
const burst = ({ call }: Application, count: number, headers: Record<string, string> = {}): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, () => call('GET', '/notes?select=id', { headers })))

t.test('without limits there are no headers, and nothing is counted', async (t) => {
  for (const path of ['/notes', '/nothing', '/rpc/free']) {
    const answer = await one.call('GET', path)
    t.strictSame(fields(answer).slice(0, 1), [null], path)
  }
  const { rows } = await database.query('select from rowhouse_limits.buckets')
  t.equal(rows.length, 0)
})

t.test('requests of a role above its burst get 429, whatever they ask for', async (t) => {
  await limit('anon', { max_requests_per_second: '0.01', max_request_burst: 3 })
  const policy = '"role";q=3;w=300'
  const rows: readonly (readonly [method: string, path: string, status: number, state: string])[] = [
    ['GET', '/notes?select=id', 200, '"role";r=2;t=100'],
    ['GET', '/nothing', 404, '"role";r=1;t=100'],
    ['POST', '/notes', 201, '"role";r=0;t=100'],
  ]
  for (const [method, path, status, state] of rows) {
    const answer = await one.call(method, path, method === 'POST' ? { body: { id: 3 } } : {})
    t.equal(answer.status, status, answer.text)
    t.strictSame(fields(answer), [policy, state, null], path)
  }
  const refused: readonly (readonly [method: string, path: string])[] = [
    ['GET', '/notes'],
    ['GET', '/nothing?select=('],
    ['POST', '/notes'],
    ['POST', '/rpc/free'],
    ['OPTIONS', '/notes'],
    ['GET', '/'],
  ]
  for (const [method, path] of refused) {
    const answer = await one.call(method, path, method === 'POST' ? { body: { id: 4 } } : {})
    t.equal(answer.status, 429, path)
    const { hint, ...body } = answer.body as { readonly hint: string }
    t.equal(asAtFirst(hint), 'Try again in 100 s.')
    t.strictSame(body, {
      code: 'PGRSTX80',
      details: 'The limit is 0.01 requests per second, and 3 at once.',
      message: 'Too many requests of the role anon',
    })
    t.strictSame(fields(answer), [policy, '"role";r=0;t=100', '100'], path)
  }
  const { rows: stored } = await database.query('select id from public.notes order by id')
  t.strictSame(
    stored.map(({ id }) => id),
    [1, 2, 3],
    'a refused write has not run',
  )
  t.equal((await two.call('GET', '/notes')).status, 429, 'another process')
  t.equal((await one.call('GET', '/notes', { headers: await as('service_role') })).status, 200, 'another role')
  t.equal((await one.call('HEAD', '/notes')).status, 429)
})

t.test('scripts of other origins may read the headers', async (t) => {
  await limit('anon', { max_requests_per_second: 5 })
  const { headers } = await one.call('GET', '/notes', { headers: { Origin: 'https://example.org' } })
  t.match(headers.get('access-control-expose-headers'), /Range-Unit.*, RateLimit-Policy, RateLimit$/)
  const preflight = await one.call('OPTIONS', '/notes', {
    headers: { Origin: 'https://example.org', 'Access-Control-Request-Method': 'GET' },
  })
  t.strictSame(fields(preflight), [null, null, null], 'preflight requests are not counted')
})

t.test('each user of a role has a rate besides that of the role', async (t) => {
  await limit('authenticated', {
    max_user_requests_per_second: '0.01',
    max_user_request_burst: 2,
    max_requests_per_second: '0.01',
    max_request_burst: 5,
  })
  const ann = await as('authenticated', 'ann')
  const ben = await as('authenticated', 'ben')
  const eve = await as('authenticated', '","role"]')
  const [first] = await burst(one, 1, ann)
  t.strictSame(first && fields(first), [
    '"user";q=2;w=200, "role";q=5;w=500',
    '"user";r=1;t=100, "role";r=4;t=100',
    null,
  ])
  t.strictSame(statuses(await burst(two, 3, ann)), { 200: 1, 429: 2 }, 'the same user in another process')
  const [refused] = await burst(one, 1, ann)
  t.match(refused?.body, { message: 'Too many requests of this user of the role authenticated' })
  t.strictSame(statuses(await burst(one, 3, ben)), { 200: 2, 429: 1 }, 'another user')
  t.strictSame(statuses(await burst(one, 2, eve)), { 200: 1, 429: 1 }, 'the rate of the role ends it')
  const [byRole] = await burst(one, 1, await as('authenticated'))
  t.match(byRole?.body, { message: 'Too many requests of the role authenticated' }, 'a token without a user')
  await limit('authenticated', {})
})

t.test('an API key has limits of its own', async (t) => {
  await limit('anon', {})
  const [limited, other, secret] = await withClient(database.adminUri, async (client) => {
    const created = []
    for (const role of ['anon', 'anon', 'service_role']) created.push(await createApiKey(client, { role, label: role }))
    return created
  })
  if (!limited || !other || !secret) throw new Error('no keys')
  const set = (id: string, limits: Parameters<typeof setApiKeyLimits>[2]) =>
    withClient(database.adminUri, (client) => setApiKeyLimits(client, id, limits))
  t.equal(await set(limited.id, { max_requests_per_second: 0.01, max_request_burst: 2, max_rows: 1 }), true)
  const byKey = { apikey: limited.key }
  const state = async (): Promise<string | null> =>
    (await one.call('GET', '/nothing', { headers: byKey })).headers.get('ratelimit-policy')
  // The notification of the change takes a moment.
  t.ok(await until(async () => (await state()) === '"key";q=2;w=200'))
  await database.query('truncate rowhouse_limits.buckets')
  const answers = await burst(two, 5, byKey)
  t.strictSame(statuses(answers), { 200: 2, 429: 3 })
  t.strictSame(answers.find(({ status }) => status === 200)?.body, [{ id: 1 }], 'max_rows of the key')
  t.match(answers.find(({ status }) => status === 429)?.body, { message: 'Too many requests of this API key' })
  t.strictSame(statuses(await burst(two, 2, { apikey: other.key })), { 200: 2 }, 'another key')
  const withToken = { ...byKey, ...(await as('service_role')) }
  t.strictSame(statuses(await burst(two, 1, withToken)), { 429: 1 }, 'the limits of the key apply besides a token')
  t.strictSame(statuses(await burst(two, 1, { Authorization: `Bearer ${limited.key}` })), { 429: 1 })
  t.equal(await set(limited.id, undefined), true)
  t.ok(await until(async () => statuses(await burst(two, 1, byKey))[200] === 1))
  t.equal(await set('00000000-0000-4000-8000-000000000000', { max_rows: 1 }), false)
  await t.rejects(database.query('update auth.api_keys set limits = \'{"max_rows": "x"}\''), { code: '23514' })
  await t.rejects(database.query('update auth.api_keys set limits = \'{"rows": 1}\''), { code: '23514' })
})

t.test('each request of a batch counts', async (t) => {
  await limit('anon', { max_requests_per_second: '0.01', max_request_burst: 4 })
  const batch = (count: number) => {
    const requests = Array.from({ length: count }, (_, id) => ({
      id: String(id),
      method: 'GET',
      url: '/notes?select=id',
    }))
    return one.call('POST', '/$batch', { body: { requests } })
  }
  const first = await batch(3)
  t.equal(first.status, 200, first.text)
  t.equal(fields(first)[1], '"role";r=1;t=100')
  t.match(await batch(3), { status: 429, body: { code: 'PGRSTX80' } })
  t.match(await batch(9), { status: 429 })
  await limit('anon', {})
})

t.test('callers can neither raise limits nor reset counts', async (t) => {
  await limit('anon', { max_requests_per_second: '0.01', max_request_burst: 6 })
  const free = await one.call('POST', '/rpc/free')
  t.equal(free.status, 200, free.text)
  t.equal(free.headers.get('ratelimit'), '"role";r=99;t=0', 'a function may replace what is said, as any header')
  for (const path of ['/rpc/refill', '/rpc/take']) {
    const answer = await one.call('POST', path)
    t.match([answer.status, answer.body], [401, { code: '42501' }], path)
  }
  for (const path of ['/buckets', '/rpc/take?subject=x']) {
    const answer = await one.call('GET', path, { headers: { 'Accept-Profile': 'rowhouse_limits' } })
    t.match([answer.status, answer.body], [406, { code: 'PGRST106' }], path)
  }
  const last = await one.call('GET', '/notes', { headers: { 'X-RateLimit': '100', 'X-Forwarded-For': '10.0.0.1' } })
  t.strictSame(fields(last)[1], '"role";r=0;t=100')
  t.strictSame(statuses(await burst(one, 3)), { 429: 3 })
  const roles = ['anon', 'authenticated', 'service_role', 'authenticator']
  for (const role of roles) {
    await withClient(database.adminUri, async (client) => {
      await client.query(`set role ${role}`)
      for (const sql of ['select * from rowhouse_limits.buckets', 'delete from rowhouse_limits.buckets']) {
        await t.rejects(client.query(sql), { code: '42501' }, `${role}: ${sql}`)
      }
      const take = client.query("select rowhouse_limits.take('x', 1, 1, 1)")
      await (role === 'authenticator' ? t.resolves(take) : t.rejects(take, { code: '42501' }, role))
      const putBack = client.query("select rowhouse_limits.put_back('x', 1, 1)")
      await (role === 'authenticator' ? t.resolves(putBack) : t.rejects(putBack, { code: '42501' }, role))
      for (const wrong of ["'x', 0, 1, 1", "'x', 1, 0, 1", "'x', 1, 1, -5", "'x', 'nan', 1, null", "'x', 1, 1, 1, 2"]) {
        await t.rejects(client.query(`select rowhouse_limits.take(${wrong})`), role)
      }
    })
  }
})

t.test('a flood of refused requests neither reaches the database nor delays others', async (t) => {
  await limit('anon', { max_requests_per_second: '0.01', max_request_burst: 5 })
  await burst(one, 10)
  const before = await database.query('select changed_at from rowhouse_limits.buckets')
  const authorized = await as('service_role')
  let isOver = false
  const flood = Array.from({ length: 6 }, async () => {
    const answers: Answer[] = []
    while (!isOver) answers.push(await one.call('GET', '/notes'))
    return answers
  })
  const others = (await burst(one, 20, authorized)).concat(await burst(one, 20, authorized))
  isOver = true
  t.strictSame(statuses(others), { 200: 40 })
  t.strictSame(Object.keys(statuses((await Promise.all(flood)).flat())), ['429'])
  const after = await database.query('select changed_at from rowhouse_limits.buckets')
  t.strictSame(after.rows, before.rows, 'no statement has run for a refused request')
})

t.test('limits change at run time', async (t) => {
  await limit('anon', { max_requests_per_second: '0.01', max_request_burst: 1 })
  t.strictSame(statuses(await burst(one, 2)), { 200: 1, 429: 1 })
  await inDatabase('anon', 'max_requests_per_second', 100_000)
  await inDatabase('anon', 'max_request_burst', 100_000)
  await database.query("notify pgrst, 'reload config'")
  t.ok(await until(async () => statuses(await burst(one, 3))[200] === 3))
  await database.query(`alter role anon in database ${database.name} reset all; notify pgrst, 'reload config'`)
  t.ok(await until(async () => fields((await burst(one, 1))[0]!)[0] === null))
})

t.test('the lines of the README', async (t) => {
  const sql = readmeSection('limits-sql').replaceAll(/alter role (\w+)/g, `alter role $1 in database ${database.name}`)
  await database.query(
    sql
      .replace("'50'", "'0.01'")
      .replace("'100'; ", "'2'; ")
      .replace(/(burst = )'100'/, "$1'2'"),
  )
  await reload()
  const { key } = await withClient(database.adminUri, (client) => createApiKey(client, { role: 'anon', label: 'page' }))
  const env = { URL: one.url, KEY: key }
  // The section is for the default mount path.
  t.match(readmeSection('limits-curl'), '$URL/rest/v1/notes')
  const printed = await runSection('limits-curl', env, (text) => text.replace('/rest/v1', ''))
  t.match(
    printed,
    /^HTTP\/1.1 200 [^]*RateLimit-Policy: "role";q=2;w=200\r\nRateLimit: "role";r=1;t=(?:100|[5-9]\d)\r\n/,
  )
  const client = createClient(one.url, key, {
    global: { fetch: (input, init) => fetch((input as string).replace('/rest/v1', ''), init) },
    // The client needs a WebSocket, which Node 20 does not have. It is not used.
    realtime: { transport: class {} as never },
  })
  const select = await sectionFunction<[typeof client]>('limits', ['client'], ['data', 'error', 'status'])
  t.match(await select(client), { status: 200, error: null, data: [{ id: 1 }, { id: 2 }] })
  t.match(await select(client), {
    status: 429,
    error: { code: 'PGRSTX80', hint: /^Try again in (?:100|[5-9]\d) s\.$/ },
    data: null,
  })
  await limit('anon', {})
  await limit('authenticated', {})
})

/** Requests that all processes get, and those that they let through, while they are all overloaded. */
async function overload(t: Test, applications: readonly Application[], milliseconds: number) {
  const end = performance.now() + milliseconds
  let asked = 0
  let granted = 0
  await Promise.all(
    applications.flatMap(({ call }) =>
      Array.from({ length: 3 }, async () => {
        while (performance.now() < end) {
          asked++
          const { status } = await call('HEAD', '/notes')
          if (status === 200) granted++
          else t.equal(status, 429)
        }
      }),
    ),
  )
  return { asked, granted }
}

t.test('two processes together let through no more than the burst and the rate', async (t) => {
  await limit('anon', { max_requests_per_second: 100, max_request_burst: 20 })
  const start = performance.now()
  const { asked, granted } = await overload(t, [one, two], 700)
  const seconds = (performance.now() - start) / 1000
  t.ok(granted <= 20 + 100 * seconds, `${granted} requests in ${seconds} s`)
  t.ok(granted >= Math.min(asked, 20), `${granted} of ${asked} requests: at least the burst`)
  await limit('anon', {})
})

t.test('both descriptions of the API say that a caller has a rate', async (t) => {
  const responses = async (): Promise<unknown> => {
    const { body } = await one.call('GET', '/')
    return (body as { paths: Record<string, { get: { responses: object } }> }).paths['/notes']?.get.responses
  }
  t.strictSame(Object.keys((await responses()) as object), ['200', '206'], "without one, PostgREST's")
  await limit('anon', { max_requests_per_second: 100 })
  t.strictSame(Object.keys((await responses()) as object), ['200', '206', '429'])
  const { body } = await one.call('GET', '/openapi.json')
  const { components } = body as { components: { responses: Record<string, { headers: object }> } }
  t.strictSame(Object.keys(components.responses.tooManyRequests?.headers ?? {}), [
    'RateLimit-Policy',
    'RateLimit',
    'Retry-After',
  ])
  await limit('anon', {})
})

t.test('the set-up of the counts may run again, and without it each process counts on its own', async (t) => {
  const setup = await readFile(new URL('../../sql/migrations/000011_limits.sql', import.meta.url), 'utf8')
  await database.query(setup)
  await limit('anon', { max_requests_per_second: '0.01', max_request_burst: 2 })
  t.strictSame(statuses(await burst(one, 3)), { 200: 2, 429: 1 })
  t.strictSame(statuses(await burst(two, 3)), { 429: 3 })
  await database.query('drop schema rowhouse_limits cascade')
  await inDatabase('anon', 'max_request_burst', 3)
  await Promise.all([one, two].map(({ service }) => service.engine.reloadSettings()))
  for (const application of [one, two]) {
    t.strictSame(statuses(await burst(application, 5)), { 200: 3, 429: 2 })
    const warnings = application.logged().filter(({ msg }) => String(msg).startsWith('each process counts requests'))
    t.equal(warnings.length, 1)
    t.match(warnings, [{ level: 'warn', msg: /run sql\/migrations\/000011_limits\.sql/ }])
  }
  await database.query(setup)
})
