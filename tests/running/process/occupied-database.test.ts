// Databases that `migrate` refuses before changing anything: Supabase's, those with our names, those of unreleased versions.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startEmbedded } from '../../../server/postgres/embedded/embedded.ts'
import { migrate, pendingMigrations } from '../../../server/postgres/migrate.ts'
import { OccupiedDatabase, requireFreeDatabase } from '../../../server/postgres/occupied-database.ts'
import { rowhouse } from '../../support/command.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../../support/database.ts'
import { says, startProgram } from '../../support/program.ts'

// Each run compiles the program, and an embedded database is created.

/** The record of migrations of an unreleased version. */
const unreleased = `
  create schema rowhouse;
  create table rowhouse.migrations
    (id integer primary key, name varchar(100) unique not null, hash varchar(40) not null, executed_at timestamp);
  insert into rowhouse.migrations (id, name, hash)
  values (0, 'create-migrations-table', 'x'), (1, 'roles', 'x'), (2, 'schemas', 'x'), (99, 'grants', 'x')`

/** The schema of a GoTrue that is too old. */
const oldSupabase = `
  create schema auth;
  create table auth.users (instance_id uuid, id uuid not null unique, aud varchar(255), role varchar(255),
    email varchar(255), encrypted_password varchar(255), raw_user_meta_data jsonb);
  create table auth.identities (id text not null, user_id uuid not null, provider text not null)`

async function databaseWith(t: Test, sql: string): Promise<TestDatabase> {
  // The template comes first: its migration creates the roles of the cluster.
  await (await createMigratedDatabase()).drop()
  const database = await createDatabase()
  t.teardown(database.drop)
  await database.query(sql)
  return database
}

/** Objects of the catalogue that a migration could change. */
const catalogue = `select json_build_object(
  'schemas', (select json_agg(n order by oid) from pg_namespace n where nspname !~ '^pg_(toast_)?temp_'),
  'relations', (select json_agg(json_build_array(oid, relname, relowner, relacl) order by oid) from pg_class
    where relnamespace::regnamespace::text !~ '^pg_'),
  'functions', (select json_agg(json_build_array(oid, proname, proacl) order by oid) from pg_proc),
  'extensions', (select json_agg(extname order by oid) from pg_extension),
  'defaults', (select json_agg(d) from pg_default_acl d),
  'event triggers', (select json_agg(evtname) from pg_event_trigger))::text as value`
const stateOf = async ({ query }: TestDatabase): Promise<unknown> => (await query(catalogue)).rows[0]?.value

t.test('each conflict is named, with the remedy', async (t) => {
  const rows: readonly (readonly [string, (t: Test) => Promise<TestDatabase>, readonly RegExp[]])[] = [
    [
      'an old version of Supabase',
      (t) => databaseWith(t, oldSupabase),
      [
        /^The database "test_\w+" has the schema auth of an old version of Supabase: auth\.identities has no column /,
        /^Start a current version of GoTrue \(2\.132 or later\) on it once/m,
      ],
    ],
    [
      'a table of accounts that is not Supabase',
      (t) => databaseWith(t, 'create schema auth; create table auth.users (id uuid primary key, email text)'),
      [
        /has objects that rowhouse did not create/,
        /^ {2}table auth\.users \(owner: postgres\)$/m,
        /: create an empty database, and set MIGRATION_DATABASE_URL and DATABASE_URL to it\.$/m,
        /run `rowhouse serve` without migrating \(MIGRATE_ON_START=false\)\.$/m,
      ],
    ],
    [
      "someone else's function",
      (t) =>
        databaseWith(
          t,
          "create schema auth; create function auth.jwt() returns json language sql as 'select null::json'",
        ),
      [/has objects that rowhouse did not create/, /^ {2}function auth\.jwt\(\) \(owner: postgres\)$/m],
    ],
    [
      "someone else's view",
      (t) => databaseWith(t, 'create view public.reports as select 1 as id'),
      [
        /has objects that rowhouse did not create/,
        /^ {2}view public\.reports \(owner: postgres\)$/m,
        /leave out the services with tables of those names: SERVICES=rest,auth\.$/m,
      ],
    ],
    [
      'the migrations of an unreleased version',
      (t) => databaseWith(t, unreleased),
      [
        /^The database "test_\w+" was set up by other migrations than those of this version, which differ in: 000001_roles_and_schemas\.sql, 000002_accounts\.sql\. Nothing was changed/,
        /^If not, the database was set up by an unreleased version, from which there is no upgrade\. Instead, create an empty database, and set MIGRATION_DATABASE_URL and DATABASE_URL to it\. /m,
      ],
    ],
    [
      'another text of a migration',
      async (t) => {
        const database = await createMigratedDatabase()
        t.teardown(database.drop)
        await database.query("update rowhouse.migrations set hash = 'x' where name in ('profiles', 'reports')")
        return database
      },
      [
        / other migrations than those of this version, which differ in: 000012_profiles\.sql, 000013_reports\.sql\. /,
        /^If you changed these files, undo that, and add a migration with the next number instead\.$/m,
      ],
    ],
  ]
  for (const [name, create, messages] of rows) {
    await t.test(name, async (t) => {
      const database = await create(t)
      const before = await stateOf(database)
      await withClient(database.adminUri, async (client) => {
        for (const attempt of [migrate, pendingMigrations]) {
          const error = await attempt(client).then(
            () => undefined,
            (reason: unknown) => reason,
          )
          t.ok(error instanceof OccupiedDatabase, attempt.name)
          for (const message of messages) t.match((error as Error).message, message, attempt.name)
        }
      })
      t.equal(await stateOf(database), before, 'nothing was changed')
    })
  }
})

t.test(
  'every table that the migrations create, and every function without arguments in auth, is a conflict',
  async (t) => {
    const migrated = await createMigratedDatabase()
    t.teardown(migrated.drop)
    const { rows } = await migrated.query(`
    select format('create table %s ()', oid::regclass) as sql from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text in ('auth', 'public')
    union all
    select format('create function %s returns int language sql as ''select 1''', oid::regprocedure) from pg_proc
    where pronamespace = 'auth'::regnamespace and pronargs = 0`)
    t.equal(rows.length, 31)
    const database = await databaseWith(t, 'create schema auth')
    await withClient(database.adminUri, async (client) => {
      await requireFreeDatabase(client)
      for (const { sql } of rows) {
        await client.query('begin')
        await client.query(String(sql))
        await t.rejects(requireFreeDatabase(client), { name: 'OccupiedDatabase' }, String(sql))
        await client.query('rollback')
      }
    })
  },
)

t.test('databases with unrelated objects, and migrated ones, are accepted', async (t) => {
  const database = await databaseWith(
    t,
    `create schema auth; create table auth.tenants (); create table public.users ();
     create function auth.tenant() returns int language sql as 'select 1'`,
  )
  await withClient(database.adminUri, async (client) => {
    t.match((await migrate(client)).applied[0], /^000001_/)
    t.strictSame(await migrate(client), { applied: [] })
  })
})

t.test('migrate on the command line', async (t) => {
  const [other, old] = [
    await databaseWith(t, 'create table public.reports (id int)'),
    await databaseWith(t, unreleased),
  ]
  const before = [await stateOf(other), await stateOf(old)]
  const found =
    /^The database "test_\w+" has objects that rowhouse did not create, [^]*table public\.reports \(owner: /m
  const replaced = /^The database "test_\w+" was set up by other migrations than those of this version/m
  const [otherUri, oldUri] = [{ DATABASE_URL: other.adminUri }, { PGRST_DB_URI: old.adminUri }]
  const serving = { MIGRATE_ON_START: 'true', PGRST_SERVER_PORT: '0', PGRST_LOG_LEVEL: 'crit' }
  const rows: readonly (readonly [string[], Record<string, string>, RegExp])[] = [
    [['migrate'], otherUri, found],
    [['migrate', '--dry-run'], otherUri, found],
    [['serve'], { ...otherUri, ...serving }, found],
    [['migrate'], oldUri, replaced],
    [['migrate', '--json'], oldUri, /^\{"error":"The database \\"test_\w+\\" was set up by other [^\n]*\}\n$/],
    [['serve'], { ...oldUri, ...serving }, replaced],
  ]
  const all = await Promise.all(rows.map(([args, env]) => rowhouse(args, env)))
  for (const [index, [args, , err]] of rows.entries()) t.match(all[index], { code: 1, out: '', err }, args.join(' '))
  t.strictSame([await stateOf(other), await stateOf(old)], before, 'nothing was changed')

  const program = startProgram(t, otherUri)
  await program.line(says('listening'))
  t.equal((await program.call('GET', '/rest/v1/none')).status, 404, 'without migrations, it serves')
})

t.test('an embedded database of an unreleased version', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-occupied-'))
  await chmod(folder, 0o711)
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  const use = async (text: string): Promise<unknown> => {
    const embedded = await startEmbedded({ dataDir, log: () => undefined })
    try {
      return await withClient(embedded.adminUri, async (client) => (await client.query<object>(text)).rows)
    } finally {
      await embedded.stop()
    }
  }
  await use(unreleased)
  const env = { DATA_DIR: dataDir, PORT: '0', PGRST_LOG_LEVEL: 'crit' }
  const message = `The embedded database in ${dataDir} was set up by other migrations than those of this version`
  const advice = `Instead, rename or delete the folder ${dataDir}, or set DATA_DIR to another folder.\n`
  for (const args of [['migrate'], ['migrate', '--dry-run'], ['serve']]) {
    const ran = await rowhouse(args, env)
    t.match(ran, { code: 1, out: '' }, args.join(' '))
    t.ok(ran.err.includes(message) && ran.err.includes(advice), ran.err)
  }
  t.strictSame(await use('select count(*)::int from rowhouse.migrations'), [{ count: 4 }], 'it is unchanged')
})
