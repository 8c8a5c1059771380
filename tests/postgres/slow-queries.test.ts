// The log of slow statements, and their plans.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createFilmDatabase } from '../support/authenticator.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const { database, anonymous, uri } = await createFilmDatabase(t, 3)
await database.query(`
  create table public.secrets (id int primary key, owner text, text text);
  insert into public.secrets values (1, 'ann', 'x'), (2, 'bob', 'y');
  alter table public.secrets enable row level security;
  create policy own on public.secrets using (owner = current_setting('request.jwt.claims', true)::json->>'sub');
  grant select, insert, update on public.secrets to ${anonymous};
  create table public.calls (id int generated always as identity);
  create function public.late(seconds float8, note text) returns text language sql stable
    as $$ select note from pg_sleep(seconds) $$;
  create function public.count_up() returns int language sql volatile
    as $$ insert into public.calls default values; select 1 from pg_sleep(0.3) $$;
  grant insert on public.calls to ${anonymous};
  create function public.slow_write() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return new; end $$;
  create trigger slow before update on public.secrets for each row execute function public.slow_write();
`)
const settings = { PGRST_DB_ANON_ROLE: anonymous, SERVICES: 'rest', REST_BASE_PATH: '/', SLOW_QUERY_THRESHOLD: '200' }

const start = async (env: Record<string, string>) => {
  const application = await startApplication(t, uri, { ...settings, ...env })
  // On a busy machine other requests may be slow, too.
  const slow = (path: string) =>
    application.logged().filter((line) => line.event === 'slow-query' && line.path === path)
  return { ...application, slow, logged: application.logged }
}

t.test('a slow statement is logged with its request, but without values', async (t) => {
  const { call, slow, logged } = await start({})
  await call('GET', '/films?id=eq.1')
  await call('GET', '/rpc/late?seconds=0.3&note=a-secret', { headers: { 'X-Request-Id': 'the-id' } })
  await until(() => slow('/rpc/late').length > 0)
  for (const { event, duration } of logged())
    if (event === 'slow-query') t.ok(Number(duration) >= 200, 'only slow ones')
  const [line = {}] = slow('/rpc/late')
  t.match(line, {
    ...{ level: 'warn', msg: 'Slow query', method: 'GET', path: '/rpc/late', route: '/rpc/late' },
    ...{ role: anonymous, requestId: 'the-id' },
  })
  // What a busy process reads may have arrived since its last look.
  t.ok(Number(line.duration) >= 200 && Number(line.duration) < 60_000)
  t.match(line.query, /"late"/)
  t.notMatch(JSON.stringify(line), /a-secret/)
  t.equal(line.plan, undefined, 'a plan must be asked for')
})

t.test('a plan has the role and the claims of its request, and no values', async (t) => {
  const { call, slow, service } = await start({ SLOW_QUERY_PLAN: 'redacted' })
  const Authorization = await bearer(anonymous, { sub: 'ann' })
  await call('PATCH', '/secrets?id=eq.1&text=neq.a-secret', { body: { text: 'z-secret' }, headers: { Authorization } })
  await until(() => slow('/secrets').length > 0)
  const [line = {}] = slow('/secrets')
  t.match(line, { method: 'PATCH', path: '/secrets' })
  const plan = JSON.stringify(line.plan)
  t.match(plan, /"Node Type":"ModifyTable"/)
  t.match(plan, /current_setting/, 'the policy applies')
  t.match(plan, /text <> \?/)
  t.notMatch(JSON.stringify(line), /a-secret|z-secret|ann/)
  t.strictSame(await service.database.query('select 1 as one', []), [{ one: 1 }], 'the connection is as before')
})

t.test('a plan executes nothing', async (t) => {
  const { call, slow } = await start({ SLOW_QUERY_PLAN: 'full' })
  t.equal((await call('POST', '/rpc/count_up', { body: {} })).status, 200)
  await until(() => slow('/rpc/count_up').length > 0)
  t.match(slow('/rpc/count_up')[0]?.query, /count_up/)
  t.ok(slow('/rpc/count_up')[0]?.plan, 'it was planned')
  t.strictSame((await database.query('select count(*)::int as calls from public.calls')).rows, [{ calls: 1 }])
})

t.test('plans are limited, slow statements are not', async (t) => {
  const { call, slow } = await start({ SLOW_QUERY_PLAN: 'redacted' })
  await Promise.all(Array.from({ length: 12 }, (_, index) => call('GET', `/rpc/late?seconds=0.3&note=n${index}`)))
  await until(() => slow('/rpc/late').length === 12)
  t.equal(slow('/rpc/late').length, 12)
  t.ok(slow('/rpc/late').filter(({ plan }) => plan !== undefined).length <= 1)
})
