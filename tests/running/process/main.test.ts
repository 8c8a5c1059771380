import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { rowhouse, type Ran } from '../../support/command.ts'
import { createDatabase } from '../../support/database.ts'
import { main } from '../../support/program.ts'

t.test('the program on an existing database', async (t) => {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  // DATABASE_URL is this program's name, PGRST_DB_URI PostgREST's.
  const env = { PGRST_DB_URI: database.adminUri, PGRST_DB_ANON_ROLE: 'anon' }

  const { applied } = JSON.parse((await rowhouse(['migrate', '--json'], env)).out) as { applied: string[] }
  t.ok(applied.length > 0)
  const [again, made, check] = await Promise.all([
    rowhouse(['migrate', '--dry-run'], env),
    rowhouse(['keys', 'create', '--role', 'anon'], env),
    rowhouse(['check', '--exposed'], env),
  ])
  t.match(again, { code: 0, out: 'The database is up to date.\n', err: '' })
  t.match(made, { code: 0, out: /^sb_publishable_/, err: '' })
  t.match(
    check,
    { code: 0, err: '', out: /^Found nothing[^]*public\.classification_runs[^]*Nothing to flag/ },
    'the bundled files are valid',
  )

  await database.query(`create role settings_of_${database.name} login password 'x'`)
  t.teardown(() => database.query(`drop role settings_of_${database.name}`))
  await database.query(`alter role settings_of_${database.name} set pgrst.db_max_rows = '17'`)
  await database.query('create table public.forgotten (id int); grant select on public.forgotten to anon')
  const [dump, schema, list, flagged] = await Promise.all([
    rowhouse(['--dump-config'], { PGRST_DB_URI: database.uri(`settings_of_${database.name}`, 'x') }),
    rowhouse(['--dump-schema'], env),
    rowhouse(['keys', 'list'], env),
    rowhouse(['check'], env),
  ])
  t.match(dump, { code: 0, out: /^db-max-rows = 17$/m, err: '' }, 'settings in the database are used')
  t.match(JSON.parse(schema.out), { dbTables: /./ })
  t.match(list, { code: 0, out: /sb_publishable_.{4}… +anon/, err: '' })
  t.match(flagged, { code: 1, err: '', out: /^ERROR rls_disabled_in_public {2}public\.forgotten/ })
})

t.test('read-only commands create no database, and name the missing setting', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-main-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const env = { DATA_DIR: join(folder, 'none') }
  const onlyMigrations = { ...env, MIGRATION_DATABASE_URL: 'postgresql://u:hunter2@127.0.0.1:1/d' }
  const noServing = /MIGRATION_DATABASE_URL: is only used for migrations; set DATABASE_URL /
  const nothing = /^No database is configured, and there is no embedded database in .*none\. Set DATABASE_URL /
  const table: [string[], Record<string, string>, Partial<Record<keyof Ran, unknown>>][] = [
    [['check'], env, { code: 2, out: '', err: nothing }],
    [
      ['migrate', '--dry-run'],
      env,
      { code: 0, out: /^Would apply:\n {2}000001_roles_and_schemas\.sql\n {2}000002_accounts\.sql\n/, err: '' },
    ],
    [['serve'], onlyMigrations, { code: 1, err: noServing }],
  ]
  const all = await Promise.all(table.map(([args, settings]) => rowhouse(args, settings)))
  for (const [index, [args, , expected]] of table.entries()) t.match(all[index], expected, args.join(' '))
  t.notMatch(JSON.stringify(all), /hunter2/)
  t.strictSame(await readdir(folder), [])
})

t.test('an unreachable database', async (t) => {
  const nowhere = { DATABASE_URL: 'postgresql://u:hunter2@127.0.0.1:1/d', PGRST_DB_CONFIG: 'false' }
  const table: [string[], Record<string, string>, Partial<Ran> | Record<string, unknown>][] = [
    [['--version'], {}, { code: 0, out: /^rowhouse \d+\.\d+\.\d+\n$/, err: '' }],
    [['--dump-config'], { PGRST_DB_POOL: 'x', PGRST_LOG_LEVEL: 'loud' }, { code: 1, out: '', err: /PGRST_LOG_LEVEL/ }],
    [['check'], nowhere, { code: 2, out: '', err: /ECONNREFUSED/ }],
    [
      ['--ready'],
      { PGRST_SERVER_PORT: '1' },
      {
        code: 1,
        out: '',
        err: 'ERROR: no response from http://127.0.0.1:1/ready (connect ECONNREFUSED 127.0.0.1:1)\n',
      },
    ],
  ]
  const all = await Promise.all(table.map(([args, env]) => rowhouse(args, env)))
  for (const [index, [args, , expected]] of table.entries()) t.match(all[index], expected, args.join(' '))
  t.notMatch(JSON.stringify(all), /hunter2/)
})

t.test('a Node.js that is too old is refused', async (t) => {
  // Imitates an older release: the entry point only reads the version.
  const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })"
  const ran = await new Promise<Ran>((resolve) =>
    execFile(
      process.execPath,
      [`--import=data:text/javascript,${encodeURIComponent(older)}`, main, 'serve'],
      (error, out, err) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    ),
  )
  t.match(ran, { code: 1, out: '', err: /^rowhouse needs Node\.js 20 or later; this is 18\.20\.4 / })
  const entry = await readFile(main, 'utf8')
  t.notMatch(entry, /^import /m, 'nothing is loaded before the check')
})

t.test('invalid settings stop the start before a database is created', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-main-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const taken = String(typeof address === 'object' && address ? address.port : 0)
  const dataDir = join(folder, 'data')
  const table: [Record<string, string>, RegExp][] = [
    [{ PORT: taken, DATA_DIR: dataDir }, /^PORT: port \d+ on 127\.0\.0\.1 is in use\. Stop the program/m],
    [{ PORT: '0', DATA_DIR: '/proc/foo' }, /^DATA_DIR: the data folder \/proc\/foo cannot be used/m],
    [
      { PORT: '0', DATABASE_URL: 'htp://u:hunter2@h' },
      /^Error in config\n {2}DATABASE_URL: "htp:\/\/" is not the scheme/m,
    ],
  ]
  const all = await Promise.all(table.map(([env]) => rowhouse(['serve'], env)))
  for (const [index, [env, err]] of table.entries()) t.match(all[index], { code: 1, err }, JSON.stringify(env))
  t.strictSame(await readdir(folder), [], 'no data folder is created')
  t.notMatch(JSON.stringify(all), /hunter2/)
})
