// A database of Supabase whose schema auth was made by GoTrue: `migrate` completes it, and it is served as it is.
import { readFile } from 'node:fs/promises'
import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { migrate, pendingMigrations } from '../../server/postgres/migrate.ts'
import { OccupiedDatabase } from '../../server/postgres/occupied-database.ts'
import { startApplication } from '../support/application.ts'
import { askAuth, passwordGrant, sessionOf } from '../support/auth.ts'
import { fail, signIn, signUp } from '../support/account.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../support/database.ts'
import { askToken } from '../support/oauth-client.ts'
import { startService } from '../support/service.ts'

const services = ['rest', 'auth']

async function databaseOfSupabase(t: Pick<Test, 'teardown'>): Promise<TestDatabase> {
  // The template comes first: its migration creates the roles of the cluster.
  await (await createMigratedDatabase()).drop()
  const database = await createDatabase()
  t.teardown(database.drop)
  await database.query(await readFile(new URL('../fixtures/supabase-auth.sql', import.meta.url), 'utf8'))
  return database
}

/** Everything in the schema auth, one name per row. */
const objects = `
  select format('%s.%s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull) as name
  from pg_attribute join pg_class on pg_class.oid = attrelid
  where relnamespace = 'auth'::regnamespace and relkind in ('r', 'i', 'S') and attnum > 0 and not attisdropped
    -- GoTrue itself made columns of this table nullable later.
    and attrelid::regclass::text <> 'auth.flow_state'
  union all
  select format('%s of %s', conname, conrelid::regclass) from pg_constraint where connamespace = 'auth'::regnamespace
    and conname !~ '^flow_state_.*_not_null$'
  union all
  select format('%s %s owned by %s', oid::regclass, relrowsecurity, pg_get_userbyid(relowner)) from pg_class
  where relnamespace = 'auth'::regnamespace and relkind = 'r'
  union all
  select format('%s returns %s, owned by %s', oid::regprocedure, prorettype::regtype, pg_get_userbyid(proowner))
  from pg_proc where pronamespace = 'auth'::regnamespace`

t.test('migrate completes the schema auth and takes nothing away', async (t) => {
  const database = await databaseOfSupabase(t)
  const names = async (): Promise<string[]> => (await database.query(objects)).rows.map(({ name }) => String(name))
  const rows = 'select row_to_json(users) as row from auth.users order by id'
  const [before, users] = [await names(), (await database.query(rows)).rows]
  await withClient(database.adminUri, async (client) => {
    const pending = await pendingMigrations(client, { services })
    t.ok(pending.includes('000002_accounts.sql'))
    t.strictSame((await migrate(client, { services })).applied, pending)
    t.strictSame((await migrate(client, { services })).applied, [])
  })
  const after = new Set(await names())
  t.strictSame(
    before.filter((name) => !after.has(name)),
    [],
    'everything is still there',
  )
  const kept = (
    await database.query(
      "select to_jsonb(users) - array['app_role', 'email_unproven', 'password_unproven', 'phone_unproven'] as row from auth.users order by id",
    )
  ).rows
  t.strictSame(kept, users, 'no row was changed')
  t.equal((await database.query('select from auth.refresh_tokens')).rowCount, 2)

  const fresh = await createMigratedDatabase()
  t.teardown(fresh.drop)
  const columns = `
    select format('%s.%s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod)) as name
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = 'auth'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped order by 1`
  const [completed, created] = [await database.query(columns), await fresh.query(columns)]
  const present = new Set(completed.rows.map(({ name }) => name))
  t.strictSame(
    created.rows.map(({ name }) => name).filter((name) => !present.has(name)),
    [],
    'it has all columns of a new database, with the same types',
  )
})

t.test('users sign in with their old passwords', async (t) => {
  const database = await databaseOfSupabase(t)
  await withClient(database.adminUri, (client) => migrate(client))
  const { call } = await startService(t, database.uri('authenticator', 'authenticator'))
  const ann = await signIn(call, 'ANN@example.org')
  t.equal(ann.id, 'aaaaaaaa-0000-4000-8000-000000000001')
  const hash = async (email: string) =>
    String(
      (await database.query('select encrypted_password as it from auth.users where email = $1', [email])).rows[0]?.it,
    )
  t.match(await hash('ann@example.org'), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/, 'rehashed')
  await signIn(call, 'ann@example.org')

  const attempt = (email: string, password: string) => call('POST', '/auth/signin', { body: { email, password } })
  const unconfirmed = fail(403, 'Confirm your e-mail address first: see the message that was sent to it')
  const wrong = fail(401, 'Email or password is incorrect')
  for (const [email, password, body] of [
    ['ann@example.org', 'wrong horse', wrong],
    ['bob@example.org', 'correct horse', unconfirmed],
    ['bob@example.org', 'wrong horse', wrong],
    ['cleo@example.org', 'correct horse', fail(403, 'This account is banned')],
    ['cleo@example.org', 'wrong horse', wrong],
    ['nobody@example.org', 'correct horse', wrong],
  ] as const) {
    const given = await attempt(email, password)
    t.strictSame([given.status, given.body], [body.statusCode, body], `${email} ${password}`)
  }
  t.match(await hash('bob@example.org'), /^\$2a\$/, 'a refused sign-in changes nothing')

  const sessions = await ann.call('GET', '/auth/sessions')
  const { details } = sessions.body as { details: { id: string; hasCookie: boolean; userAgent: string | null }[] }
  t.match(
    details.find(({ id }) => id === 'bbbbbbbb-0000-4000-8000-000000000001'),
    { hasCookie: false, expiresAt: null, current: false, userAgent: 'node' },
    'with the session of tokens',
  )
  t.equal((await ann.call('DELETE', '/auth/sessions/bbbbbbbb-0000-4000-8000-000000000001')).status, 200)
  const left = await database.query('select token from auth.refresh_tokens')
  t.strictSame(left.rows, [{ token: 'clientsecret' }], 'its refresh tokens are gone')
  t.equal((await ann.call('GET', '/auth/me')).status, 200)

  t.equal(
    (
      await call('POST', '/auth/signup', {
        body: { email: 'bob@example.org', firstName: 'B', password: 'correct horse' },
      })
    ).status,
    409,
  )
  await signUp(call, 'new@example.org')
})

t.test('an OAuth client keeps its secret, its grants and its sessions', async (t) => {
  const database = await databaseOfSupabase(t)
  await withClient(database.adminUri, (client) => migrate(client))
  const { url } = await startApplication(t, database.uri('authenticator', 'authenticator'), {
    GOTRUE_OAUTH_SERVER_ENABLED: 'true',
  })
  const form = {
    grant_type: 'refresh_token',
    client_id: 'cccccccc-0000-4000-8000-000000000001',
    refresh_token: 'clientsecret',
  }
  const basic = (secret: string) => ({
    Authorization: `Basic ${Buffer.from(`${form.client_id}:${secret}`).toString('base64')}`,
  })
  const ask = askAuth(url)
  t.match((await askToken({ ask }, form, basic('another'))).body, { error: 'invalid_client' })
  const { body } = await askToken({ ask }, form, basic('secret of the client'))
  t.match(decodeJwt(String(body.access_token)), {
    client_id: form.client_id,
    sub: 'aaaaaaaa-0000-4000-8000-000000000001',
  })
  const person = sessionOf(await passwordGrant(ask, 'ann@example.org', 'correct horse'))
  const grants = await ask('GET', '/user/oauth/grants', { token: person.access_token })
  t.match(grants.body, [{ client: { name: 'Imported' }, scopes: ['openid', 'email'] }] as never)
})

t.test('a ban and a soft deletion end the session of a cookie at once', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { call } = await startService(t, database.authenticatorUri)
  for (const [change, undo] of [
    ["banned_until = now() + interval '1 hour'", 'banned_until = null'],
    ['deleted_at = now()', 'deleted_at = null'],
  ] as const) {
    const email = `${change.slice(0, 6)}@example.org`
    const user = await signUp(call, email)
    await database.query(`update auth.users set ${change} where id = $1`, [user.id])
    t.equal((await user.call('GET', '/auth/me')).status, 401, change)
    t.equal((await call('POST', '/auth/signin', { body: { email, password: 'correct horse' } })).status, 403, change)
    await database.query(`update auth.users set ${undo} where id = $1`, [user.id])
    t.equal((await user.call('GET', '/auth/me')).status, 200, undo)
  }
})

t.test('a role that may not change the tables of GoTrue is told so', async (t) => {
  const database = await databaseOfSupabase(t)
  const owner = `owner_${database.name}`
  await database.query(
    `create role ${owner} login createrole password 'owner'; grant all on database ${database.name} to ${owner}`,
  )
  t.teardown(() => database.query(`drop owned by ${owner}; drop role ${owner}`))
  await withClient(database.uri(owner, 'owner'), async (client) => {
    const error = await migrate(client, { services }).catch((reason: unknown) => reason)
    t.ok(error instanceof OccupiedDatabase)
    t.match(
      (error as Error).message,
      /whose tables belong to supabase_auth_admin; the role owner_\w+ may not add columns/,
    )
    t.match((error as Error).message, /^Set MIGRATION_DATABASE_URL to a connection string of a superuser/m)
  })
})

t.test('a project table in the way of the product is named, with the remedy', async (t) => {
  const database = await databaseOfSupabase(t)
  await database.query('create table public.profiles (id uuid primary key references auth.users)')
  await withClient(database.adminUri, async (client) => {
    await t.rejects(migrate(client), { message: /table public\.profiles[^]*SERVICES=rest,auth/ })
    t.ok((await migrate(client, { services })).applied.length > 0)
  })
})

t.test('default privileges of Supabase add nothing to the tables and functions of the server', async (t) => {
  const privileges = `
    select format('%s may %s %s %s', grantee::regrole, privilege_type, pg_class.oid::regclass, attname) as name
    from pg_class left join lateral (
      select null as attname, relacl as acl
      union all select attname, attacl from pg_attribute where attrelid = pg_class.oid and attacl is not null
    ) as part on true, aclexplode(acl)
    where relnamespace = 'public'::regnamespace and grantee in ('anon'::regrole, 'authenticated'::regrole)
    union all
    select format('%s may %s %s', case grantee when 0 then 'public' else grantee::regrole::text end, privilege_type, oid::regprocedure)
    from pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
    where pronamespace = 'public'::regnamespace and grantee in (0, 'anon'::regrole, 'authenticated'::regrole)
    order by 1`
  const usual = await createMigratedDatabase()
  const database = await createDatabase()
  t.teardown(() => Promise.all([usual.drop(), database.drop()]).then(() => undefined))
  await database.query(`
    alter default privileges in schema public grant all on tables to anon, authenticated, service_role;
    alter default privileges in schema public grant all on functions to anon, authenticated, service_role;
    alter default privileges in schema public grant all on sequences to anon, authenticated, service_role`)
  await withClient(database.adminUri, async (client) => {
    // In the order in which a server may get its services.
    await migrate(client, { services: ['rest', 'auth', 'profiles'] })
    await migrate(client, { services: ['rest', 'auth', 'profiles', 'reports'] })
    await migrate(client)
  })
  const wanted = (await usual.query(privileges)).rows
  t.ok(wanted.length > 30)
  t.strictSame((await database.query(privileges)).rows, wanted)
})
