// Migrations of the user's own: what is applied, what is refused, and what errors say.
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type pg from 'pg'
import t, { type Test } from 'tap'
import { acceptMigration, applyMigrations, tryFile, type ApplyOptions } from '../../server/tools/migrations/apply.ts'
import { readMigrations } from '../../server/tools/migrations/migration-file.ts'
import { createDatabase, withClient, type TestDatabase } from '../support/database.ts'

/** One database for all tests, which use schemas of their own names and forget what was applied before. */
const database: TestDatabase = await createDatabase()
t.teardown(database.drop)

type Files = Readonly<Record<string, string>>

/** A folder with files, whose paths in messages are like `DIR/1_a.sql`. */
async function folderOf(t: Test, files: Files): Promise<string> {
  const folder = join(t.testdir({}), 'migrations')
  await mkdir(folder)
  await save(folder, files)
  return folder
}

const save = (folder: string, files: Files): Promise<unknown> =>
  Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)))

const fresh = (): Promise<unknown> =>
  database.query(
    'drop schema if exists rowhouse cascade; drop schema if exists supabase_migrations cascade; drop schema if exists public cascade; create schema public',
  )

const use = <T>(run: (client: pg.Client) => Promise<T>): Promise<T> => withClient(database.adminUri, run)

/** The names of the applied files, or the message of the error, without the folder. */
async function apply(folder: string, options: ApplyOptions = {}): Promise<readonly string[] | string> {
  const plain = (text: string): string => text.replaceAll(`${folder}/`, '')
  try {
    const { applied, seeded, notes } = await use((client) => applyMigrations(client, folder, options))
    return [...applied, ...seeded.map((seed) => `seed ${basename(seed)}`), ...notes].map(plain)
  } catch (error) {
    return plain(error instanceof Error ? error.message : String(error))
  }
}

const value = async (sql: string): Promise<unknown> => Object.values((await database.query(sql)).rows[0] ?? {})[0]

t.beforeEach(fresh)

t.test('files are applied once, in the order of their numbers', async (t) => {
  const folder = await folderOf(t, {
    '10_c.sql': 'insert into log values (3)',
    '9_b.sql': 'insert into log values (2)',
    '001_a.sql': '-- The first one\ncreate table log (n int, at int generated always as identity);',
    'README.md': 'no SQL',
    'notes.sql': 'select 1 / 0',
    '002_gone.down.sql': 'select 1 / 0',
  })
  const ignored = ['002_gone.down.sql', 'notes.sql'].map(
    (name) => `${name} is not applied: names of migrations are like 001_name.sql.`,
  )
  t.strictSame(await apply(folder), ['001_a.sql', '9_b.sql', '10_c.sql', ...ignored])
  t.strictSame(await apply(folder), ignored)
  t.equal(await value('select array_agg(n order by at)::text from log'), '{2,3}')
  await save(folder, { '20240101000000_d.sql': '' })
  t.strictSame(await apply(folder), ['20240101000000_d.sql', ...ignored], 'a file without statements')
})

const rolledBack = 'The file was rolled back: nothing of it has taken effect.'

t.test('errors name file, line, column and statement', async (t) => {
  const table: [string, string, readonly (string | RegExp)[]][] = [
    [
      'a position in the second statement, after characters of two units',
      "create table a (id int); -- 🏠\ncreate table b (\n  name text default '🏠🏠', id ibt\n);",
      [
        '1_a.sql:3:30: type "ibt" does not exist (42704)',
        " 3 |   name text default '🏠🏠', id ibt",
        '   |                                ^',
        `This is statement 2 of 2. ${rolledBack}`,
      ],
    ],
    [
      'a syntax error after a tab, with line ends of Windows',
      'create table a (id int);\r\n\tselec 1;\r\n',
      [
        '1_a.sql:2:2: syntax error at or near "selec" (42601)',
        ' 2 | \tselec 1;',
        '   | \t^',
        `This is statement 2 of 2. ${rolledBack}`,
      ],
    ],
    [
      'an error without a position: the beginning of the statement',
      'create table a (id int primary key);\n\n-- twice\ninsert into a\nvalues (1), (1);',
      [
        '1_a.sql:4: duplicate key value violates unique constraint "a_pkey" (23505)',
        ' 4 | insert into a',
        'Detail: Key (id)=(1) already exists.',
        `This is statement 2 of 2. ${rolledBack}`,
      ],
    ],
    [
      'a block: the line within it',
      "create table a ();\ndo $$\nbegin\n  perform 1;\n  raise exception 'no' using hint = 'Try again';\nend $$;",
      [
        '1_a.sql:5: no (P0001)',
        "   5 |   raise exception 'no' using hint = 'Try again';".replace('   5', ' 5'),
        'Hint: Try again',
        'Context: PL/pgSQL function inline_code_block line 4 at RAISE',
        `This is statement 2 of 2. ${rolledBack}`,
      ],
    ],
    [
      'a deferred constraint',
      'create table a (id int primary key, b int references a deferrable initially deferred);\ninsert into a values (1, 2);',
      [
        '1_a.sql:2: insert or update on table "a" violates foreign key constraint "a_b_fkey" (23503)',
        ' 2 | insert into a values (1, 2);',
        'Detail: Key (b)=(2) is not present in table "a".',
        `This is statement 2 of 2. The error was reported at the end of the transaction. ${rolledBack}`,
      ],
    ],
    [
      'a command of psql',
      'create table a ();\n\\connect other\n',
      [
        '1_a.sql:2:1: syntax error at or near "\\" (42601)',
        ' 2 | \\connect other',
        '   | ^',
        'Commands of psql, which begin with a backslash, are no SQL.',
        `This is statement 2 of 2. ${rolledBack}`,
      ],
    ],
    [
      'a long line',
      `create table a (); select '${'x'.repeat(300)}', nothing, '${'y'.repeat(300)}';`,
      [
        '1_a.sql:1:331: column "nothing" does not exist (42703)',
        ` 1 | …${'x'.repeat(57)}', nothing, '${'y'.repeat(90)}…`,
        `   |  ${' '.repeat(60)}^`,
        `This is statement 2 of 2. ${rolledBack}`,
      ],
    ],
    ['a transaction that is rolled back', 'create table a ();\nrollback;', [/^1_a\.sql:2: "rollback" would undo /]],
    ['a transaction without an end', 'begin;\ncreate table a ();', [/^1_a\.sql:1: .* no commit/]],
    ['what undoes a migration', '-- migrate:up\ncreate table a ();\n-- migrate:down\ndrop table a;', [/^1_a\.sql:3: /]],
    ['NUL', 'create table a ();\n\0', ['1_a.sql:2: the file has the character NUL.']],
  ]
  for (const [name, sql, [first = '', ...more]] of table) {
    await fresh()
    const message = await apply(await folderOf(t, { '1_a.sql': sql }))
    if (typeof first === 'string') t.equal(message, [first, ...more].join('\n'), name)
    else t.match(message, first, name)
    t.equal(await value("select to_regclass('public.a') is null"), true, `${name}: nothing has taken effect`)
  }
  const folder = await folderOf(t, { '1_a.sql': 'select 1', '001_b.sql': 'select 1' })
  t.match(await apply(folder), /1_a\.sql and 001_b\.sql have the same number|001_b\.sql and 1_a\.sql have the same/)
  await writeFile(join(folder, '001_b.sql'), Buffer.from([0x66, 0xfc]))
  t.equal(await apply(folder), '001_b.sql is not UTF-8 text.')
  t.match(await apply(join(folder, 'none')), /^The folder of migrations cannot be read: ENOENT/)
})

t.test('each file starts with fresh settings, and the record survives what files set', async (t) => {
  const folder = await folderOf(t, {
    '1_a.sql': `set search_path = ''; set role pg_monitor; select 1; set statement_timeout = '1h';`,
    '2_b.sql': `alter database ${database.name} set search_path to more, public; create schema more;`,
    '3_c.sql': 'create table here (path text); insert into more.here select current_setting($$statement_timeout$$);',
    '4_d.sql': 'select pg_advisory_unlock_all(); discard all;',
  })
  t.teardown(() => database.query(`alter database ${database.name} reset search_path; drop schema more cascade`))
  t.strictSame(await apply(folder), ['1_a.sql', '2_b.sql', '3_c.sql', '4_d.sql'])
  t.equal(await value('select path from more.here'), '0')
})

t.test('transactions of a file itself', async (t) => {
  const folder = await folderOf(t, {
    '1_a.sql': `begin isolation level serializable;
      create table a as select current_setting('transaction_isolation') as level;
      savepoint s; insert into a values ('gone'); rollback to s;
      commit;`,
    '2_b.sql': 'start transaction; insert into a values (1); commit; insert into a values (2); commit; select nothing;',
  })
  t.match(
    await apply(folder),
    /^2_b\.sql:1:95: column "nothing".*\n.*\n.*\nThis is statement 6 of 6\. The first 5 statements have /,
  )
  t.equal(await value('select array_agg(level)::text from a'), '{serializable,1,2}')
  await save(folder, {
    '2_b.sql': 'start transaction; insert into a values (1); commit; insert into a values (2); commit; select 3;',
  })
  t.strictSame(await apply(folder), ['2_b.sql'])
  t.equal(await value('select count(*)::int from a'), 3, 'it went on')
})

t.test('statements that cannot run in a transaction', async (t) => {
  const folder = await folderOf(t, {
    '1_a.sql': `create table a (id int);
      insert into a values (1), (1);
      create index concurrently a_id on a (id);
      vacuum a;
      create type mood as enum ('good');
      alter type mood add value 'bad';
      create table b (mood mood default 'bad');
      do $$ begin insert into a values (2); commit; insert into a values (3); end $$;
      select 1;`,
    '2_b.sql': '-- On its own\n-- migrate:no-transaction\ninsert into a values (4);\nselect 1 / 0;',
  })
  t.match(
    await apply(folder),
    /^2_b\.sql:4: division by zero \(22012\)\n[^]* It runs outside of a transaction\. The statement before it has taken effect/,
  )
  t.equal(await value('select count(*)::int from a'), 5)
  const changed = await apply(await folderOf(t, { '2_b.sql': '-- migrate:no-transaction\ninsert into a values (5);' }))
  t.match(
    changed,
    /^2_b\.sql: its first statement has taken effect in this database, and was changed since then\.\n[^]*--accept 2_b\.sql/,
  )
  await save(folder, {
    '2_b.sql': '-- migrate:no-transaction\n-- Not again:\ninsert into a values (4);\nselect 1 / 1;',
  })
  t.strictSame(await apply(folder), ['2_b.sql'])
  t.strictSame(await apply(folder), [])
  t.equal(await value('select count(*)::int from a'), 5)
})

t.test('a concurrent index that fails, or is interrupted', async (t) => {
  const sql = 'create unique index concurrently a_id on a (id)'
  const folder = await folderOf(t, {
    '1_a.sql': 'create table a (id int); insert into a values (1), (1)',
    '2_b.sql': sql,
  })
  const failed = await apply(folder)
  t.match(failed, /^2_b\.sql:1: could not create unique index "a_id" \(23505\)/)
  t.match(
    failed,
    /No statement of the file has taken effect\. The invalid index public\.a_id that it left behind was dropped\.$/,
  )
  await database.query('delete from a')
  // As a process leaves it that is killed meanwhile.
  await database.query(
    `insert into rowhouse.project_migrations values ('2', '2_b.sql', '', 1, 0, 0, now(), null)
     on conflict (version) do update set running = 0; create unique index a_id on a (id);
     update pg_index set indisvalid = false where indexrelid = 'a_id'::regclass`,
  )
  const resumed = await apply(folder)
  t.match(
    resumed,
    /An earlier process ended while it ran, so it may have taken effect then\. The index public\.a_id is invalid: /,
  )
  await database.query('drop index a_id')
  t.strictSame(await apply(folder), ['2_b.sql'])
})

t.test('changed files', async (t) => {
  const folder = await folderOf(t, { '1_a.sql': 'create table a (id int);', '2_b.sql': 'insert into a values (1);' })
  await apply(folder)
  await save(folder, { '1_a.sql': '-- A table\r\ncreate table a (id int)\r\n;\r\n' })
  t.strictSame(await apply(folder), [], 'comments and line ends may change')
  await save(folder, { '1_a.sql': 'create table a (id bigint);' })
  const refused = await apply(folder)
  t.match(
    refused,
    /^1_a\.sql: it was changed after it was applied to this database on \d{4}-\d\d-\d\d\. Applied files do not run again\.\n/,
  )
  t.match(refused, /new file: `rowhouse migrate new NAME`\.\n.*`rowhouse migrate --accept 1_a\.sql` records it so\./)
  t.equal(await use((client) => acceptMigration(client, folder, '1_a.sql')), join(folder, '1_a.sql'))
  t.strictSame(await apply(folder), [], 'it is accepted as it is')
  await t.rejects(
    use((client) => acceptMigration(client, folder, '3_c.sql')),
    { message: /^There is no migration 3_c\.sql in .*\. There is 1_a\.sql, 2_b\.sql\.$/ },
  )
  await save(folder, { '2_b.sql': 'insert into a values (1); insert into a values (2);' })
  t.match(await apply(folder), /^2_b\.sql: 1 statements were added after/)
  t.strictSame(await apply(folder, { extend: true }), ['2_b.sql'])
  t.equal(await value('select count(*)::int from a'), 2, 'only what was added has run')
  await save(folder, { '0_late.sql': 'insert into a values (3);' })
  t.match(await apply(folder), /^0_late\.sql: the file is older than one that is applied .*\n.*--include-all/)
  t.strictSame(await apply(folder, { includeAll: true }), ['0_late.sql'])
  const fewer = await folderOf(t, { '2_b.sql': 'insert into a values (1); insert into a values (2);' })
  t.strictSame(await apply(fewer), [], 'an earlier state of the project')
})

t.test('two at once, one of which builds an index concurrently', async (t) => {
  const folder = await folderOf(t, {
    '1_a.sql': 'create table a (id int); select pg_sleep(0.5);',
    '2_b.sql': 'create index concurrently on a (id);',
    '3_c.sql': 'insert into a values (1);',
  })
  let waits = 0
  const all = await Promise.all([1, 2, 3].map(() => apply(folder, { onWait: () => void waits++ })))
  t.strictSame(all.map(({ length }) => length).sort(), [0, 0, 3])
  t.equal(waits, 2, 'the others waited')
  t.equal(await value('select count(*)::int from a'), 1)
})

t.test("a database of Supabase's command line", async (t) => {
  await database.query(
    `create schema supabase_migrations;
     create table supabase_migrations.schema_migrations (version text primary key, statements text[], name text);
     insert into supabase_migrations.schema_migrations values ('20240101000000', '{select 1}', 'profiles')`,
  )
  const folder = await folderOf(t, {
    '20240101000000_profiles.sql': 'select 1 / 0',
    '20240102000000_notes.sql': 'create table notes ()',
  })
  t.strictSame(await apply(folder), ['20240102000000_notes.sql'])
  t.strictSame(await apply(folder), [])
  await database.query('alter table supabase_migrations.schema_migrations drop column name, drop column statements')
  t.strictSame(await apply(folder), [], 'an old form of its table')
})

t.test('a seed', async (t) => {
  const folder = await folderOf(t, { '1_a.sql': 'create table a (id int primary key, name text)' })
  const seed = join(folder, '../seed.sql')
  t.strictSame(await apply(folder, { seeds: [seed] }), ['1_a.sql'], 'there is none')
  await writeFile(
    seed,
    "-- Rows\n\\restrict x\ncopy a (id, name) from stdin;\n1\ta;b\n2\t\\N\n\\.\n\\unrestrict x\ninsert into a values (3, 'c');",
  )
  t.strictSame(await apply(folder), [], 'it is not wanted')
  t.strictSame(await apply(folder, { seeds: [seed] }), ['seed seed.sql'])
  t.strictSame(await apply(folder, { seeds: [seed], reseed: true }), [], 'it was applied')
  t.equal(await value("select string_agg(id || coalesce(name, '-'), ' ' order by id) from a"), '1a;b 2- 3c')
  await writeFile(seed, 'copy a from stdin;\n4\td\nfive\te\n')
  t.match(await apply(folder, { seeds: [seed] }), [/seed\.sql was changed after it was applied\. .*--seed/])
  t.match(
    await apply(folder, { seeds: [seed], reseed: true }),
    /seed\.sql:1: invalid input syntax for type integer: "five".*\n.*\nContext: COPY a, line 2/,
  )
  await writeFile(seed, 'insert into a values (5)')
  t.strictSame(await apply(folder, { seeds: [seed], reseed: true }), ['seed seed.sql'])
})

t.test('a seed that fails after a statement outside of a transaction begins again', async (t) => {
  const folder = await folderOf(t, { '1_a.sql': 'create table a (id int primary key)' })
  const seed = join(folder, '../seed.sql')
  await writeFile(seed, 'insert into a values (1); vacuum a; insert into a values (1);')
  t.match(
    await apply(folder, { seeds: [seed] }),
    /The first 2 statements have taken effect, and run again the next time, when seed\.sql begins from its first statement: /,
  )
  await writeFile(seed, 'insert into a values (1); vacuum a; insert into a values (2);')
  t.match(await apply(folder, { seeds: [seed] }), /seed\.sql:1: duplicate key/)
  await writeFile(seed, 'insert into a values (1) on conflict do nothing; vacuum no_table;')
  t.match(await apply(folder, { seeds: [seed] }), /transaction\. The first statement has taken effect, and run again/)
  await writeFile(seed, 'insert into a values (1) on conflict do nothing; vacuum a; insert into a values (2);')
  t.strictSame(await apply(folder, { seeds: [seed] }), ['seed seed.sql'])
})

t.test('the roles of a project of Supabase come first, and seeds of one name are different ones', async (t) => {
  const role = `reader_${database.name}`
  const root = t.testdir({ supabase: { migrations: {}, a: {}, b: {} } })
  const [folder, roles] = [join(root, 'supabase/migrations'), join(root, 'supabase/roles.sql')]
  t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
  await writeFile(roles, `create role ${role}; alter role ${role} set statement_timeout = '5s';`)
  await save(folder, { '1_a.sql': `create table a (id int); grant select on a to ${role}` })
  const seeds = ['a/rows.sql', 'b/rows.sql'].map((name) => join(root, 'supabase', name))
  for (const seed of seeds) await writeFile(seed, 'insert into a values (1)')
  t.strictSame(await apply(folder, { seeds }), [roles, '1_a.sql', 'seed rows.sql', 'seed rows.sql'])
  t.strictSame(await apply(folder, { seeds }), [])
  await fresh()
  t.strictSame(await apply(folder), [roles, '1_a.sql'], 'the role exists, as in another database of the cluster')
  await writeFile(roles, 'select 1 / 0')
  t.match(await apply(folder), [/roles\.sql was changed after it was applied\. It does not run again: /])
  await fresh()
  await database.query(
    `create schema supabase_migrations;
     create table supabase_migrations.schema_migrations (version text primary key);
     insert into supabase_migrations.schema_migrations values ('1')`,
  )
  t.strictSame(await apply(folder), [], "Supabase's command line has applied them")
})

t.test('a database that is thrown away', async (t) => {
  const role = `role_${database.name}`
  await database.query(`create role ${role}`)
  t.teardown(() => database.query(`drop role ${role}`))
  const folder = await folderOf(t, {
    '1_a.sql': `create role ${role}; create table a (); drop role ${role}; create role ${role} nologin; alter system set work_mem = '1'`,
  })
  t.match(await apply(folder), /^1_a\.sql:1: role "role_.*" already exists/)
  t.strictSame(await apply(folder, { isThrowAway: true }), ['1_a.sql'])
  await fresh()
  const { files } = await readMigrations(folder)
  for (const file of files) await use((client) => tryFile(client, file))
  t.equal(await value("select to_regclass('public.a') is null"), true, 'a trial is rolled back')
})

t.test('a role without the right to create schemas', async (t) => {
  const role = `Poor_${database.name}`
  await database.query(`create role "${role}" login password 'poor'`)
  t.teardown(() => database.query(`drop role "${role}"`))
  const folder = await folderOf(t, { '1_a.sql': 'select 1' })
  await t.rejects(
    withClient(database.uri(role, 'poor'), (client) => applyMigrations(client, folder)),
    { message: /permission denied for database/ },
  )
})
