// Limits of several roles with and without cached plans: no role gets the plan, the rows or the error of another.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { bearer } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const set = (role: string, name: string, value: string): string =>
  `alter role ${role} in database ${database.name} set pgrst.${name} = '${value}';`
await database.query(`
  create table public.shops (id int primary key, owner text, secret text);
  create table public.sales (id int primary key, shop_id int references public.shops, amount numeric);
  insert into public.shops select n, 'owner ' || n, 'secret' from generate_series(1, 4) n;
  insert into public.sales select n, 1 + n % 4, n from generate_series(1, 200) n;
  create function public.some_sales() returns setof public.sales stable language sql as 'select * from public.sales order by id';
  grant select on public.sales to anon, authenticated, service_role;
  grant select (id, owner) on public.shops to anon;
  grant select (id) on public.shops to authenticated;
  grant select on public.shops to service_role;
  analyze public.shops, public.sales;
  ${set('anon', 'max_rows', '2')}
  ${set('anon', 'max_embed_depth', '1')}
  ${set('authenticated', 'max_rows', '5')}
  ${set('authenticated', 'max_cost', '10')}
`)
const env = {
  REST_BASE_PATH: '/',
  PGRST_DB_ANON_ROLE: 'anon',
  PGRST_DB_MAX_ROWS: '7',
  PGRST_LOG_LEVEL: 'crit',
  DB_SELECT_READABLE_COLUMNS: 'true',
}
const cached = await startApplication(t, database.authenticatorUri, env)
const uncached = await startApplication(t, database.authenticatorUri, { ...env, PLAN_CACHE_MAX_ENTRIES: '0' })
const tokens = await Promise.all(['anon', 'authenticated', 'service_role'].map((role) => bearer(role)))

const targets: readonly (readonly [path: string, headers?: Record<string, string>])[] = [
  ['/sales?order=id'],
  ['/sales?order=id&limit=3'],
  ['/sales?order=id&limit=100&offset=1'],
  ['/sales?order=id', { Accept: 'text/csv' }],
  ['/sales?order=id', { Prefer: 'count=exact' }],
  ['/sales?order=id', { Prefer: 'pagination=keyset' }],
  ['/sales?order=amount.desc'],
  ['/shops?order=id'],
  ['/shops?id=eq.1'],
  ['/shops?select=*,sales(id)&order=id'],
  ['/shops?select=id,...sales(amount)&order=id'],
  ['/shops?select=id,sales(id,shops(*))&order=id'],
  ['/sales?select=id,shops(*)&order=id'],
  ['/rpc/some_sales?select=id'],
  ['/rpc/some_sales?select=id,shops(*)'],
]

t.test('each request has the same answer with and without cached plans', async (t) => {
  const random = seededRandom(testSeed(188))
  const seen = new Set<unknown>()
  for (let round = 0; round < 12; round++) {
    const requests = Array.from({ length: 8 }, () => ({
      target: targets[random.below(targets.length)] ?? ['/sales'],
      token: tokens[random.below(tokens.length)] ?? '',
    }))
    await Promise.all(
      requests.map(async ({ target: [path, headers = {}], token }) => {
        const more = { headers: { ...headers, Authorization: token } }
        const [one, other] = await Promise.all([cached, uncached].map(({ call }) => call('GET', path, more)))
        seen.add((one?.body as { code?: unknown } | undefined)?.code ?? one?.status)
        const described = [one, other].map((answer) => [
          answer?.status,
          answer?.text,
          ...['content-range', 'rows-truncated', 'etag'].map((name) => answer?.headers.get(name)),
        ])
        t.strictSame(described[0], described[1], `${token.length} ${path} ${JSON.stringify(headers)}`)
      }),
    )
  }
  t.strictSame([...seen].sort(), [200, 206, 'PGRSTX81', 'PGRSTX82'], 'rows and refusals')
})

t.test('each role has its own limits and columns', async (t) => {
  const ask = async (path: string) => {
    const answers = await Promise.all(
      tokens.map((token) => cached.call('GET', path, { headers: { Authorization: token } })),
    )
    return answers.map(({ status, body }) => (Array.isArray(body) ? body.length : status))
  }
  for (let time = 0; time < 3; time++) {
    t.strictSame(await ask('/sales?order=id'), [2, 5, 7])
    t.strictSame(await ask('/shops?select=id,sales(id,shops(*))&order=id&limit=1'), [403, 1, 1])
  }
  const columns = await Promise.all(
    tokens.map((token) => cached.call('GET', '/shops?id=eq.1', { headers: { Authorization: token } })),
  )
  t.strictSame(
    columns.map(({ body }) => Object.keys((body as readonly object[])[0] ?? {})),
    [['id', 'owner'], ['id'], ['id', 'owner', 'secret']],
  )
})
