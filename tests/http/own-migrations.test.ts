// Migrations of the user's own: what is applied, what is refused, and what errors say.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import t, { type Test } from 'tap'
import { applyMigrations, type ApplyOptions } from '../../server/program/migrations/apply.ts'
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
    return [...applied, ...(seeded === undefined ? [] : [`seed ${seeded.split('/').at(-1) ?? ''}`]), ...notes].map(
      plain,
    )
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

t.test('errors', async (t) => {
  const rolledBack = 'The file was rolled back: nothing of it has taken effect.'
  const table: [string, string, readonly string[]][] = [
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
  ]
  for (const [name, sql, expected] of table) {
    await fresh()
    t.equal(await apply(await folderOf(t, { '1_a.sql': sql })), expected.join('\n'), name)
    t.equal(await value("select to_regclass('public.a') is null"), true, `${name}: nothing has taken effect`)
  }
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
  })
  t.strictSame(await apply(folder), ['1_a.sql'])
  t.equal(await value('select count(*)::int from a'), 4)
  t.strictSame(await apply(folder), [])
})
