// The effect of each setting on responses: it is set in the database, reloaded, and reset.
import { createHmac } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createOwnedDatabase } from '../support/authenticator.ts'

const { database, authenticator, anonymous, uri } = await createOwnedDatabase(t)
const member = `member_${database.name}`
await database.query(`
  create role ${member};
  grant ${member} to ${authenticator};
  create schema other;
  create table public.films (id int primary key, title text, length int);
  insert into public.films values (1, 'One', 90), (2, 'Two', 100), (3, 'Three', 110);
  create table public.roles (id int primary key, film_id int references public.films, name text);
  insert into public.roles values (1, 1, 'A'), (2, 2, 'B');
  create table other.things (id int);
  create function other.helper() returns text language sql as $$ select 'found'::text $$;
  create function public.needs_helper() returns text language plpgsql as $$ begin return helper(); end $$;
  create function public.hoisted() returns text language sql set lock_timeout = '7s'
    as $$ select current_setting('lock_timeout') $$;
  create function public.slow() returns void language sql set statement_timeout = '100ms' as 'select pg_sleep(0.6)';
  create function public.guard() returns void language plpgsql as
    $$ begin raise 'guarded' using errcode = 'PT418', hint = 'go away'; end $$;
  create function public.root() returns json language sql as $$ select '{"root": true}'::json $$;
  create function public.statements() returns bigint language sql as
    'select count(*) from pg_prepared_statements where not from_sql';
  create function public.whoami() returns text language sql as 'select current_user::text';
  create function public.claims() returns json language sql as $$ select current_setting('request.jwt.claims')::json $$;
  grant usage on schema other to ${anonymous};
  grant select on public.films, public.roles, other.things to ${anonymous};
  grant insert on public.films to ${anonymous};
`)
t.teardown(() => database.query(`drop owned by ${member}; drop role ${member}`))

const secret = 'a secret for effects, of more than 32 characters'
const { call, service } = await startApplication(t, uri, {
  REST_BASE_PATH: '/',
  PGRST_DB_ANON_ROLE: anonymous,
  PGRST_DB_EXTRA_SEARCH_PATH: '',
  PGRST_JWT_SECRET: secret,
  PGRST_ADMIN_SERVER_PORT: '1',
  // A single connection, to make the state of its session visible.
  PGRST_DB_POOL: '1',
})

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
function bearer(claims: object, key: string | Buffer = secret): { Authorization: string } {
  const input = `${base64url({ alg: 'HS256' })}.${base64url(claims)}`
  return { Authorization: `Bearer ${input}.${createHmac('sha256', key).update(input).digest('base64url')}` }
}

type Sent = readonly [method: string, path: string, headers?: Readonly<Record<string, string>>, body?: unknown]
/** What the response must contain; `header` is a header, null if it must be absent. */
type Seen = {
  readonly status?: number
  readonly body?: unknown
  readonly text?: string | RegExp
  readonly header?: readonly [name: string, value: string | RegExp | null]
}

const aggregate: Sent = ['GET', '/films?select=length.sum()']
const plan: Sent = ['GET', '/films', { Accept: 'application/vnd.pgrst.plan+json' }]
const aliased = '/films?select=id,cast:roles(name)&roles.name=eq.A&id=eq.1'
const key = Buffer.from('another key, which is bytes: \u00ff\u00fe\u00fd')

const rows: readonly (readonly [name: string, value: string, sent: Sent, without: Seen, with_: Seen])[] = [
  ['db_aggregates_enabled', 'true', aggregate, { status: 400, body: { code: 'PGRST123' } }, { body: [{ sum: 300 }] }],
  ['db_anon_role', member, ['GET', '/rpc/whoami'], { body: anonymous }, { body: member }],
  ['db_anon_role', '', ['GET', '/rpc/whoami'], { status: 200 }, { status: 401, body: { code: 'PGRST302' } }],
  ['db_extra_search_path', 'other', ['GET', '/rpc/needs_helper'], { status: 404, body: { code: '42883' } }, { body: 'found' }],
  ['db_max_rows', '2', ['GET', '/films?select=id'], { body: [{ id: 1 }, { id: 2 }, { id: 3 }] }, { body: [{ id: 1 }, { id: 2 }] }],
  ['db_plan_enabled', 'true', plan, { status: 406, body: { code: 'PGRST107' } }, { status: 200, text: /"Plan"/ }],
  ['db_pre_request', 'public.guard', ['GET', '/films'], { status: 200 }, { status: 418, body: { message: 'guarded' } }],
  ['db_root_spec', 'root', ['GET', '/'], { body: { swagger: '2.0' } }, { body: { root: true } }],
  ['db_schemas', 'other', ['GET', '/things'], { status: 404 }, { status: 200, body: [] }],
  ['db_tx_end', 'rollback', ['POST', '/films', { Prefer: 'tx=commit' }, { id: 9 }],
    { status: 201, header: ['preference-applied', null] }, { status: 201, header: ['preference-applied', null] }],
  ['db_tx_end', 'rollback-allow-override', ['POST', '/films', { Prefer: 'tx=rollback' }, { id: 8 }],
    { status: 201, header: ['preference-applied', null] }, { status: 201, header: ['preference-applied', 'tx=rollback'] }],
  ['jwt_aud', 'shop', ['GET', '/films', bearer({ aud: 'other' })], { status: 200 }, { status: 401, body: { code: 'PGRST303' } }],
  ['jwt_role_claim_key', '$.app.role', ['GET', '/rpc/whoami', bearer({ app: { role: member } })], { body: anonymous }, { body: member }],
  ['jwt_role_claim_key', '.app.role', ['GET', '/rpc/whoami', bearer({ app: { role: member } })], { body: anonymous }, { body: member }],
  ['jwt_secret', 'y'.repeat(32), ['GET', '/films', bearer({}, 'y'.repeat(32))], { status: 401, body: { code: 'PGRST301' } }, { status: 200 }],
  ['client_error_verbosity', 'minimal', ['GET', '/rpc/guard'],
    { body: { code: 'PT418', message: 'guarded', details: null, hint: 'go away' } }, { text: '{"code":"PT418","message":"guarded"}' }],
  ['openapi_mode', 'disabled', ['GET', '/'], { status: 200 }, { status: 404, body: { code: 'PGRST126' } }],
  ['openapi_security_active', 'true', ['GET', '/'], { text: /^(?!.*securityDefinitions)/s }, { body: { securityDefinitions: { JWT: { type: 'apiKey' } } } }],
  ['openapi_server_proxy_uri', 'https://shop.test:8443/api', ['GET', '/'],
    { body: { schemes: ['http'] } }, { body: { schemes: ['https'], host: 'shop.test:8443', basePath: '/api' } }],
  ['server_cors_allowed_origins', 'https://a.test', ['GET', '/films', { Origin: 'https://a.test' }],
    { header: ['access-control-allow-origin', '*'] }, { header: ['access-control-allow-origin', 'https://a.test'] }],
  ['server_timing_enabled', 'true', ['GET', '/films'],
    { header: ['server-timing', null] }, { header: ['server-timing', /^jwt;dur=[\d.]+, parse;dur=[\d.]+, plan;dur=/] }],
  ['server_trace_header', 'X-Trace', ['GET', '/nowhere', { 'X-Trace': 'abc' }], { header: ['x-trace', null] }, { header: ['x-trace', 'abc'] }],
  ['url_use_legacy_target_names', 'false', ['GET', aliased], { status: 200, header: ['warning', /^299 /] }, { status: 400, body: { code: 'PGRST108' } }],
] // prettier-ignore

async function check(sent: Sent, seen: Seen, title: string): Promise<void> {
  const [method, path, headers = {}, body] = sent
  const answer = await call(method, path, { headers, body })
  const { header, ...rest } = seen
  t.match(answer, rest, title)
  if (header) t.match(answer.headers.get(header[0]), header[1], `${title}: ${header[0]}`)
}

const configure = async (name: string, value: string | undefined): Promise<void> => {
  const change = value === undefined ? `reset pgrst.${name}` : `set pgrst.${name} = ${pg.escapeLiteral(value)}`
  await database.query(`alter role ${authenticator} ${change}`)
  await service.engine.reload()
}

t.test('each setting changes the response', async () => {
  for (const [name, value, sent, without, with_] of rows) {
    await check(sent, without, `without ${name}`)
    if (sent[0] === 'POST') await database.query('delete from public.films where id > 3')
    await configure(name, value)
    await check(sent, with_, `with ${name}=${value}`)
    await configure(name, undefined)
  }
  const { rows: films } = await database.query('select id from public.films where id > 3')
  t.strictSame(films, [], 'the change was rolled back')
})

t.test('a base64-encoded secret', async (t) => {
  await configure('jwt_secret', key.toString('base64'))
  await configure('jwt_secret_is_base64', 'true')
  t.match(await call('GET', '/films', { headers: bearer({}, key) }), { status: 200 })
  t.match(await call('GET', '/films', { headers: bearer({}, key.toString('base64')) }), { status: 401 })
  await configure('jwt_secret_is_base64', undefined)
  await configure('jwt_secret', undefined)
})

t.test('settings of functions apply to the whole transaction', async (t) => {
  t.match(await call('POST', '/rpc/slow', { body: {} }), { status: 500, body: { code: '57014' } })
  await configure('db_hoisted_tx_settings', 'lock_timeout')
  t.match(await call('POST', '/rpc/slow', { body: {} }), { status: 204 }, 'only the named settings')
  t.match(await call('GET', '/rpc/hoisted'), { body: '7s' })
  await configure('db_hoisted_tx_settings', undefined)
})

t.test('prepared statements can be disabled', async (t) => {
  const count = async (): Promise<number> => Number((await call('GET', '/rpc/statements')).body)
  await call('GET', '/films')
  t.ok((await count()) > 1)
  await configure('db_prepared_statements', 'false')
  await call('GET', '/films')
  t.equal(await count(), 0, 'a new session without prepared statements')
  await configure('db_prepared_statements', undefined)
})

t.test('the JWT cache can be disabled', async (t) => {
  const hits = (): number => service.engine.snapshot.loaded.verifier.cacheStatistics.hits
  const ask = () => call('GET', '/films', { headers: bearer({ sub: 'cache' }) })
  await ask()
  const before = hits()
  await ask()
  t.equal(hits(), before + 1)
  await configure('jwt_cache_max_entries', '0')
  await ask()
  await ask()
  t.equal(hits(), before + 1, 'no token is cached')
  await configure('jwt_cache_max_entries', undefined)
})

t.test('app.settings are readable in SQL', async (t) => {
  await database.query(`create function public.app(name text) returns text language sql as
    $$ select current_setting('app.settings.' || name, true) $$`)
  const { call } = await startApplication(t, uri, {
    REST_BASE_PATH: '/',
    PGRST_DB_ANON_ROLE: anonymous,
    PGRST_APP_SETTINGS_greeting: 'it\'s "me"; \\ ü',
  })
  t.match(await call('GET', '/rpc/app?name=greeting'), { body: 'it\'s "me"; \\ ü' })
})
