// An existing database of Supabase, with the roles, owners and privileges of its image: migrated and served as it is.
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import t from 'tap'
import { startApplication } from '../../support/application.ts'
import { rowhouse } from '../../support/command.ts'
import { withClient } from '../../support/database.ts'
import { startSupabaseDatabase } from '../../support/supabase-database.ts'
import { signToken } from '../../support/token.ts'

const database = await startSupabaseDatabase(t)
const services = 'rest,auth,storage,realtime'
const ann = 'aaaaaaaa-0000-4000-8000-000000000001'

const environment = (role: string, name = 'postgres'): Record<string, string> => ({
  SERVICES: services,
  MIGRATIONS_DIR: 'none',
  DATABASE_URL: database.uri('authenticator', name),
  MIGRATION_DATABASE_URL: database.uri(role, name),
})

/** Who may act as whom. */
const memberships = async (): Promise<readonly string[]> =>
  (
    await database.query(
      `select distinct pg_get_userbyid(member) || ' is ' || pg_get_userbyid(roleid) as name from pg_auth_members
       where 'authenticator'::regrole in (roleid, member) or member = 'supabase_storage_admin'::regrole order by 1`,
    )
  ).map(({ name }) => String(name))

const before = [
  'authenticator is anon',
  'authenticator is authenticated',
  'authenticator is service_role',
  'supabase_storage_admin is authenticator',
]
const after = [
  'authenticator is anon',
  'authenticator is authenticated',
  'authenticator is service_role',
  'authenticator is supabase_auth_admin',
  'authenticator is supabase_realtime_admin',
  'authenticator is supabase_storage_admin',
  'supabase_storage_admin is anon',
  'supabase_storage_admin is authenticated',
  'supabase_storage_admin is service_role',
]

/** Everything of Supabase and the project, with owners and privileges. */
const objects = `
  select distinct identity.type || ' ' || identity.identity || ' of ' || coalesce(pg_get_userbyid(object.owner), '') as name
  from (
    select 'pg_namespace'::regclass as class, oid, nspowner as owner from pg_namespace
    union all select 'pg_class'::regclass, oid, relowner from pg_class where relkind not in ('t')
    union all select 'pg_proc'::regclass, oid, proowner from pg_proc
    union all select 'pg_policy'::regclass, oid, null from pg_policy
    union all select 'pg_trigger'::regclass, oid, null from pg_trigger where not tgisinternal
    union all select 'pg_event_trigger'::regclass, oid, evtowner from pg_event_trigger
    union all select 'pg_publication'::regclass, oid, pubowner from pg_publication
  ) as object, pg_identify_object(object.class, object.oid, 0) as identity
  where object.oid >= 16384
  union all
  select format('%s may %s %s', grantee::regrole, privilege_type, pg_class.oid::regclass) from pg_class, aclexplode(relacl)
  where relnamespace in ('auth'::regnamespace, 'storage'::regnamespace, 'public'::regnamespace) and grantee > 0
  union all
  select format('%s may %s schema %s', grantee::regrole, privilege_type, nspname) from pg_namespace, aclexplode(nspacl)
  where pg_namespace.oid >= 16384 and grantee > 0
  order by 1`
const namesIn = async (name = 'postgres'): Promise<readonly string[]> =>
  withClient(database.uri('supabase_admin', name), async (client) =>
    (await client.query<{ name: string }>(objects)).rows.map((row) => row.name),
  )

t.test('the superuser migrates', async (t) => {
  await database.query('create database copy template postgres')
  const had = await namesIn('copy')
  const env = environment('supabase_admin', 'copy')
  t.strictSame(await memberships(), before)
  const dryRun = await rowhouse(['migrate', '--dry-run'], env)
  t.match(dryRun, { code: 0, out: /^Would apply:\n {2}000001_/ })
  t.strictSame(await memberships(), before, 'a dry run changes nothing')

  const first = await rowhouse(['migrate'], env)
  t.match(first, { code: 0, out: /^Applied:\n {2}000001_/ })
  t.match(
    first.err,
    /supabase_storage_admin is no longer a member of authenticator, but of its roles \(anon, authenticated, service_role\)/,
  )
  t.notMatch(first.err, /already exists/, 'what is there is no news')
  t.match(await rowhouse(['migrate'], env), { code: 0, out: 'The database is up to date.\n', err: '' })
  t.strictSame(await memberships(), after)
  const has = new Set(await namesIn('copy'))
  t.strictSame(
    had.filter((name) => !has.has(name)),
    [],
    'everything is still there, with its owner and privileges',
  )
})

t.test('what a role without superuser rights may not do is named, and nothing is changed', async (t) => {
  await database.query(
    `revoke supabase_auth_admin, supabase_storage_admin, supabase_realtime_admin from authenticator;
     revoke anon, authenticated, service_role from supabase_storage_admin; grant authenticator to supabase_storage_admin;
     -- As in the images of 2024.
     revoke supabase_storage_admin from postgres`,
  )
  t.strictSame(await memberships(), before)
  const had = await namesIn()
  for (const args of [['migrate', '--dry-run'], ['migrate']]) {
    const { code, err } = await rowhouse(args, environment('postgres'))
    t.equal(code, 1)
    t.match(err, /the role postgres may not change them as the server needs\. Nothing was changed\./)
  }
  t.strictSame(await memberships(), before)
  t.strictSame(await namesIn(), had)
})

t.test('after these statements, it migrates', async (t) => {
  const had = await namesIn()
  const { err } = await rowhouse(['migrate'], environment('postgres'))
  const statements = Array.from(err.matchAll(/^ {2}(.*;)$/gm), ([, statement]) => statement)
  for (const statement of [
    'grant anon, authenticated, service_role to supabase_storage_admin;',
    'grant usage on schema storage to authenticator;',
    'grant usage on schema realtime to authenticator;',
    'grant supabase_storage_admin to postgres;',
  ]) {
    t.ok(statements.includes(statement), statement)
  }
  await database.query(statements.join('\n'))
  t.match(await rowhouse(['migrate'], environment('postgres')), { code: 0, out: /^Applied:\n {2}000001_/ })
  t.match(await rowhouse(['migrate'], environment('postgres')), {
    code: 0,
    out: 'The database is up to date.\n',
    err: '',
  })
  t.strictSame(await memberships(), after)
  const has = new Set(await namesIn())
  t.strictSame(
    had.filter((name) => !has.has(name)),
    [],
  )
})

t.test("Supabase's storage service still acts as the roles of the API", async (t) => {
  await database.query(`alter role supabase_storage_admin password 'supabase_storage_admin'`)
  await withClient(database.uri('supabase_storage_admin'), async (client) => {
    for (const role of ['anon', 'authenticated', 'service_role']) {
      await client.query(`select set_config('role', '${role}', true)`)
      t.equal((await client.query('select current_setting($1) as role', ['role'])).rowCount, 1, role)
    }
  })
})

const open = async (url: string, key?: string): Promise<SupabaseClient> =>
  createClient(url, key ?? (await signToken({ role: 'anon' })), {
    auth: { persistSession: false, autoRefreshToken: false },
    // Node 20 has no WebSocket.
    realtime: { transport: class {} as never },
  })

for (const name of ['postgres', 'copy']) {
  t.test(`supabase-js on the database ${name}`, async (t) => {
    const { url } = await startApplication(t, database.uri('authenticator', name), {
      SERVICES: services,
      MIGRATIONS_DIR: 'none',
      STORAGE_FILE_BACKEND_PATH: t.testdir(),
      GOTRUE_MAILER_AUTOCONFIRM: 'true',
      SESSION_SECRETS: 's'.repeat(32),
    })
    const old = await open(url)
    const signedIn = await old.auth.signInWithPassword({ email: 'ann@example.org', password: 'correct horse' })
    t.match(signedIn, { data: { user: { id: ann } }, error: null }, 'a user of before')
    t.strictSame((await old.from('tasks').select('title')).data, [{ title: 'Write to Bob' }])
    t.match((await old.from('tasks').insert({ owner: 'aaaaaaaa-0000-4000-8000-000000000002', title: 'x' })).error, {
      code: '42501',
    })
    t.strictSame((await old.from('members').select()).data, [{ id: ann, full_name: 'Ann Lee' }])
    const again = await old.auth.refreshSession({ refresh_token: 'abcdefghijkl' })
    t.match(again, { data: { user: { id: ann } }, error: null }, 'a session of before')

    const page = await open(url)
    const email = `dora-${name}@example.org`
    const joined = await page.auth.signUp({
      email,
      password: 'correct horse',
      options: { data: { full_name: 'Dora' } },
    })
    t.match(joined, { data: { user: { email } }, error: null })
    const id = joined.data.user?.id ?? ''
    t.strictSame((await page.from('members').select()).data, [{ id, full_name: 'Dora' }], 'the trigger has run')
    t.equal((await page.from('tasks').insert({ title: 'Mine' })).error, null)
    t.strictSame((await page.from('tasks').select('owner, title')).data, [{ owner: id, title: 'Mine' }])
    t.strictSame((await page.rpc('count_tasks')).data, 1)
    t.strictSame((await (await open(url)).from('tasks').select()).data, [], 'without sign-in')

    const papers = page.storage.from('papers')
    t.equal((await papers.upload(`${id}/a.txt`, 'abc', { contentType: 'text/plain' })).error, null)
    t.equal(await (await papers.download(`${id}/a.txt`)).data?.text(), 'abc')
    t.match((await papers.list(id)).data, [{ name: 'a.txt' }])
    t.match((await papers.upload(`${ann}/a.txt`, 'abc')).error, { message: /row-level security/ })
    t.match((await old.storage.from('papers').list(ann)).data, [{ name: 'old.txt' }], 'an object of before')
    t.equal((await papers.remove([`${id}/a.txt`])).error, null)
    const admin = await open(url, await signToken({ role: 'service_role' }))
    t.match((await admin.storage.listBuckets()).data, [{ id: 'papers' }, { id: 'pictures' }])
    t.equal((await admin.storage.from('pictures').upload('a.txt', 'abc')).error, null)
    t.equal(await (await fetch(page.storage.from('pictures').getPublicUrl('a.txt').data.publicUrl)).text(), 'abc')
    t.match((await admin.auth.admin.listUsers()).data.users.length, 4)
    t.equal((await page.auth.signOut()).error, null)
    t.match(await page.auth.signInWithPassword({ email, password: 'correct horse' }), { error: null })
  })
}

type Finding = { readonly code: string; readonly object: { readonly schema: string | null; readonly name: string } }

t.test('check finds what is true of the project, and nothing in the schemas of Supabase', async (t) => {
  const { code, out } = await rowhouse(['check', '--json'], environment('postgres'))
  t.equal(code, 1)
  const { lints: findings } = JSON.parse(out) as { readonly lints: readonly Finding[] }
  t.strictSame(
    [...new Set(findings.map(({ code: lint, object }) => `${lint} ${object.schema ?? object.name}`))].sort(),
    // Supabase lets `anon` and `authenticated` access everything in the schema `public`, but for row-level security.
    ['default_privileges_open_functions public', 'grant_without_policy public', 'realtime_delete_by_key public'],
  )
})
