// `rowhouse psql`, `url`, `dump`, `restore` and `audit` as programs, on the database of the tests and on embedded ones.
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { startEmbedded } from '../../../server/postgres/embedded/embedded.ts'
import { rowhouse, type Ran } from '../../support/command.ts'
import { createDatabase, createMigratedDatabase } from '../../support/database.ts'
import { command, main } from '../../support/program.ts'
import { readmeSection, withProgram } from '../../support/readme-section.ts'
import { until } from '../../support/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-access-'))
const database = await createMigratedDatabase()
t.teardown(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})
const env = { DATABASE_URL: database.authenticatorUri, MIGRATION_DATABASE_URL: database.adminUri, PATH: '' }

/** Runs the program with text on standard input. */
const withInput = (args: readonly string[], input: string): Promise<Ran> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...args], { env }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err }),
    )
    child.stdin?.end(input)
  })

t.test('scripts in the small client', async (t) => {
  await writeFile(join(folder, 'included.sql'), "select 'included' as a;\nselect nowhere;\nselect 2\n as b;\n")
  const script = `\\echo begin
create table public.notes (id integer primary key, text text); create policy mine on public.notes to anon using (id > 1);
begin;
copy public.notes from stdin;
1\ta;b
2\t\\N
\\.
select * from notes where id > 0
  and text is distinct from ';' order by 1;
copy notes to stdout;
select 1 / 0;
select 1;
rollback;
do $$ begin raise notice 'attention'; end $$;
\\i ${join(folder, 'included.sql')}
\\d notes
\\x
select 1 as one, null as none;
\\nothing
\\q
select 'never';
`
  t.strictSame(await withInput(['psql'], script), {
    code: 0,
    out: `begin
CREATE TABLE
CREATE POLICY
BEGIN
COPY 2
 id |  text  
----+--------
  1 | a;b
  2 | (null)
(2 rows)

1\ta;b
2\t\\N
ROLLBACK
DO
    a     
----------
 included
(1 row)

 b 
---
 2
(1 row)

Table "public.notes"
 Column |  Type   | Nullable | Default 
--------+---------+----------+---------
 id     | integer | not null |
 text   | text    |          |
(2 rows)

Indexes:
    notes_pkey PRIMARY KEY, btree (id)
Policies (row security disabled):
    POLICY mine TO anon USING ((id > 1))

Expanded display is on.
-[ RECORD 1 ]
one  | 1
none | (null)

`,
    err: `ERROR:  division by zero
ERROR:  current transaction is aborted, commands ignored until end of transaction block
NOTICE:  attention
${join(folder, 'included.sql')}:2: ERROR:  column "nowhere" does not exist
LINE 1: select nowhere
               ^
invalid command \\nothing
Try \\? for help.
`,
  })
  t.match(await withInput(['psql', '-v', 'ON_ERROR_STOP=1'], 'select nowhere; select 2;'), { code: 3, out: '' })
})

t.test('-c, -f, roles and exit codes', async (t) => {
  const table: [args: string[], expected: Partial<Record<keyof Ran, unknown>>][] = [
    [['-Atc', 'select 1; select 2', '-c', '\\echo 3'], { code: 0, out: '1\n2\n3\n', err: '' }],
    [['-c', 'select x', '-c', 'select 2'], { code: 1, out: '', err: /column "x" does not exist/ }],
    [['-v', 'ON_ERROR_STOP=1', '-f', join(folder, 'included.sql')], { code: 3 }],
    [['--role', 'anon', '-Atc', 'select current_user, session_user'], { code: 0, out: 'anon|authenticator\n' }],
    [['--role', 'nobody'], { code: 1, err: /^The database has no role nobody to switch to\. There are: anon, .*authenticator/ }],
    [['-c', 'select pg_terminate_backend(pg_backend_pid())'], { code: 2, err: /^FATAL: {2}terminating connection/ }],
  ] // prettier-ignore
  for (const [args, expected] of table) t.match(await rowhouse(['psql', ...args], env), expected, args.join(' '))
  const lists = ['d', 'dt *.*', 'dv', 'di', 'ds', 'dn', 'df', 'du', 'l', 'dp', 'd auth.users', '?']
  const listed = await rowhouse(
    ['psql', ...lists.flatMap((list) => ['-c', `\\echo -- ${list}`, '-c', `\\${list}`])],
    env,
  )
  t.match(listed, { code: 0, err: '' })
  const parts = listed.out.split(/^-- .*\n/m).slice(1)
  for (const [index, list] of lists.entries()) t.ok((parts[index]?.split('\n').length ?? 0) > 4, `\\${list}`)
})

t.test('Ctrl-C cancels the statement', async (t) => {
  const child = spawn(process.execPath, [main, 'psql', '-c', 'select pg_sleep(600)', '-c', 'select 2'], { env })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = new Promise((resolve) => child.once('close', resolve))
  const isRunning = async (): Promise<boolean> =>
    (
      await database.query(
        `select from pg_stat_activity
         where datname = current_database() and query = 'select pg_sleep(600)' and state = 'active'`,
      )
    ).rowCount === 1
  t.ok(await until(isRunning))
  child.kill('SIGINT')
  t.equal(await ended, 130)
  t.equal(output, 'ERROR:  canceling statement due to user request\n')
  t.ok(await until(async () => !(await isRunning())))
})

t.test("PostgreSQL's psql is preferred, and gets the password by its environment", async (t) => {
  const bin = join(folder, 'bin')
  await rm(bin, { recursive: true, force: true })
  await promisify(execFile)('/bin/mkdir', [bin])
  await writeFile(
    join(bin, 'psql'),
    '#!/bin/sh\necho "$@" "$PGUSER" "$PGPASSWORD" "$PGDATABASE" "$PGSSLMODE"\nexit 7\n',
    { mode: 0o755 },
  )
  const ran = await rowhouse(['psql', '--no-psqlrc', '-c', 'x', '--json'], {
    ...env,
    PATH: `${bin}:/bin`,
    PGSSLMODE: 'disable',
  })
  t.strictSame(ran, { code: 7, out: `--no-psqlrc -c x --json postgres postgres ${database.name} disable\n`, err: '' })
})

t.test('the URL', async (t) => {
  const print = async (...args: string[]): Promise<string> => (await rowhouse(['url', ...args], env)).out.trimEnd()
  t.equal(await print(), database.adminUri)
  t.equal(
    await print('--role', 'authenticator', '--no-password', '--json'),
    JSON.stringify({ url: database.authenticatorUri.replace(':authenticator@', '@') }),
  )
  t.match(await print('--env'), /^export PGUSER='postgres'\nexport PGPASSWORD='postgres'\nexport PGHOST='127\.0\.0\.1'/)
  const client = new pg.Client(await print('--role', 'anon'))
  await client.connect()
  t.strictSame((await client.query('select current_user as name')).rows, [{ name: 'anon' }])
  await client.end()
  const none = { DATA_DIR: join(folder, 'none') }
  t.match(await rowhouse(['url'], none), {
    code: 1,
    out: '',
    err: /^No database is configured, and there is no embedded database/,
  })
})

t.test('a dump to standard output, and a kill in the middle', async (t) => {
  await database.query(
    `create table public.many as select n, repeat('x', 1000) as text from generate_series(1, 20000) as n`,
  )
  const whole = await promisify(execFile)(process.execPath, [main, 'dump'], { env, maxBuffer: 100_000_000 })
  t.match(whole.stdout.slice(-40), /\n-- rowhouse dump complete\n$/)
  const target = join(folder, 'killed.sql')
  const child = spawn(process.execPath, [main, 'dump', target], { env, stdio: 'ignore' })
  const names = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.startsWith('killed.sql'))
  t.ok(await until(async () => (await names()).length > 0))
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('close', resolve))
  t.notOk((await names()).includes('killed.sql'))

  const file = join(folder, 'whole.sql')
  await writeFile(file, whole.stdout)
  const empty = await createDatabase()
  t.teardown(() => empty.drop())
  const into = { MIGRATION_DATABASE_URL: empty.adminUri, DATABASE_URL: empty.adminUri }
  const restoring = spawn(process.execPath, [main, 'restore', file], { env: into, stdio: 'ignore' })
  // The restored tables are visible to nobody else before the end; their locks are.
  const hasBegun = async (): Promise<boolean> =>
    (
      await empty.query(
        "select from pg_locks where locktype = 'relation' and mode = 'AccessExclusiveLock' and database = (select oid from pg_database where datname = current_database())",
      )
    ).rows.length > 50
  t.ok(await until(hasBegun))
  restoring.kill('SIGKILL')
  await new Promise((resolve) => restoring.once('close', resolve))
  t.ok(await until(async () => !(await hasBegun())))
  t.strictSame((await empty.query("select to_regclass('public.many') as many, to_regnamespace('auth') as auth")).rows, [
    { many: null, auth: null },
  ])
  t.match(await rowhouse(['restore', file], into), {
    code: 0,
    out: /^Restored .*: \d+ statements, 20\d{3} rows\.\n$/,
    err: '',
  })
  t.match(await rowhouse(['restore', join(folder, 'nowhere')], into), { code: 1, err: /ENOENT/ })
})

t.test('the commands of the guides', async (t) => {
  const shell = async (name: string, given: Record<string, string>): Promise<string> => {
    const script = withProgram(readmeSection(name).replaceAll('rowhouse psql', 'rowhouse psql --builtin'), command())
    const { stdout } = await promisify(execFile)('/bin/sh', ['-e', '-c', script], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...given },
    })
    return stdout
  }
  const dataDir = join(folder, 'data')
  const embedded = await startEmbedded({ dataDir, log: () => undefined })
  try {
    const printed = await shell('database-access', { DATA_DIR: dataDir })
    t.match(
      printed,
      new RegExp(
        `^${embedded.adminUri}\n[^]*tasks[^]*Wrote 2 rows of 1 table to backup\\.sql\\.gz\\.\nRestored backup\\.sql\\.gz: `,
      ),
    )
    const audited = await shell('audit', { DATA_DIR: dataDir })
    t.match(audited, /\n INSERT +\| \{"id": 3,[^]*\npublic\.tasks: all changes are recorded\n$/)
    const running = await rowhouse(['audit', 'maintain', '--months', '13'], { DATA_DIR: dataDir })
    t.match(running, { code: 0, out: /^Created changes_\d{4}_\d\d\.\n$/ })
  } finally {
    await embedded.stop()
  }
  t.match(await rowhouse(['url'], { DATA_DIR: dataDir }), {
    code: 1,
    out: '',
    err: 'The embedded database is not running. Start it with `rowhouse serve`.\n',
  })
  // The command starts the database and stops it again.
  t.match(await rowhouse(['psql', '--builtin', '-Atc', 'select count(*) from tasks'], { DATA_DIR: dataDir }), {
    code: 0,
    out: '3\n',
  })
})
