import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { migrate, pendingMigrations } from '../../server/postgres/migrate.ts'
import { uriOf } from '../support/cluster.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../support/database.ts'

const folder = new URL('../../sql/migrations/', import.meta.url)
/** All migrations, but that for servers without the services that have tables in `public`. */
const files = (await readdir(folder)).filter((name) => name !== '000017_public_privileges.sql').sort()

async function emptyDatabase(t: Test): Promise<TestDatabase> {
  // The template comes first: its migration creates the roles of the cluster, which takes a superuser.
  await (await createMigratedDatabase()).drop()
  const database = await createDatabase()
  t.teardown(database.drop)
  return database
}

async function migratedDatabase(t: Test): Promise<TestDatabase> {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  return database
}

t.test('a new database gets every migration once', async (t) => {
  const database = await emptyDatabase(t)
  await withClient(database.adminUri, async (client) => {
    t.strictSame(await pendingMigrations(client), files, 'all are pending')
    const { rows } = await client.query("select to_regnamespace('rowhouse') as schema")
    t.strictSame(rows, [{ schema: null }], 'a dry run changes nothing')
    t.strictSame(await migrate(client), { applied: files })
    t.strictSame(await pendingMigrations(client), [])
    t.strictSame(await migrate(client), { applied: [] })
    const path = await client.query<{ search_path: string }>('show search_path')
    t.equal(path.rows[0]?.search_path, '"$user", public', 'the connection settings are restored')
  })
})

t.test('a database of a later version is accepted, so that two versions can run side by side', async (t) => {
  const database = await emptyDatabase(t)
  const own = await Promise.all(
    (await readdir(folder)).map(async (name) => [name, await readFile(new URL(name, folder), 'utf8')] as const),
  )
  const next = `${String(own.length + 1).padStart(6, '0')}_made_up.sql`
  const later = { ...Object.fromEntries(own), [next]: 'create table rowhouse.made_up (id integer primary key)' }
  await withClient(database.adminUri, async (client) => {
    await migrate(client)
    t.strictSame(await migrate(client, { directory: t.testdir(later) }), { applied: [next] })
    t.strictSame(await pendingMigrations(client), [])
    t.strictSame(await migrate(client), { applied: [] })
  })
})

t.test('of several concurrent processes, one migrates and the others find it done', async (t) => {
  const database = await emptyDatabase(t)
  const applied = await Promise.all(
    [1, 2, 3, 4].map(() => withClient(database.adminUri, async (client) => (await migrate(client)).applied)),
  )
  t.strictSame(
    applied.filter((names) => names.length > 0),
    [files],
  )
})

t.test('the table of applied migrations is in no exposed schema', async (t) => {
  const database = await migratedDatabase(t)
  const { rows } = await database.query(
    "select relnamespace::regnamespace::text as schema from pg_class where relname = 'migrations' and relkind = 'r' order by 1",
  )
  t.strictSame(
    rows,
    [{ schema: 'rowhouse' }, { schema: 'supabase_functions' }],
    'the second one is for dumps of Supabase',
  )
  const tables = await database.query(
    "select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1",
  )
  t.strictSame(
    tables.rows.map(({ name }) => name),
    ['classification_runs', 'profiles', 'reports'],
  )
})

t.test("another program's table `migrations` is left unchanged", async (t) => {
  const database = await emptyDatabase(t)
  await database.query('create table public.migrations (version text)')
  t.strictSame(await withClient(database.adminUri, (client) => migrate(client)), { applied: files })
  t.equal((await database.query('select * from public.migrations')).rowCount, 0)
})

t.test('migrations of a DBA', async (t) => {
  const one = { '1_tasks.sql': 'create table tasks (id int)' }

  t.test('unqualified names resolve as in psql', async (t) => {
    const database = await emptyDatabase(t)
    await withClient(database.adminUri, (client) => migrate(client, { directory: t.testdir(one) }))
    const { rows } = await database.query(
      "select relnamespace::regnamespace::text from pg_class where relname = 'tasks'",
    )
    t.strictSame(rows, [{ relnamespace: 'public' }])
  })

  t.test('a failing migration leaves no changes, earlier ones remain', async (t) => {
    const database = await emptyDatabase(t)
    const directory = t.testdir({ ...one, '2_broken.sql': 'create table more (id int); select 1 / 0' })
    await withClient(database.adminUri, async (client) => {
      await t.rejects(migrate(client, { directory }), { message: /'broken'.*division by zero/ })
      t.strictSame(await pendingMigrations(client, { directory }), ['2_broken.sql'])
    })
    const { rows } = await database.query("select to_regclass('tasks')::text as one, to_regclass('more')::text as two")
    t.strictSame(rows, [{ one: 'tasks', two: null }])
  })

  t.test('a migration that was changed after it was applied is refused', async (t) => {
    const database = await emptyDatabase(t)
    await withClient(database.adminUri, async (client) => {
      await migrate(client, { directory: t.testdir(one) })
      const directory = t.testdir({ '1_tasks.sql': 'create table tasks (id bigint)' })
      await t.rejects(pendingMigrations(client, { directory }), { message: /differ in: 1_tasks\.sql/ })
      await t.rejects(migrate(client, { directory }), { message: /1_tasks\.sql/ })
    })
  })

  t.test('notices are passed on', async (t) => {
    const database = await emptyDatabase(t)
    const notices: string[] = []
    const directory = t.testdir({ '1_talk.sql': "do $$ begin raise notice 'hello'; end $$" })
    const onNotice = (message: string) => notices.push(message)
    await withClient(database.adminUri, (client) => migrate(client, { directory, onNotice }))
    t.strictSame(notices, ['hello'])
  })
})

t.test('an owner without superuser rights', async (t) => {
  const admin = await emptyDatabase(t)
  const owner = `owner_${admin.name}`
  await admin.query(`create role ${owner} login createrole password 'owner'`)
  await admin.query(`alter database ${admin.name} owner to ${owner}`)
  const ownerUri = admin.uri(owner, 'owner')
  t.teardown(() => admin.query(`drop owned by ${owner} cascade`).then(() => dropRole(admin.port, admin.name, owner)))

  t.test('migrates, with a notice about the steps that require a superuser', async (t) => {
    const notices: string[] = []
    const result = await withClient(ownerUri, (client) => migrate(client, { onNotice: (text) => notices.push(text) }))
    t.strictSame(result, { applied: files })
    t.match(notices.join('\n'), /event triggers/)
    await withClient(admin.uri('authenticator', 'authenticator'), async (client) => {
      const { rows } = await client.query("select email from auth.create_user('a@example.org', 'x', 'A', null)")
      t.strictSame(rows, [{ email: 'a@example.org' }])
      const found = await client.query("select email from auth.find_user('A@Example.org')")
      t.strictSame(found.rows, [{ email: 'a@example.org' }])
    })
  })

  t.test('creates missing roles', async (t) => {
    const [, sql = ''] = /^([^]*?)\ncreate schema /.exec(await readFile(new URL(files[0] ?? '', folder), 'utf8')) ?? []
    const suffix = admin.name.slice(-6)
    const renamed = sql.replaceAll(
      /\b(anon|authenticated|service_role|supabase_auth_admin|authenticator)\b/g,
      `$1_${suffix}`,
    )
    await withClient(ownerUri, async (client) => {
      await client.query(renamed)
      await client.query(renamed)
    })
    const { rows } = await admin.query(
      `select rolname::text as name, rolcanlogin as login, rolinherit as inherit,
         (select count(*)::int from pg_auth_members where member = pg_roles.oid) as granted
       from pg_roles where rolname like '%\\_${suffix}' and rolname not like 'owner%' order by 1`,
    )
    for (const name of rows.map((row) => row.name as string)) t.teardown(() => admin.query(`drop role ${name}`))
    t.strictSame(rows, [
      { name: `anon_${suffix}`, login: false, inherit: false, granted: 0 },
      { name: `authenticated_${suffix}`, login: false, inherit: false, granted: 0 },
      { name: `authenticator_${suffix}`, login: true, inherit: false, granted: 4 },
      { name: `service_role_${suffix}`, login: false, inherit: false, granted: 0 },
      { name: `supabase_auth_admin_${suffix}`, login: false, inherit: false, granted: 0 },
    ])
  })
})

async function dropRole(port: number, database: string, role: string): Promise<void> {
  await withClient(uriOf(port, 'postgres'), async (client) => {
    await client.query(`alter database ${database} owner to postgres`)
    await client.query(`drop role ${role}`)
  })
}

t.test('pgcrypto stays in the schema where it is installed', async (t) => {
  const database = await emptyDatabase(t)
  await database.query('create schema "Odd one"; create extension pgcrypto with schema "Odd one"')
  await withClient(database.adminUri, (client) => migrate(client))
  const { rows } = await database.query(
    "select extnamespace::regnamespace::text as schema from pg_extension where extname = 'pgcrypto'",
  )
  t.strictSame(rows, [{ schema: '"Odd one"' }])
})

t.test('the roles', async (t) => {
  const database = await migratedDatabase(t)
  const { rows } = await database.query(
    `select rolname::text as name, rolcanlogin as login, rolinherit as inherit, rolbypassrls as bypass, rolsuper as super,
       array(select roleid::regrole::text from pg_auth_members where member = pg_roles.oid and roleid::regrole::text !~ '_test_' order by 1) as granted
     from pg_roles where rolname in
       ('anon', 'authenticated', 'service_role', 'supabase_auth_admin', 'supabase_realtime_admin',
        'supabase_storage_admin', 'authenticator')
     order by 1`,
  )
  const none = { login: false, inherit: false, bypass: false, super: false, granted: [] }
  t.strictSame(rows, [
    { ...none, name: 'anon' },
    { ...none, name: 'authenticated' },
    {
      ...none,
      name: 'authenticator',
      login: true,
      granted: [
        'anon',
        'authenticated',
        'service_role',
        'supabase_auth_admin',
        'supabase_realtime_admin',
        'supabase_storage_admin',
      ],
    },
    { ...none, name: 'service_role', bypass: true },
    { ...none, name: 'supabase_auth_admin' },
    { ...none, name: 'supabase_realtime_admin' },
    { ...none, name: 'supabase_storage_admin' },
  ])
})

t.test('every object has a comment', async (t) => {
  const database = await migratedDatabase(t)
  const { rows } = await database.query(`
    with own as (select oid, nspname from pg_namespace where nspname in ('auth', 'public', 'realtime', 'rowhouse'))
    select nspname::text as name from own where obj_description(oid, 'pg_namespace') is null
    union all
    select c.oid::regclass::text from pg_class c join own on own.oid = relnamespace
    where relkind in ('r', 'v') and obj_description(c.oid, 'pg_class') is null
    union all
    select format('%s.%s', c.oid::regclass, attname) from pg_class c join own on own.oid = relnamespace
    join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
    where relkind in ('r', 'v') and col_description(c.oid, attnum) is null
      -- Columns of GoTrue's tables have GoTrue's names and meaning.
      and nspname <> 'auth'
    union all
    select p.oid::regprocedure::text from pg_proc p join own on own.oid = pronamespace
    where obj_description(p.oid, 'pg_proc') is null
    union all
    select format('%s on %s', polname, polrelid::regclass) from pg_policy p
    where obj_description(p.oid, 'pg_policy') is null`)
  t.strictSame(rows, [])
})

t.test('comments document the API', async (t) => {
  const database = await migratedDatabase(t)
  const { rows } = await database.query(`
    select obj_description('public'::regnamespace, 'pg_namespace') as schema,
      obj_description('public.reports'::regclass, 'pg_class') as reports,
      obj_description('public.review_report'::regproc, 'pg_proc') as review`)
  t.match(rows, [{ schema: /^Profiles, .*\n\n/, reports: /^Vehicle reports\n\n/, review: /^Approve or reject .*\n\n/ }])
  const other = await emptyDatabase(t)
  await other.query("comment on schema public is 'Ours'")
  await withClient(other.adminUri, (client) => migrate(client))
  const kept = await other.query("select obj_description('public'::regnamespace, 'pg_namespace') as comment")
  t.strictSame(kept.rows, [{ comment: 'Ours' }], 'a comment of the DBA is kept')
})

t.test('functions created later by the same role have the original default privileges', async (t) => {
  const published = "select has_function_privilege('anon', 'public.later()', 'execute') as published"
  for (const [name, before, expected] of [
    ["PostgreSQL's", '', true],
    ["the DBA's", 'alter default privileges revoke execute on functions from public', false],
  ] as const) {
    const database = await emptyDatabase(t)
    await database.query(before)
    await withClient(database.adminUri, (client) => migrate(client))
    await database.query("create function public.later() returns int language sql as 'select 1'")
    t.strictSame((await database.query(published)).rows, [{ published: expected }], name)
  }
})

t.test('types of money and distance columns', async (t) => {
  const database = await migratedDatabase(t)
  const { rows } = await database.query(`
    select attname::text as name, format_type(typbasetype, typtypmod) as type
    from pg_attribute join pg_type on pg_type.oid = atttypid
    where attrelid = 'public.reports'::regclass and attname in ('mileage', 'price') order by 1`)
  t.strictSame(rows, [
    { name: 'mileage', type: 'integer' },
    { name: 'price', type: 'numeric(11,2)' },
  ])
})

t.test('schema changes are notified', async (t) => {
  const database = await migratedDatabase(t)
  const client = new pg.Client({ connectionString: database.adminUri })
  await client.connect()
  t.teardown(() => client.end())
  let heard: string[] = []
  client.on('notification', ({ channel, payload }) => heard.push(`${channel}: ${payload ?? ''}`))
  await client.query('listen pgrst')

  const rows: readonly (readonly [string, boolean])[] = [
    ['create table public.things (id int)', true],
    ['alter table public.things add column name text', true],
    ["comment on table public.things is 'Things.'", true],
    ['create view public.names as select name from public.things', true],
    ["create function public.one() returns int language sql as 'select 1'", true],
    ['create table public.copy as select * from public.things', true],
    ['drop view public.names', true],
    ['drop function public.one()', true],
    ['create temp table scratch (id int)', false],
    ['drop table scratch', false],
    ['insert into public.things values (1)', false],
    ['begin; create table public.undone (id int); rollback', false],
    // A role that changes the schema needs no rights on the program's functions.
    [
      'create role changer; grant create on schema public to changer; set role changer; create table public.theirs ()',
      true,
    ],
    ['drop table public.theirs', true],
    ['reset role; revoke create on schema public from changer; drop role changer', false],
  ]
  for (const [sql, announced] of rows) {
    heard = []
    await client.query(sql)
    // Earlier notifications are delivered with the next response at the latest.
    await client.query('select 1')
    t.strictSame(heard, announced ? ['pgrst: reload schema'] : [], sql)
  }
})
