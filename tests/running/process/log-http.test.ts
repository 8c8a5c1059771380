// The log of requests: what it contains, and what it must never contain.
import { SignJWT } from 'jose'
import t from 'tap'
import { jwtSecret, startApplication } from '../../support/application.ts'
import { createMigratedDatabase, createDatabase } from '../../support/database.ts'
import { startProgram } from '../../support/program.ts'
import { until } from '../../support/until.ts'
import { send } from '../../support/sent-request.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.films (id int primary key, title text);
  grant all on public.films to anon;
  create table public.casts (id int primary key, film_id int references public.films, name text);
  grant select on public.casts to anon;
  create function public.fail(state text) returns void language plpgsql as $$ begin raise 'failed' using errcode = state; end $$;
  create function public.guard() returns void language sql as '';
`)
const sessions = { SESSION_SECRETS: 'hunter2'.repeat(5) }

t.test('log-level decides which responses are logged', async (t) => {
  const requests = [
    ['GET', '/rest/v1/films', 200],
    ['GET', '/rest/v1/nowhere', 404],
    ['GET', '/rest/v1/rpc/fail?state=XX000', 500],
    ['GET', '/rest/v1/rpc/fail?state=PT503', 503],
    ['GET', '/health', 200],
    ['GET', '/nothing/here', 404],
  ] as const
  const rows = [
    ['crit', []],
    ['error', [500, 503]],
    ['warn', [404, 500, 503, 404]],
    ['info', [200, 404, 500, 503, 200, 404]],
    ['debug', [200, 404, 500, 503, 200, 404]],
  ] as const
  for (const [level, expected] of rows) {
    const settings = {
      ...sessions,
      PGRST_LOG_LEVEL: level,
      PGRST_LOG_QUERY: 'true',
      PGRST_DB_PRE_REQUEST: 'public.guard',
    }
    const { call, logged } = await startApplication(t, database.authenticatorUri, settings)
    for (const [method, path, status] of requests) t.equal((await call(method, path)).status, status)
    const lines = () => logged().filter(({ event }) => event === 'request')
    t.ok(await until(() => lines().length >= expected.length))
    const requested = lines()
    t.strictSame(
      requested.map(({ status }) => status),
      expected,
      level,
    )
    const errors = logged().filter(({ event }) => event === 'database-error')
    t.equal(errors.length, level === 'crit' ? 0 : 2, `${level}: database errors`)
    if (level !== 'crit') t.match(errors[0], { error: { code: 'XX000', message: 'failed' } })
    const queries = logged()
      .filter(({ event }) => event === 'query')
      .map(({ query }) => String(query))
    // Statements of the settings, the pre-request function and the request; none for OPTIONS and unknown tables.
    t.equal(queries.length, 3 * { crit: 0, error: 2, warn: 2, info: 3, debug: 3 }[level], `${level}: queries`)
    if (level === 'info') {
      t.match(queries, [/set_config/, /"guard"/, /"films"/])
      t.match(
        logged().find(({ event }) => event === 'request'),
        { method: 'GET', path: '/rest/v1/films', role: 'anon' },
      )
    }
    t.equal(
      logged().some(({ event }) => event === 'pool-activity'),
      level === 'debug',
    )
  }
})

t.test('deprecated settings are logged', async (t) => {
  const { call, logged } = await startApplication(t, database.authenticatorUri, {
    ...sessions,
    PGRST_LOG_LEVEL: 'error',
  })
  await call('GET', '/rest/v1/films?select=id,actors:casts(name)&casts.name=eq.hunter2')
  const warnings = logged().filter(({ event }) => event === 'warning')
  t.match(warnings.at(-1), { msg: /^GET \/rest\/v1\/films: .*use actors instead of casts$/ })
  t.notMatch(JSON.stringify(logged()), /hunter2/)
})

t.test('the log contains no secret', async (t) => {
  const password = 'hunter2-of-the-database'
  await database.query(`create role hunter_${database.name} login noinherit password '${password}' in role anon`)
  t.teardown(() => database.query(`drop role hunter_${database.name}`))
  const uri = database.uri(`hunter_${database.name}`, password)
  const token = (key: string) =>
    new SignJWT({ role: 'anon', sub: 'hunter2' })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(key))
  const application = await startApplication(t, uri, {
    ...sessions,
    PGRST_LOG_LEVEL: 'debug',
    PGRST_LOG_QUERY: 'true',
    PGRST_APP_SETTINGS_key: 'hunter2',
    PGRST_SERVER_TRACE_HEADER: 'X-Trace',
  })
  const tokens = [
    await token(jwtSecret),
    await token('another secret, of more than 32 characters'),
    'hunter2',
    'hunter2.hunter2.x',
  ]
  const paths = [
    '/rest/v1/films?title=eq.hunter2&apikey=hunter2',
    '/rest/v1/films?id=eq.hunter2',
    '/rest/v1/films?title=fts.hunter2',
    '/rest/v1/films?title=in.(hunter2,"hunter2")&or=(title.eq.hunter2,id.gt.0)',
    '/rest/v1/rpc/fail?state=hunter2',
    '/rest/v1/films?hunter2',
    '/health?key=hunter2',
    '/auth/session?token=hunter2',
    '/report?x=hunter2',
    '/openapi.json?hunter2',
  ]
  for (const path of paths) {
    for (const given of tokens) {
      for (const method of ['GET', 'POST', 'PATCH']) {
        const body = JSON.stringify({
          id: 'hunter2',
          title: 'hunter2',
          email: 'hunter2@test',
          password: 'hunter2hunter2',
        })
        await send(application.url, {
          method,
          path,
          headers: {
            Authorization: `Bearer ${given}`,
            apikey: 'sb_secret_hunter2',
            Cookie: 'session=hunter2; other=hunter2',
            'Content-Type': 'application/json',
            'X-Trace': 'hunter2',
            Prefer: 'hunter2',
            Origin: 'https://hunter2.test',
          },
          ...(method === 'GET' ? {} : { body }),
        })
        if (method !== 'GET') continue
        await send(application.url, { method, path, headers: { Authorization: `Bearer ${given}` } })
      }
    }
  }
  for (const path of ['/auth/signup', '/auth/signin', '/auth/login']) {
    const body = JSON.stringify({ email: 'hunter2@test', password: 'hunter2hunter2' })
    await send(application.url, { method: 'POST', path, headers: { 'Content-Type': 'application/json' }, body })
  }
  t.ok(application.logged().length > 200, `${application.logged().length} lines`)
  t.strictSame(
    application.logged().filter((line) => JSON.stringify(line).includes('hunter2')),
    [],
  )
})

t.test('the log of a program that cannot reach its database contains no secret', async (t) => {
  const nowhere = await createDatabase()
  await nowhere.drop()
  const program = startProgram(t, {
    PGRST_DB_URI: nowhere.adminUri.replace(':postgres@', ':hunter2@'),
    PGRST_JWT_SECRET: 'hunter2'.repeat(5),
    PGRST_LOG_LEVEL: 'debug',
    PGRST_NO_SUCH_NAME: 'hunter2',
  })
  t.equal(await program.ended, 1, 'it exits because its password is wrong')
  t.match(program.written(), /password authentication failed/)
  t.match(program.written(), /PGRST_NO_SUCH_NAME is not a setting/)
  t.notMatch(program.written(), /hunter2/)
})
