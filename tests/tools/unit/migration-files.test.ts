// Which files are migrations, what is to be done with them, and where they are.
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  checksumOf,
  compareVersions,
  readMigrations,
  type MigrationFile,
} from '../../../server/tools/migrations/migration-file.ts'
import { createMigration, nextNumber } from '../../../server/tools/migrations/new-migration.ts'
import { pendingOf, planMigrations, type MigrationState } from '../../../server/tools/migrations/plan.ts'
import { findProject, folderForNew } from '../../../server/config/project.ts'
import { findRoles, findSeeds } from '../../../server/tools/migrations/seed-files.ts'
import type { AppliedMigration } from '../../../server/tools/migrations/record.ts'
import { segmentsOf } from '../../../server/tools/migrations/segments.ts'
import { readUsedSchemas } from '../../../server/running/schema-files.ts'
import { splitStatements } from '../../../server/text/sql-statements.ts'

function file(version: string, text: string, withoutTransaction = false): MigrationFile {
  const name = `${version}_a.sql`
  return { version, name, path: `migrations/${name}`, text, statements: splitStatements(text), withoutTransaction }
}

const text = 'select 1; select 2; select 3;'

function applied(version: string, more: Partial<AppliedMigration> = {}, of = text): AppliedMigration {
  const done = more.done ?? splitStatements(of).length
  const checksum = checksumOf(file(version, of), done)
  const appliedAt = new Date('2026-01-02T00:00:00Z')
  return {
    version,
    name: `${version}_a.sql`,
    checksum,
    statements: 3,
    done,
    running: null,
    appliedAt,
    isListed: false,
    ...more,
  }
}

t.test('the state of a file', (t) => {
  const table: [string, string, AppliedMigration[], MigrationState][] = [
    ['not recorded', text, [], 'pending'],
    ['newer than all', text, [applied('4')], 'pending'],
    ['older than one', text, [applied('6')], 'out of order'],
    ['older by its number', text, [applied('10')], 'out of order'],
    ['unchanged', text, [applied('5')], 'applied'],
    ['another comment', `/* a */ ${text} -- b`, [applied('5')], 'applied'],
    ['another line end', text.replaceAll(' ', '\n'), [applied('5', {}, text.replaceAll(' ', '\r\n'))], 'applied'],
    ['an edit', text.replace('2', '4'), [applied('5')], 'edited'],
    ['a statement less', 'select 1; select 2;', [applied('5')], 'edited'],
    ['a statement more', `${text} select 4`, [applied('5')], 'extended'],
    ['an edit and a statement more', `select 0; ${text}`, [applied('5')], 'edited'],
    ['an edit of what has not run', text.replace('3', '4'), [applied('5', { done: 2, appliedAt: null })], 'incomplete'],
    ['an edit of what has run', text.replace('2', '4'), [applied('5', { done: 2, appliedAt: null })], 'edited'],
    ['begun', text, [applied('5', { done: 0, running: 0, appliedAt: null })], 'incomplete'],
    ['of Supabase', text, [applied('5', { checksum: null })], 'applied by supabase'],
  ]
  for (const [name, sql, records, expected] of table) {
    const plan = planMigrations([file('5', sql)], new Map(records.map((it) => [it.version, it])))
    t.equal(plan.find(({ version }) => version === '5')?.state, expected, name)
    const others = plan.filter(({ version }) => version !== '5').map(({ state }) => state)
    t.strictSame(
      others,
      records.filter(({ version }) => version !== '5').map(() => 'file missing'),
      name,
    )
  }
  t.end()
})

t.test('what runs', (t) => {
  const files = [file('1', text), file('2', `${text} select 4`), file('3', ''), file('4', text)]
  const plan = planMigrations(files, new Map([['2', applied('2')]]))
  t.throws(() => pendingOf(plan), { message: /^migrations\/2_a\.sql: 1 statements were added/ })
  t.throws(() => pendingOf(plan, { extend: true }), { message: /^migrations\/1_a\.sql: the file is older/ })
  const versions = (options: Parameters<typeof pendingOf>[1]): string =>
    pendingOf(plan, { extend: true, includeAll: true, ...options })
      .map(({ version }) => version)
      .join()
  t.equal(versions({}), '1,2,3,4')
  t.equal(versions({ skipEmpty: true }), '1,2,4')
  t.end()
})

t.test('parts that take effect together', (t) => {
  const table: [string, number, number[], boolean, string][] = [
    ['a; b; c', 0, [], false, 'T0-3'],
    ['a; b; c', 1, [], false, 'T1-3'],
    ['a; b; c', 0, [1], false, 'T0-1 A1 T2-3'],
    ['a; b; c', 0, [], true, 'A0 A1 A2'],
    ['begin; a; commit', 0, [], false, 'T0-3(begin skips 0,2)'],
    [
      'BEGIN isolation level serializable; a; END; b',
      0,
      [],
      false,
      'T0-3(BEGIN isolation level serializable skips 0,2) T3-4',
    ],
    [
      'a; start transaction; b; commit; c; commit work',
      0,
      [],
      true,
      'A0 T1-4(start transaction skips 1,3) A4 T5-6(begin skips 5)',
    ],
    ['a; commit; b', 0, [], false, 'T0-2(begin skips 1) T2-3'],
    [
      'begin; savepoint s; rollback to s; rollback work to savepoint s; commit and no chain',
      0,
      [],
      false,
      'T0-5(begin skips 0,4)',
    ],
    ['', 0, [], false, ''],
  ]
  for (const [sql, from, alone, withoutTransaction, expected] of table) {
    const parts = segmentsOf(file('1', sql, withoutTransaction), from, new Set(alone)).map((it) => {
      if (it.kind === 'alone') return `A${it.from}`
      const own = it.skipped.length === 0 ? '' : `(${it.begin} skips ${it.skipped.join()})`
      return `T${it.from}-${it.to}${own}`
    })
    t.equal(parts.join(' '), expected, sql)
  }
  for (const sql of [
    'begin; a',
    'a; rollback',
    'abort',
    'begin; a; commit and chain',
    "begin; prepare transaction 'x'",
  ]) {
    t.throws(() => segmentsOf(file('1', sql), 0, new Set()), { message: /^migrations\/1_a\.sql:1: / }, sql)
  }
  t.end()
})

t.test('numbers of new files', async (t) => {
  const now = new Date('2026-02-03T04:05:06.789Z')
  const table: [string[], string][] = [
    [[], '20260203040506'],
    [['README.md', 'a.sql'], '20260203040506'],
    [['001_a.sql', '009_b.sql'], '010'],
    [['1_a.sql', '9.sql'], '10'],
    [['000009_a.sql', '2_b.sql'], '000010'],
    [['20240101000000_a.sql'], '20260203040506'],
    [['20260203040506_a.sql'], '20260203040507'],
    [['20990101000000_a.sql'], '20990101000001'],
  ]
  for (const [names, expected] of table) t.equal(nextNumber(names, now), expected, names.join())
  t.ok(compareVersions('9', '10') < 0 && compareVersions('20240101000000', '20240101000001') < 0)
  const folder = t.testdir({ '1_a.sql': '' })
  t.equal(await createMigration(folder, 'B.sql', 'select 1', now), join(folder, '2_b.sql'))
  t.strictSame((await readdir(folder)).sort(), ['1_a.sql', '2_b.sql'])
})

const settings = { migrationsDir: null, schemasDir: null }

async function folderWith(t: Test, ...folders: string[]): Promise<string> {
  const root = t.testdir({})
  for (const folder of folders) await mkdir(join(root, folder), { recursive: true })
  return root
}

t.test('where the files are', async (t) => {
  const table: [string, string[], Partial<typeof settings> | Record<string, string>, object | RegExp][] = [
    ['nothing', [], {}, { migrations: undefined, schemas: undefined }],
    [
      'schemas without migrations are of something else',
      ['schemas'],
      {},
      { migrations: undefined, schemas: undefined },
    ],
    ['beside each other', ['migrations', 'schemas'], {}, { migrations: 'migrations', schemas: 'schemas' }],
    ['supabase', ['supabase/migrations'], {}, { migrations: 'supabase/migrations', schemas: undefined }],
    [
      'two',
      ['migrations', 'supabase/migrations'],
      {},
      /two folders of migrations, migrations and supabase\/migrations/,
    ],
    [
      'two, and a setting',
      ['migrations', 'supabase/migrations'],
      { migrationsDir: 'migrations' },
      { migrations: 'migrations' },
    ],
    ['none', ['migrations', 'schemas'], { migrationsDir: 'none' }, { migrations: undefined, schemas: undefined }],
    ['no schemas', ['migrations', 'schemas'], { schemasDir: 'none' }, { migrations: 'migrations', schemas: undefined }],
    [
      'other folders',
      ['db/m', 'db/schemas', 's'],
      { migrationsDir: 'db/m', schemasDir: 's' },
      { migrations: 'db/m', schemas: 's' },
    ],
    ['a folder that does not exist', [], { migrationsDir: 'm' }, /^MIGRATIONS_DIR: there is no folder m\.$/],
    ['schemas that do not exist', [], { schemasDir: 's' }, /^SCHEMAS_DIR: there is no folder s\.$/],
  ]
  for (const [name, folders, given, expected] of table) {
    const root = await folderWith(t, ...folders)
    const found = findProject({ ...settings, ...given }, root)
    if (expected instanceof RegExp) await t.rejects(found, { message: expected }, name)
    else t.match(await found, expected, name)
  }
  const own = fileURLToPath(new URL('../../..', import.meta.url))
  t.match(await findProject(settings, own), { migrations: undefined, schemas: undefined }, 'the folder of the program')
  await t.rejects(findProject({ ...settings, migrationsDir: 'sql/migrations' }, own), { message: /of rowhouse itself/ })
  const newProject = await folderWith(t, 'supabase')
  await writeFile(join(newProject, 'supabase/config.toml'), '')
  t.match(await findProject(settings, newProject), { migrations: 'supabase/migrations' }, 'a new project of Supabase')
  t.strictSame(await readMigrations(join(newProject, 'supabase/migrations')), { files: [], ignored: [] })
  t.equal(await folderForNew(settings, await folderWith(t)), 'migrations')
  t.equal(await folderForNew(settings, await folderWith(t, 'supabase')), 'supabase/migrations')
  t.equal(await folderForNew({ ...settings, migrationsDir: 'm' }, await folderWith(t)), 'm')
})

t.test('JSON Schemas of the project', async (t) => {
  const folder = t.testdir({
    'profile.json': JSON.stringify({
      $id: 'urn:app:profile',
      'x-table': 'public.profiles',
      type: 'object',
      additionalProperties: false,
      properties: { nick: { type: 'string' } },
    }),
    'unrelated.json': '[1]',
  })
  const tables = async (services: readonly string[]): Promise<readonly unknown[]> =>
    (await readUsedSchemas({ migrationsDir: null, schemasDir: folder, services: services as never }))
      .filter(({ table }) => table?.name === 'profiles')
      .map(({ id }) => id)
  t.strictSame(await tables(['rest', 'auth']), ['urn:app:profile'], 'the table of the project')
  t.equal((await tables(['rest', 'auth', 'profiles'])).length, 2, 'both')
  await writeFile(join(folder, 'wrong.json'), '{"x-table": "public.a"}')
  await t.rejects(tables(['rest']), { message: /wrong\.json: \$id is missing/ })
})

t.test("the seeds of a project of Supabase, and other people's config.toml", async (t) => {
  const files = ['seed.sql', 'roles.sql', 'seeds/2_b.sql', 'seeds/10_a.sql', 'seeds/1_a.sql', 'seeds/a.txt', 'x[1].sql']
  const all = ['seed.sql', 'seeds/10_a.sql', 'seeds/1_a.sql', 'seeds/2_b.sql']
  const table: [string, string, readonly string[] | RegExp, (readonly string[])?][] = [
    ['no section', '[api]\nport = 1', ['seed.sql']],
    ['as a new project has it', '[db.seed]\nenabled = true\nsql_paths = ["./seed.sql"]', ['seed.sql']],
    ['switched off', '[db.seed]\nenabled = false\nsql_paths = ["./seed.sql"]', []],
    ['no path', '[db.seed]\nsql_paths = []', []],
    ['patterns, each file once', '[db.seed]\nsql_paths = ["seed.sql", "./seeds/*.sql", "s*/2_?.sql"]', all],
    ['one of some characters', '[db.seed]\nsql_paths = ["seeds/[2-9]_*"]', ['seeds/2_b.sql']],
    ['a quoted character', "[db.seed]\nsql_paths = ['x\\[1].sql']", ['x[1].sql']],
    ['a folder is no file', '[db.seed]\nsql_paths = ["seed*"]', ['seed.sql']],
    ['none', '[db.seed]\nsql_paths = ["./no/*.sql"]', [], ['supabase/config.toml: there is no seed ./no/*.sql.']],
    ['no list', '[db.seed]\nsql_paths = "seed.sql"', /config\.toml: sql_paths in \[db\.seed\] is a list/],
    ['no switch', '[db.seed]\nenabled = "yes"', /config\.toml: enabled in \[db\.seed\] is true or false\.$/],
    ['no section', 'db = 1', /config\.toml: db is a section: \[db\]\.$/],
    ['no TOML', '[db.seed]\nenabled = = 1', /config\.toml:2:11: /],
  ]
  const root = await folderWith(t, 'supabase/migrations', 'supabase/seeds', 'other/migrations')
  for (const file of files) await writeFile(join(root, 'supabase', file), '')
  const short = (text: string): string => text.replaceAll(`${root}/`, '').replace(/^supabase\/(?!config)/, '')
  for (const [name, text, expected, notes = []] of table) {
    await writeFile(join(root, 'supabase/config.toml'), text)
    const found = findSeeds(join(root, 'supabase/migrations'))
    if (expected instanceof RegExp) await t.rejects(found, { message: expected }, name)
    else t.strictSame([(await found).files.map(short), (await found).notes.map(short)], [expected, notes], name)
  }
  t.equal(short(findRoles(join(root, 'supabase/migrations')) ?? ''), 'roles.sql')
  for (const file of ['config.toml', 'roles.sql', 'seed.sql']) await writeFile(join(root, 'other', file), '= no TOML')
  const other = join(root, 'other/migrations')
  t.strictSame(
    [await findSeeds(other), findRoles(other)],
    [{ files: [join(root, 'other/seed.sql')], notes: [] }, undefined],
  )
})
