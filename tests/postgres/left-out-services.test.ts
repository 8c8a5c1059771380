// Services that a server does not have: nothing of them is created in its database, and their paths say so, to pages, too.
import { readFile } from 'node:fs/promises'
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { allMigrations, migrate } from '../../server/postgres/migrate.ts'
import { startApplication } from '../support/application.ts'
import { createDatabase, createMigratedDatabase, withClient } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

const folder = new URL('../../sql/migrations/', import.meta.url)

/** Every object that is no part of PostgreSQL or an extension, without constraints and what else belongs to another one. */
const objects = `
  select distinct identity.type || ' ' || identity.identity as name
  from (
    select 'pg_namespace'::regclass as class, oid from pg_namespace
    union all select 'pg_class'::regclass, oid from pg_class where relkind not in ('i', 'I', 't')
    union all select 'pg_proc'::regclass, oid from pg_proc
    union all select 'pg_type'::regclass, oid from pg_type where typtype in ('d', 'e')
    union all select 'pg_policy'::regclass, oid from pg_policy
    union all select 'pg_trigger'::regclass, oid from pg_trigger where not tgisinternal
    union all select 'pg_event_trigger'::regclass, oid from pg_event_trigger
  ) as object, pg_identify_object(object.class, object.oid, 0) as identity
  where object.oid >= 16384
    and not exists (select from pg_depend d where d.classid = object.class and d.objid = object.oid and d.deptype = 'e')
  order by 1`

const namesOf = async (services: readonly string[]): Promise<readonly string[]> => {
  const database = await createDatabase()
  t.teardown(database.drop)
  return withClient(database.adminUri, async (client) => {
    await migrate(client, { services })
    return (await client.query<{ name: string }>(objects)).rows.map(({ name }) => name)
  })
}

t.test('the catalogue', async (t) => {
  // The template comes first: its migration creates the roles of the cluster.
  const all = await createMigratedDatabase()
  t.teardown(all.drop)
  const everything = (await all.query(objects)).rows.map(({ name }) => name as string)
  const few = await namesOf(['rest', 'auth'])
  const services = /report|profile|classification|valuation|estimate|vehicle|storage|realtime/
  t.ok(everything.filter((name) => services.test(name)).length > 20, 'the pattern finds them where they are')
  t.strictSame(
    few.filter((name) => services.test(name)),
    [],
  )
  t.strictSame(
    few.filter((name) => name.includes(' public.') || name.includes(' on public.')),
    [],
    'the schema public is empty',
  )
  const schemas = few.filter((name) => name.startsWith('schema '))
  t.strictSame(schemas, ['schema auth', 'schema extensions', 'schema rowhouse', 'schema rowhouse_limits'])
  t.strictSame(
    few.filter((name) => !everything.includes(name)),
    [],
    'nothing is created in their place',
  )
  const stored = await namesOf(['rest', 'storage'])
  const storageObjects = /storage|rowhouse\.(?:resumable_|delete_files|owner_lock|refuse_deleted_owner)/
  t.strictSame(
    stored.filter((name) => !few.includes(name) && !storageObjects.test(name)),
    [],
    'storage stays in its schema',
  )
})

t.test('roles', async (t) => {
  // They belong to the whole cluster, where other tests have created all of them.
  const sql = async (services: readonly string[]): Promise<string> =>
    (
      await Promise.all((await allMigrations({ services })).map((name) => readFile(new URL(name, folder), 'utf8')))
    ).join()
  t.match(await sql(['rest', 'storage']), /supabase_storage_admin/)
  t.notMatch(await sql(['rest', 'auth', 'profiles', 'reports', 'analysis']), /supabase_storage_admin/)
})

t.test('paths', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const page = { Origin: 'https://page.test' }
  const { url } = await startApplication(t, database.authenticatorUri, { SERVICES: 'rest' })
  const messages = {
    realtime: /without the service realtime \(setting SERVICES\)/,
    functions: /without the service functions \(setting SERVICES\)/,
    graphql: /no GraphQL API.*\/rest\/v1/,
    auth: /without the service auth \(setting SERVICES\)/,
    storage: /without the service storage \(setting SERVICES\)/,
  }
  for (const [name, message] of Object.entries(messages)) {
    for (const path of [`/${name}/v1`, `/${name}/v1/`, `/${name}/v1/a/b?c=d`, `/${name}/v1?apikey=x`]) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const sends = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: 'x'.repeat(100_000) } : {}
        const response = await fetch(url + path, { method, headers: page, ...sends })
        const text = await response.text()
        const is = `${method} ${path}`
        t.equal(response.status, 404, is)
        t.equal(response.headers.get('access-control-allow-origin'), '*', is)
        if (method !== 'HEAD') {
          t.match(JSON.parse(text), { status: 'fail', statusCode: 404, code: 'service_not_found', message }, is)
        }
      }
      const requested = 'apikey,authorization,content-type,x-client-info,x-region'
      const preflight = await fetch(url + path, {
        method: 'OPTIONS',
        headers: {
          ...page,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': requested,
        },
      })
      t.equal(preflight.status, 204, path)
      t.equal(preflight.headers.get('access-control-allow-headers'), requested, path)
      t.match(preflight.headers.get('access-control-allow-methods'), /POST/, path)
    }
    t.equal((await fetch(`${url}/${name}/v10`, { headers: page })).headers.get('access-control-allow-origin'), null)
  }

  const supabase = createClient(url, 'key', {
    auth: { persistSession: false },
    // Node 20 has no WebSocket.
    realtime: { transport: class {} as never },
  })
  const error: unknown = (await supabase.functions.invoke('hello', { body: {} })).error
  t.match(await (error as { context: Response }).context.json(), { message: messages.functions })
  t.match((await supabase.auth.signInWithPassword({ email: 'a@example.org', password: 'x' })).error, {
    message: messages.auth,
  })
  t.match((await supabase.storage.listBuckets()).error, { message: messages.storage })
  const query = await fetch(`${url}/graphql/v1`, { method: 'POST', body: '{"query": "{ a }"}' })
  t.match(await query.json(), { errors: [{ message: messages.graphql }] }, 'as clients of GraphQL expect')
})

t.test('the WebSocket of Realtime', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { url } = await startApplication(t, database.authenticatorUri, {
    SERVICES: 'rest,auth',
    SESSION_SECRETS: 's'.repeat(32),
    PGRST_SERVER_CORS_ALLOWED_ORIGINS: 'https://page.test',
  })
  const upgrade = (origin: string): string =>
    ['GET /realtime/v1/websocket?apikey=x&vsn=1.0.0 HTTP/1.1', 'Host: a', `Origin: ${origin}`, 'Connection: Upgrade']
      .concat('Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', '', '')
      .join('\r\n')
  const answerTo = async (origin: string): Promise<string> => {
    const { socket, text } = rawRequest(url, upgrade(origin))
    await until(() => text().includes('without the service realtime'))
    socket.destroy()
    return text()
  }
  t.match(
    await answerTo('https://page.test'),
    /^HTTP\/1\.1 404 [^]*\r\nAccess-Control-Allow-Origin: https:\/\/page\.test\r\n/,
  )
  const refused = await answerTo('https://other.test')
  t.match(refused, /^HTTP\/1\.1 404 [^]*without the service realtime/)
  t.notMatch(refused, /Access-Control-Allow-Origin/)
})

t.test('at the root, the REST API has the paths', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { call } = await startApplication(t, database.authenticatorUri, {
    REST_BASE_PATH: '/',
    PGRST_DB_ANON_ROLE: 'anon',
  })
  t.match(await call('GET', '/functions/v1'), { status: 404, body: { code: 'PGRST125' } })
})
