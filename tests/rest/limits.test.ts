// Limits of rows, embed depth and planner cost by role: `alter role … set pgrst.max_…`.
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
const reporting = `reporting_${database.name}`
t.teardown(async () => {
  await database.query(`drop owned by ${reporting}`)
  await database.drop()
})
const inDatabase = (role: string, setting: string): string =>
  `alter role ${role} in database ${database.name} set ${setting}`

await database.query(`
  create role ${reporting};
  grant ${reporting} to authenticator;
  grant usage on schema public to ${reporting};
  create table public.regions (id int primary key, name text);
  create table public.shops (id int primary key, region_id int references public.regions, owner text);
  create table public.sales (id int primary key, shop_id int references public.shops, amount numeric);
  insert into public.regions select n, 'region ' || n from generate_series(1, 2) n;
  insert into public.shops select n, 1 + n % 2, case when n % 2 = 0 then 'ann' else 'bob' end from generate_series(1, 10) n;
  insert into public.sales select n, 1 + n % 10, n from generate_series(1, 3000) n;
  create index on public.sales (shop_id);
  create function public.numbers(n int) returns setof int language sql immutable as 'select generate_series(1, n)';
  create function public.costly() returns int language plpgsql cost 1000000 as 'begin return 1; end';
  create function public.loosen() returns text language plpgsql as $$
  begin
    perform set_config('pgrst.max_rows', '1000', false), set_config('pgrst.max_cost', 'none', false),
      set_config('pgrst.max_embed_depth', '9', true);
    return current_setting('pgrst.max_rows');
  end $$;
  alter table public.shops enable row level security;
  create policy own on public.shops for all to authenticated using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
  create policy every on public.shops for all to anon, ${reporting} using (true);
  grant all on public.regions, public.shops, public.sales to anon, authenticated, ${reporting};
  analyze public.regions, public.shops, public.sales;
  ${inDatabase('anon', "pgrst.max_rows = '3'")};
  ${inDatabase('anon', "pgrst.max_embed_depth = '1'")};
  ${inDatabase('authenticated', "pgrst.max_cost = '40'")};
  alter role ${reporting} set pgrst.max_rows = '5';
  ${inDatabase(reporting, "pgrst.max_rows = 'none'")};
`)
const { call, service, logged } = await startApplication(t, database.authenticatorUri, {
  REST_BASE_PATH: '/',
  PGRST_DB_ANON_ROLE: 'anon',
  PGRST_DB_MAX_ROWS: '8',
  PGRST_DB_PLAN_ENABLED: 'true',
  PGRST_LOG_LEVEL: 'warn',
})

type Row = {
  readonly send: readonly [method: string, path: string, body?: unknown]
  readonly as?: string
  readonly sub?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly status?: number
  /** Number of rows of the answer. */
  readonly rows?: number
  readonly body?: unknown
  readonly range?: string
}

async function ask({ send: [method, path, body], as, sub, headers }: Row) {
  const token: Record<string, string> =
    as === undefined ? {} : { Authorization: await bearer(as, sub === undefined ? {} : { sub }) }
  return call(method, path, { ...(body === undefined ? {} : { body }), headers: { ...token, ...headers } })
}

async function check(t: Test, table: readonly Row[]): Promise<void> {
  for (const row of table) {
    const { send, as = 'anon', status = 200, rows, body, range } = row
    // The plan of a request is cached when it is seen for the second time.
    for (const time of ['first', 'second', 'third']) {
      const answer = await ask(row)
      const name = `${as}: ${send.join(' ')} (${time} time)`
      t.equal(answer.status, status, `${name}: ${answer.text}`)
      if (rows !== undefined) t.equal((answer.body as unknown[]).length, rows, name)
      if (body !== undefined) t.match(answer.body, body, name)
      if (range !== undefined) t.equal(answer.headers.get('content-range'), range, name)
    }
  }
}

t.test('rows: the limit of the role replaces db-max-rows', async (t) => {
  await check(t, [
    { send: ['GET', '/sales'], rows: 3, range: '0-2/*' },
    { send: ['GET', '/sales?limit=2'], rows: 2 },
    { send: ['GET', '/sales?limit=100'], rows: 3 },
    { send: ['GET', '/sales?limit=5&offset=4'], rows: 3, range: '4-6/*' },
    { send: ['GET', '/sales'], as: 'authenticated', rows: 8 },
    { send: ['GET', '/sales?select=id'], as: reporting, rows: 3000 },
    { send: ['GET', '/sales'], headers: { Prefer: 'count=exact' }, status: 206, rows: 3, range: '0-2/3000' },
    { send: ['GET', '/rpc/numbers?n=50'], rows: 3 },
    { send: ['POST', '/rpc/numbers', { n: 50 }], as: 'authenticated', rows: 8 },
    { send: ['GET', '/shops?select=id,sales(id)&limit=1'], body: [{ sales: { length: 3 } }] },
    { send: ['GET', '/shops?select=id,sales(id)&limit=1'], as: reporting, body: [{ sales: { length: 300 } }] },
    { send: ['HEAD', '/sales'], range: '0-2/*' },
    { send: ['PATCH', '/sales?id=lte.6', { amount: 1 }], headers: { Prefer: 'return=representation' }, rows: 6 },
  ])
})

t.test('embed depth: the error names the path of the embed and the limit', async (t) => {
  const tooDeep = (path: string, depth: number) => ({
    code: 'PGRSTX82',
    message: `The embed '${path}' is too deep: the limit is 1`,
    details: `Its depth is ${depth}. Embeds of the requested resource itself have depth 1.`,
    hint: null,
  })
  await check(t, [
    { send: ['GET', '/regions?select=id,shops(id)'] },
    { send: ['GET', '/regions?select=id,shops(id,sales(id))'], status: 403, body: tooDeep('shops.sales', 2) },
    { send: ['GET', '/regions?select=id,of:shops(id,...sales(id))'], status: 403, body: tooDeep('of.sales', 2) },
    { send: ['GET', '/sales?select=shops(regions(shops(id)))'], status: 403, body: tooDeep('shops.regions', 2) },
    { send: ['GET', '/regions?select=shops(nothing(id))'], status: 403, body: tooDeep('shops.nothing', 2) },
    {
      send: ['PATCH', '/regions?id=eq.1&select=shops(sales(id))', { name: 'new' }],
      headers: { Prefer: 'return=representation' },
      status: 403,
      body: tooDeep('shops.sales', 2),
    },
    { send: ['GET', '/regions?select=shops(sales(shops(regions(name))))'], as: reporting },
    { send: ['GET', '/regions?select=shops(sales(shops(id)))&limit=0'], as: reporting, rows: 0 },
  ])
  const { rows } = await database.query("select from public.regions where name = 'new'")
  t.equal(rows.length, 0, 'the refused write has not run')
})

t.test('cost: EXPLAIN as the caller decides before the statement runs', async (t) => {
  const as = 'authenticated'
  const tooExpensive = {
    code: 'PGRSTX81',
    message: /^The request is too expensive: its estimated cost is [\d.]+, and the limit is 40$/,
  }
  await check(t, [
    { send: ['GET', '/sales?id=eq.7'], as, rows: 1 },
    { send: ['GET', '/sales?select=sum:amount&order=amount.desc'], as, status: 403, body: tooExpensive },
    { send: ['GET', '/sales?amount=gt.5&order=amount.desc'], as, status: 403, body: tooExpensive },
    { send: ['HEAD', '/sales?amount=gt.5&order=amount.desc'], as, status: 403 },
    { send: ['GET', '/sales?amount=gt.5&order=amount.desc'], as: reporting },
    { send: ['GET', '/sales?id=eq.7'], as, headers: { Prefer: 'count=exact' }, rows: 1 },
    { send: ['GET', '/sales?id=gt.7'], as, headers: { Prefer: 'count=exact' }, status: 403, body: tooExpensive },
    { send: ['GET', '/sales?id=gt.7'], as, headers: { Prefer: 'count=planned' }, status: 206, rows: 8 },
    { send: ['GET', '/sales?select=amount,shops(owner)&order=amount.desc'], as, status: 403, body: tooExpensive },
    { send: ['PATCH', '/sales?amount=gt.5', { amount: 0 }], as, status: 403, body: tooExpensive },
    { send: ['PATCH', '/sales?id=eq.7', { amount: 7 }], as, status: 204 },
    { send: ['DELETE', '/sales?amount=gt.5'], as, status: 403, body: tooExpensive },
    { send: ['POST', '/sales', { id: 7 }], as, status: 409, body: { code: '23505' } },
    { send: ['POST', '/sales', { id: 7 }], as, headers: { Prefer: 'resolution=ignore-duplicates' }, status: 201 },
    { send: ['POST', '/rpc/costly', {}], as, status: 403, body: tooExpensive },
    { send: ['POST', '/rpc/costly', {}], as: reporting, body: 1 },
    { send: ['GET', '/rpc/numbers?n=2'], as, rows: 2 },
    { send: ['GET', '/nothing'], as, status: 404, body: { code: 'PGRST205' } },
    { send: ['GET', '/sales?id=eq.x'], as, status: 400, body: { code: '22P02' } },
    {
      send: ['GET', '/sales?amount=gt.5&order=amount.desc'],
      as,
      headers: { Accept: 'application/vnd.pgrst.plan+json' },
      body: [{ Plan: {} }],
    },
    {
      send: ['GET', '/sales?amount=gt.5&order=amount.desc'],
      as,
      headers: { Accept: 'application/vnd.pgrst.plan+json; options=analyze' },
      status: 403,
      body: tooExpensive,
    },
  ])
  const { rows } = await database.query(
    'select count(*)::int as all, count(*) filter (where amount = 0)::int as changed from public.sales',
  )
  t.strictSame(rows, [{ all: 3000, changed: 0 }], 'refused writes have not run')
})

t.test('the cost of each request of a batch, of exports and of nested writes is limited', async (t) => {
  const as = 'authenticated'
  const costly = { id: 'b', method: 'PATCH', url: '/sales?amount=gt.5', body: { amount: 0 } }
  const cheap = { id: 'a', method: 'GET', url: '/sales?id=eq.7&select=id' }
  const manySales = Array.from({ length: 20 }, (_, index) => ({ id: 5000 + index }))
  const ignoring = { Prefer: 'resolution=ignore-duplicates' }
  const batch = (...requests: unknown[]): Row['send'] => ['POST', '/$batch', { requests }]
  await check(t, [
    { send: batch(cheap), as, body: { responses: [{ id: 'a', status: 200, body: [{ id: 7 }] }] } },
    { send: batch(cheap, costly), as, status: 403, body: { code: 'PGRSTX81', request: 'b' } },
    { send: batch({ ...cheap, url: '/nothing' }, costly), as, status: 404, body: { request: 'a' } },
    {
      send: ['GET', '/sales?amount=gt.5&order=amount.desc'],
      as,
      headers: { Accept: 'application/x-ndjson' },
      status: 403,
    },
    { send: ['GET', '/sales?id=eq.7&select=id'], as, headers: { Accept: 'application/x-ndjson' } },
    // Each statement costs less than 40, all together cost more.
    { send: ['POST', '/regions', { id: 77 }], as, headers: ignoring, status: 201 },
    { send: ['POST', '/regions', { id: 78, shops: [] }], as, headers: ignoring, status: 201 },
    {
      send: ['POST', '/regions', { id: 79, shops: [{ id: 79, owner: 'ann', sales: manySales }] }],
      as,
      sub: 'ann',
      headers: ignoring,
      status: 403,
      body: { code: 'PGRSTX81', details: /all statements of the request/ },
    },
  ])
  const { rows } = await database.query('select id from public.regions where id > 70 order by id')
  t.strictSame(rows, [{ id: 77 }, { id: 78 }], 'the refused write has not run')
})

t.test('a large answer is complete after its cost was checked', async (t) => {
  await database.query(inDatabase(reporting, "pgrst.max_cost = '100000'"))
  await service.engine.reloadSettings()
  for (const select of ['id', 'id,shops(owner,regions(name))']) {
    const { status, body } = await ask({ send: ['GET', `/sales?select=${select}`], as: reporting })
    t.equal(status, 200)
    t.equal((body as unknown[]).length, 3000, select)
  }
  await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const { body } = await ask({ send: ['GET', `/sales?id=eq.${n + 1}&select=id`], as: reporting })
      t.strictSame(body, [{ id: n + 1 }])
    }),
  )
})

t.test('a policy of each user applies to what EXPLAIN sees, and to the answer', async (t) => {
  await check(t, [
    {
      send: ['GET', '/shops?select=owner'],
      as: 'authenticated',
      sub: 'ann',
      body: [{ owner: 'ann' }, { owner: 'ann' }],
      rows: 5,
    },
    { send: ['GET', '/shops?select=owner'], as: 'authenticated', sub: 'bob', body: [{ owner: 'bob' }], rows: 5 },
    { send: ['GET', '/shops?select=owner'], as: 'authenticated', sub: 'eve', rows: 0 },
    { send: ['PATCH', '/shops?id=eq.1', { owner: 'eve' }], as: 'authenticated', sub: 'ann', status: 204 },
  ])
  const { rows } = await database.query('select owner from public.shops where id = 1')
  t.strictSame(rows, [{ owner: 'bob' }])
})

t.test('nothing that a request sets changes its limits', async (t) => {
  await check(t, [
    { send: ['POST', '/rpc/loosen', {}], body: '1000' },
    { send: ['GET', '/sales'], rows: 3 },
    { send: ['GET', '/regions?select=shops(sales(id))'], status: 403 },
    { send: ['GET', '/sales?limit=50'], headers: { Range: '0-49', Prefer: 'max-affected=100' }, rows: 3 },
    { send: ['POST', '/rpc/loosen', {}], as: 'authenticated', body: '1000' },
    { send: ['GET', '/sales?amount=gt.5&order=amount.desc'], as: 'authenticated', status: 403 },
  ])
})

t.test('limits change at run time, and invalid ones are ignored with a warning', async (t) => {
  const rowsOf = async (): Promise<number> => ((await ask({ send: ['GET', '/sales'] })).body as unknown[]).length
  await database.query(`${inDatabase('anon', "pgrst.max_rows = '4'")}; notify pgrst, 'reload config'`)
  t.ok(await until(async () => (await rowsOf()) === 4))
  await database.query(`${inDatabase('anon', "pgrst.max_rows = 'abc'")}; ${inDatabase('anon', "pgrst.max_row = '1'")}`)
  await service.engine.reloadSettings()
  t.equal(await rowsOf(), 8, 'db-max-rows')
  await service.engine.reloadSettings()
  const warnings = () => logged().flatMap(({ msg }) => (String(msg).startsWith('role ') ? [msg] : []))
  t.strictSame(warnings(), [
    'role anon: ignoring pgrst.max_row: there is no such limit; did you mean max_rows?',
    'role anon: ignoring pgrst.max_rows = abc: allowed is a whole number or none',
  ])
  await database.query(`alter role anon in database ${database.name} reset all`)
  await service.engine.reloadSettings()
  t.equal(await rowsOf(), 8)
  t.equal((await ask({ send: ['GET', '/regions?select=shops(sales(id))'] })).status, 200)
  t.equal(warnings().length, 2, 'each warning is written once')
})
