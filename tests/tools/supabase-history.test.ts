// The history of Supabase's command line and the record of this program never disagree about what was applied. Statements that
// program sends are written out here; `tests/clients/` runs the program itself.
import { createHash } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type pg from 'pg'
import t, { type Test } from 'tap'
import { acceptMigration, applyMigrations, type ApplyOptions } from '../../server/tools/migrations/apply.ts'
import { seedState } from '../../server/tools/migrations/apply-seed.ts'
import { readMigrations } from '../../server/tools/migrations/migration-file.ts'
import { planMigrations } from '../../server/tools/migrations/plan.ts'
import { readRecord } from '../../server/tools/migrations/record.ts'
import { createDatabase, withClient, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database: TestDatabase = await createDatabase()
t.teardown(database.drop)

type Files = Readonly<Record<string, string>>

const use = <T>(run: (client: pg.Client) => Promise<T>): Promise<T> => withClient(database.adminUri, run)
const query = async (sql: string, values?: unknown[]): Promise<readonly unknown[]> =>
  (await database.query(sql, values)).rows.map((row) => Object.values(row)[0])

/** A project of Supabase in a database without tables. */
async function projectOf(t: Test, files: Files): Promise<string> {
  await database.query(
    'drop schema if exists rowhouse cascade; drop schema if exists supabase_migrations cascade; drop schema if exists public cascade; create schema public',
  )
  const folder = join(t.testdir({ supabase: { migrations: {} } }), 'supabase/migrations')
  await save(folder, files)
  return folder
}

const save = (folder: string, files: Files): Promise<unknown> =>
  Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)))

/** Names of what was applied, then notes; or the message of the error. */
async function apply(folder: string, options: ApplyOptions = {}): Promise<readonly string[] | string> {
  const plain = (text: string): string => text.replaceAll(`${folder}/`, '')
  try {
    const { applied, seeded, notes } = await use((client) => applyMigrations(client, folder, options))
    return [...applied, ...seeded.map((seed) => `seed ${basename(seed)}`), ...notes].map(plain)
  } catch (error) {
    return plain(error instanceof Error ? error.message : String(error))
  }
}

const history = (): Promise<readonly unknown[]> =>
  query(
    "select version || ' ' || name || ' ' || statements::text from supabase_migrations.schema_migrations order by 1",
  )

async function states(folder: string): Promise<Readonly<Record<string, string>>> {
  const { files } = await readMigrations(folder)
  const planned = await use(async (client) => planMigrations(files, await readRecord(client)))
  return Object.fromEntries(planned.map(({ name, state }) => [name, state]))
}

/** What `supabase db push` sends for a file. */
async function push(version: string, name: string, statements: readonly string[]): Promise<void> {
  await database.query(
    `create schema if not exists supabase_migrations;
     create table if not exists supabase_migrations.schema_migrations (version text not null primary key);
     alter table supabase_migrations.schema_migrations add column if not exists statements text[];
     alter table supabase_migrations.schema_migrations add column if not exists name text`,
  )
  await use(async (client) => {
    await client.query('begin')
    for (const statement of statements) await client.query(statement)
    await client.query(
      'insert into supabase_migrations.schema_migrations (version, name, statements) values ($1, $2, $3)',
      [version, name, statements],
    )
    await client.query('commit')
  })
}

/** What `supabase migration repair` sends. */
const revert = (versions: readonly string[]): Promise<unknown> =>
  database.query('delete from supabase_migrations.schema_migrations where version = any($1)', [versions])
const markApplied = (version: string, name: string, statements: readonly string[]): Promise<unknown> =>
  database.query(
    `insert into supabase_migrations.schema_migrations (version, name, statements) values ($1, $2, $3)
     on conflict (version) do update set name = excluded.name, statements = excluded.statements`,
    [version, name, statements],
  )

t.test('what this program applies is listed as the other one lists it', async (t) => {
  const folder = await projectOf(t, {
    '20240101000000_a.sql': '-- First\ncreate table a (id int); insert into a values (1);\n',
    '20240102000000_b c.sql': 'create index concurrently on a (id)',
    '20240103000000_empty.sql': '-- Nothing\n',
  })
  t.equal((await apply(folder)).length, 3)
  t.strictSame(await history(), [
    '20240101000000 a {"create table a (id int)","insert into a values (1)"}',
    '20240102000000 b c {"create index concurrently on a (id)"}',
    '20240103000000 empty {}',
  ])
  t.strictSame(await apply(folder), [])
  t.strictSame(new Set(Object.values(await states(folder))), new Set(['applied']))
})

t.test('names that the other program does not see are not listed, and zeros stay', async (t) => {
  const folder = await projectOf(t, { '001_a.sql': '', '2.sql': '', '3-c.sql': '', '4_.sql': '' })
  t.strictSame(await apply(folder), ['001_a.sql', '2.sql', '3-c.sql', '4_.sql'])
  t.strictSame(await history(), ['001 a {}', '4  {}'])
  t.strictSame(await apply(folder), [])
})

t.test('a folder of another name has no history, unless the database has one', async (t) => {
  const folder = await projectOf(t, {})
  const other = join(folder, '../../migrations')
  await mkdir(other)
  await save(other, { '1_a.sql': 'create table a ()' })
  t.strictSame(await apply(other), ['1_a.sql'])
  t.strictSame(await query("select to_regclass('supabase_migrations.schema_migrations') is null"), [true])
  await push('2', 'b', ['create table b ()'])
  await save(other, { '2_b.sql': 'create table b ()', '3_c.sql': 'create table c ()' })
  t.strictSame(await apply(other), ['3_c.sql'])
  t.strictSame(await history(), ['1 a {"create table a ()"}', '2 b {"create table b ()"}', '3 c {"create table c ()"}'])
})

t.test('what the other program reverts is pending, and what it marks is applied', async (t) => {
  const folder = await projectOf(t, {
    '1_a.sql': 'create table if not exists a ()',
    '2_b.sql': 'create table if not exists b ()',
    '3_c.sql': 'create table c (',
  })
  t.match(await apply(folder), /^3_c\.sql:1/)
  t.strictSame(await states(folder), { '1_a.sql': 'applied', '2_b.sql': 'applied', '3_c.sql': 'pending' })
  await markApplied('3', 'c', ['create table c ('])
  t.strictSame(await apply(folder), [])
  t.equal((await states(folder))['3_c.sql'], 'applied by supabase')
  await revert(['2', '3'])
  t.strictSame(await states(folder), { '1_a.sql': 'applied', '2_b.sql': 'pending', '3_c.sql': 'pending' })
  await save(folder, { '3_c.sql': 'create table c ()' })
  t.strictSame(await apply(folder), ['2_b.sql', '3_c.sql'])
  t.equal((await history()).length, 3)
  await database.query('truncate supabase_migrations.schema_migrations')
  t.strictSame(new Set(Object.values(await states(folder))), new Set(['pending']), 'all reverted')
})

t.test('an edited file is refused until either program records it as it is', async (t) => {
  const folder = await projectOf(t, { '1_a.sql': 'create table a ()' })
  await apply(folder)
  await save(folder, { '1_a.sql': 'create table a (id int)' })
  t.match(await apply(folder), /1_a\.sql: it was changed after it was applied/)
  await markApplied('1', 'a', ['create table a (id int)'])
  t.strictSame(await apply(folder), [])
  await save(folder, { '1_a.sql': 'create table a (id bigint)' })
  await use((client) => acceptMigration(client, folder, '1_a.sql'))
  t.strictSame(await history(), ['1 a {"create table a (id bigint)"}'])
  t.strictSame(await states(folder), { '1_a.sql': 'applied' })
  await save(folder, { '1_a.sql': 'create table a (id bigint); create table b ()' })
  t.strictSame(await apply(folder, { extend: true }), ['1_a.sql'])
  t.strictSame(await history(), ['1 a {"create table a (id bigint)","create table b ()"}'])
})

t.test('squashed files', async (t) => {
  const folder = await projectOf(t, { '1_a.sql': 'create table a ()', '2_b.sql': 'create table b ()' })
  await apply(folder)
  await database.query("delete from supabase_migrations.schema_migrations where version <= '2'")
  await markApplied('2', 'b', ['create table a ()', 'create table b ()'])
  await rm(join(folder, '1_a.sql'))
  await save(folder, { '2_b.sql': 'create table a (); create table b ();' })
  t.strictSame(await states(folder), { '2_b.sql': 'applied by supabase' })
  t.strictSame(await apply(folder), [])
})

t.test('a failure in the middle: what has taken effect is listed, the rest is not', async (t) => {
  const folder = await projectOf(t, {
    '1_a.sql': 'create table a (id int)',
    '2_b.sql': 'insert into a values (1); create index concurrently on a (id); insert into a values (2 / 0)',
    '3_c.sql': 'create table c ()',
  })
  t.match(await apply(folder), /^2_b\.sql:1:\d+: division by zero|^2_b\.sql:1: division by zero/)
  t.strictSame(await history(), ['1 a {"create table a (id int)"}'])
  t.equal((await states(folder))['2_b.sql'], 'incomplete')
  // A person finishes it by hand.
  await markApplied('2', 'b', ['select 1'])
  t.strictSame(await apply(folder), ['3_c.sql'])
  t.equal((await states(folder))['2_b.sql'], 'applied by supabase')
})

t.test('files that an earlier version of this program has applied are listed with the next migration', async (t) => {
  const folder = await projectOf(t, { '1_a.sql': 'create table a ()', '2_b.sql': 'create table b ()', '3.sql': '' })
  await apply(folder)
  await database.query(
    'drop schema supabase_migrations cascade; alter table rowhouse.project_migrations drop column listed',
  )
  t.strictSame(new Set(Object.values(await states(folder))), new Set(['applied']))
  t.strictSame(await apply(folder), [])
  t.strictSame(await history(), ['1 a {"create table a ()"}', '2 b {"create table b ()"}'])
  await revert(['2'])
  t.equal((await states(folder))['2_b.sql'], 'out of order')
})

t.test(
  'without rights on the history of another role, applied files stay applied, and new ones are refused',
  async (t) => {
    const role = `poor_${database.name}`
    await database.query(`create role ${role} login password 'poor'`)
    t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
    const folder = await projectOf(t, { '1_a.sql': 'create table a ()' })
    await database.query(`grant all on schema public to ${role}; grant create on database ${database.name} to ${role}`)
    const applyAsRole = async (): Promise<unknown> =>
      withClient(database.uri(role, 'poor'), (client) => applyMigrations(client, folder)).catch((error: unknown) =>
        String(error),
      )
    t.match(await applyAsRole(), { applied: [join(folder, '1_a.sql')], notes: [] })
    await database.query(`reassign owned by ${role} to current_user; drop schema supabase_migrations cascade`)
    await database.query(
      `grant all on schema rowhouse, public to ${role}; grant all on all tables in schema rowhouse to ${role}`,
    )
    await database.query('update rowhouse.project_migrations set listed = null')
    await push('0', 'before', [])
    t.match(await applyAsRole(), /permission denied for schema supabase_migrations/, 'it cannot read what was applied')
    await database.query(
      `grant usage on schema supabase_migrations to ${role}; grant select on all tables in schema supabase_migrations to ${role}`,
    )
    t.match(await applyAsRole(), {
      applied: [],
      notes: [/^Supabase's command line does not see which migrations were applied: .*It would apply them again\.$/],
    })
    await save(folder, { '2_b.sql': 'create table b ()' })
    t.match(await applyAsRole(), /must be owner|permission denied/)
    t.strictSame(await query("select to_regclass('public.b') is null"), [true], 'nothing has taken effect')
    await database.query(`grant insert, update on supabase_migrations.schema_migrations to ${role}`)
    t.match(await applyAsRole(), { applied: [join(folder, '2_b.sql')], notes: [] }, 'that suffices')
  },
)

t.test('another program creates the history at the same time', async (t) => {
  const folder = await projectOf(t, { '1_a.sql': 'create table a (n int)' })
  const outcome = await use(async (other) => {
    await other.query('begin; create schema supabase_migrations')
    const pending = apply(folder)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await other.query(
      'create table supabase_migrations.schema_migrations (version text not null primary key, statements text[], name text); commit',
    )
    return pending
  })
  t.strictSame(outcome, ['1_a.sql'])
  t.strictSame(await history(), ['1 a {"create table a (n int)"}'])
})

t.test('both at once: each file takes effect once', async (t) => {
  const files: Record<string, string> = { '00_log.sql': 'create table log (n int)' }
  // Without objects that collide: only the history can tell.
  for (let n = 1; n <= 20; n++)
    files[`${String(n).padStart(2, '0')}_n.sql`] = `insert into log values (${n}); select pg_sleep(0.01)`
  const folder = await projectOf(t, files)
  await apply(folder, { upTo: '0' })
  const pushAll = async (): Promise<string[]> => {
    const refused: string[] = []
    for (let n = 1; n <= 20; n++) {
      const version = String(n).padStart(2, '0')
      await push(version, 'n', [`insert into log values (${n})`, 'select pg_sleep(0.01)']).catch((error: unknown) =>
        refused.push(String(error)),
      )
    }
    return refused
  }
  const [outcome, refused] = await Promise.all([apply(folder), pushAll()])
  t.type(outcome, Array, 'this program goes on')
  t.ok(refused.every((it) => it.includes('duplicate key value violates unique constraint "schema_migrations_pkey"')))
  t.strictSame(await query('select count(*)::int from log'), [20])
  t.strictSame(await query('select count(distinct n)::int from log'), [20])
  t.strictSame(await apply(folder), [])
})

t.test('another program applies a file while this one waits for a lock', async (t) => {
  const folder = await projectOf(t, { '1_a.sql': 'create table a (n int)', '2_b.sql': 'create table b ()' })
  await apply(folder, { upTo: '0' })
  await push('0', 'before', [])
  await save(folder, { '0_before.sql': '' })
  const outcome = await use(async (other) => {
    await other.query('begin; create table a (n int)')
    const pending = apply(folder)
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    t.ok(await until(async () => (await database.query(waiting)).rowCount === 1))
    await other.query(
      "insert into supabase_migrations.schema_migrations (version, name, statements) values ('1', 'a', '{}'); commit",
    )
    return pending
  })
  t.strictSame(outcome, ['2_b.sql', "1_a.sql was applied by Supabase's command line at the same time."])
})

t.test('a seed', async (t) => {
  const folder = await projectOf(t, { '1_a.sql': 'create table a (n int)' })
  const seed = join(folder, '../seed.sql')
  const seeds = { seeds: [seed] }
  const listed = (): Promise<readonly unknown[]> =>
    query("select path || ' ' || hash from supabase_migrations.seed_files")
  const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
  const list = (hash: string): Promise<unknown> =>
    database.query(
      "insert into supabase_migrations.seed_files values ('supabase/seed.sql', $1) on conflict (path) do update set hash = excluded.hash",
      [hash],
    )
  await writeFile(seed, 'insert into a values (1)')
  t.strictSame(await apply(folder, seeds), ['1_a.sql', 'seed seed.sql'])
  t.strictSame(await listed(), [`supabase/seed.sql ${hashOf('insert into a values (1)')}`])

  await writeFile(seed, 'insert into a values (2)')
  t.match(await apply(folder, seeds), [/seed\.sql was changed after it was applied/])
  await list(hashOf('insert into a values (2)'))
  t.strictSame(await apply(folder, seeds), [], 'the other program has recorded the change')
  t.equal(await use((client) => seedState(client, folder, seed)), 'applied')

  await database.query('delete from rowhouse.project_seeds')
  t.strictSame(await apply(folder, { ...seeds, reseed: true }), [], 'only the other program has applied it')
  await database.query('drop table supabase_migrations.seed_files')
  t.strictSame(await apply(folder, seeds), ['seed seed.sql'])

  await database.query('drop table supabase_migrations.seed_files')
  t.strictSame(await apply(folder, seeds), [])
  t.strictSame(await listed(), [`supabase/seed.sql ${hashOf('insert into a values (2)')}`], 'listed afterwards')
  await database.query('drop table supabase_migrations.seed_files')
  await writeFile(seed, 'insert into a values (3)')
  t.match(await apply(folder, seeds), [/seed\.sql was changed/])
  t.strictSame(await listed(), ['supabase/seed.sql '], 'the other program does not apply it as a new one')
})

t.test('hostile rows of the history', async (t) => {
  const folder = await projectOf(t, { '1_a.sql': 'create table a ()' })
  await push('0', "'; drop table a; --", [])
  await push('\u001b[31m', 'x', [])
  await push('1e3', 'x', [])
  await push('9'.repeat(300), '\u001b]0;owned\u0007', ['select 1'])
  t.match(await apply(folder), /older than one that is applied/)
  t.strictSame(await apply(folder, { includeAll: true }), ['1_a.sql'])
  t.strictSame(Object.keys(await states(folder)), [
    "0_'; drop table a; --.sql",
    '1_a.sql',
    `${'9'.repeat(300)}_\u001b]0;owned\u0007.sql`,
  ])
})
