import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { ApiKey } from '../../../server/identity/api-key/api-key.ts'
import type { Address, Dependencies, DatabaseOperations } from '../../../server/tools/command-line/dependencies.ts'
import type { ServeOptions } from '../../../server/running/serve.ts'
import { readExpiry } from '../../../server/tools/command-line/keys-command.ts'
import { runProgram } from '../../../server/tools/command-line/program.ts'
import { readyAddress } from '../../../server/tools/command-line/ready.ts'
import type { Config } from '../../../server/config/config.ts'
import { MigrationError } from '../../../server/tools/migrations/migration-error.ts'
import type { ProjectStatus } from '../../../server/tools/migrations/project-migrations.ts'
import type { Client } from '../../../server/postgres/connection/client.ts'
import { guideText } from '../../support/readme-section.ts'
import { anonRole, catalogueRows, extensionTable, openSchema } from '../../support/check-catalogue.ts'
import type { Relation } from '../../../server/catalogue/description.ts'

const here = fileURLToPath(import.meta.url)

const config = {
  dbSchemas: ['public'],
  dbExtraSearchPath: [],
  dbAnonRole: 'web_anon',
  adminServerHost: 'localhost',
  adminServerPort: null,
  adminServerUnixSocket: null,
  serverHost: '127.0.0.1',
  serverPort: 3000,
  serverUnixSocket: null,
  services: ['rest', 'auth'],
} as unknown as Config

const key: ApiKey & { key: string } = {
  id: '7f4c5dbb-5a2c-4c58-9d0a-2f1f3a5b9c11',
  hint: 'sb_secret_abcd',
  label: 'service_role key',
  role: 'service_role',
  userId: null,
  createdAt: new Date('2026-01-01T00:00:00Z'),
  expiresAt: null,
  revokedAt: null,
  limits: null,
  key: 'sb_secret_abcdefgh',
}

const status: ProjectStatus = {
  folder: 'migrations',
  files: [
    {
      name: '1_a.sql',
      state: 'applied',
      appliedAt: '2026-01-02T03:04:05.678Z',
      done: 2,
      statements: 2,
      interrupted: null,
    },
    { name: '2_b.sql', state: 'pending', appliedAt: null, done: 0, statements: 1, interrupted: null },
  ],
  seeds: [{ file: 'seed.sql', state: 'not applied' }],
  ignored: ['notes.sql'],
}

const place = { file: '1_a.sql', line: 1, column: undefined, statement: 1, code: '42601' }

type Ran = { code: number; out: string; err: string; calls: unknown[] }

/** A connection that knows which roles there are. */
const roles = { query: () => Promise.resolve({ rows: [{ name: 'anon' }, { name: 'authenticator' }] }) }

/** Runs the command line with every other room replaced by a recorder of its calls. */
async function run(
  args: string[],
  given: Partial<Dependencies> = {},
  session: Partial<DatabaseOperations> = {},
): Promise<Ran> {
  const ran: Ran = { code: 0, out: '', err: '', calls: [] }
  const called = <T>(name: string, result: T, ...values: unknown[]): T => (ran.calls.push([name, ...values]), result)
  const database: DatabaseOperations = {
    query: () => Promise.resolve({ rows: [{ migrated: true, are_there: true }] }),
    migrate: (options = {}) =>
      Promise.resolve(called('migrate', { applied: ['1_roles.sql', '2_tables.sql'], notes: [] }, options)),
    pendingMigrations: (options = {}) => Promise.resolve(called('pending', ['2_tables.sql'], options)),
    migrationStatus: () => Promise.resolve(called('status', status)),
    acceptMigration: (name) => Promise.resolve(called('accept', `migrations/${name}`, name)),
    createApiKey: (wanted) =>
      Promise.resolve(
        called(
          'create',
          { ...key, ...wanted, userId: wanted.userId ?? null, expiresAt: wanted.expiresAt ?? null },
          wanted,
        ),
      ),
    listApiKeys: () => Promise.resolve([key]),
    revokeApiKey: (id) => Promise.resolve(called('revoke', id === key.id, id)),
    setApiKeyLimits: (id, limits) => Promise.resolve(called('limit', id === key.id, id, limits)),
    addSampleData: (email) =>
      Promise.resolve(called('sample', { accounts: 5, reports: 60, runs: 12, hasOwner: true }, email)),
    scratch: () => Promise.reject(new Error('no transactions')),
    ...session,
  }
  ran.code = await runProgram(args, {
    version: '1.2.3',
    print: (text) => void (ran.out += text),
    printError: (text) => void (ran.err += text),
    loadConfig: (file) => called('config', config, file),
    withDatabaseSettings: (file) => Promise.resolve(called('config with database', config, file)),
    dumpConfig: (_config, json) => (json ? '{"db-pool":10}\n' : 'db-pool = 10\n'),
    exampleConfig: (json) => (json ? '[{"name":"db-pool"}]\n' : '# db-pool = 10\n'),
    dumpSchema: () => Promise.resolve('{"dbTables":[]}'),
    serve: (options: ServeOptions) => Promise.resolve(called('serve', undefined, options)),
    withDatabase: (_config, wish, use) => use(called('database', database, wish)),
    withUsers: () => Promise.reject(new Error('no accounts')),
    withAddress: (_config, wish, use) =>
      use(
        called(
          'address',
          { uri: 'postgresql://postgres:secret@127.0.0.1:5433/postgres', env: {}, isEmbedded: true },
          wish,
        ),
      ),
    connectTo: (address, use) => use(called('connect', roles as unknown as Client, address)),
    hasDatabase: () => Promise.resolve(true),
    allMigrations: () => Promise.resolve(['1_roles.sql', '2_tables.sql']),
    watchMigrations: (_config, { report, includeAll }) => {
      report({ kind: 'notice', message: 'Watching migrations' })
      report({ kind: 'error', message: '1_a.sql:1: wrong', place })
      called('watch', undefined, { includeAll })
      return Promise.resolve()
    },
    fetchStatus: (address: Address) => Promise.resolve(called('fetch', 200, address)),
    tableSchemas: () => Promise.resolve([]),
    output: new PassThrough(),
    errors: new PassThrough(),
    input: new PassThrough(),
    env: { PATH: '' },
    onInterrupt: () => () => undefined,
    bodyValidator: () => Promise.resolve({ forTable: () => undefined }),
    withLaboratory: () => Promise.reject(new Error('no laboratory')),
    makeFolder: () => Promise.resolve(),
    watchTermination: () => ({ signal: AbortSignal.abort(), dispose: () => undefined }),
    ...given,
  })
  return ran
}

t.test('sample data', async (t) => {
  const embedded = { ...config, dbUri: null, migrationDatabaseUrl: null }
  const own = { ...config, dbUri: 'postgres://authenticator@db/app', migrationDatabaseUrl: null }
  const counts = { accounts: 5, reports: 60, runs: 12, hasOwner: true }
  const none = { accounts: 0, reports: 0, runs: 0, hasOwner: false }
  const refused = /^This is not the embedded database for development\. .*rowhouse sample --yes\n$/
  const table: [Config, string[], number, RegExp, unknown?][] = [
    [embedded, ['sample'], 0, /^Added 5 accounts, 60 approved reports and 12 classification runs\.\n$/],
    [embedded, ['sample', '--user', 'a@example.org'], 0, /^Added/],
    [embedded, ['sample', '--json'], 0, /^\{"accounts":5,"reports":60,"runs":12,"hasOwner":true\}\n$/],
    [own, ['sample'], 1, refused],
    [{ ...embedded, migrationDatabaseUrl: 'postgres://owner@db/app' }, ['sample'], 1, refused],
    [own, ['sample', '--yes'], 0, /^Added/],
    [embedded, ['sample'], 0, /^The sample data already exists\.\nThere is no development user .* --user\.\n$/, none],
  ]
  for (const [given, args, code, text, result = counts] of table) {
    const emails: unknown[] = []
    const addSampleData = (email: string | undefined) => {
      emails.push(email)
      return Promise.resolve(result as typeof counts)
    }
    const ran = await run(args, { loadConfig: () => given }, { addSampleData })
    t.equal(ran.code, code, args.join(' '))
    t.match(code === 0 ? ran.out : ran.err, text, args.join(' '))
    const wanted = args.includes('--user') ? 'a@example.org' : undefined
    t.strictSame(emails, code === 0 ? [wanted] : [], 'nothing is added if it is refused')
  }
  const old = { query: () => Promise.resolve({ rows: [{ are_there: false }] }) }
  const ran = await run(['sample'], { loadConfig: () => embedded }, old)
  const lacking =
    'This database lacks tables of the services reports and analysis. Run `rowhouse migrate` with them first.\n'
  t.strictSame([ran.code, ran.err], [1, lacking])
})

t.test('serving', async (t) => {
  const table: [string[], ServeOptions][] = [
    [[], {}],
    [['serve'], {}],
    [[here], { configFile: here }],
    [['serve', here], { configFile: here }],
    [['--json'], { json: true }],
    [['serve', '--json', here], { configFile: here, json: true }],
    [['--', here], { configFile: here }],
    [['serve', '--sample'], { sample: true }],
    [['--sample', here], { configFile: here, sample: true }],
    [['serve', '--migrations', 'm', '--schemas', 's', '--watch'], { migrations: 'm', schemas: 's', watch: true }],
  ]
  for (const [args, options] of table) {
    const ran = await run(args)
    t.strictSame(ran, { code: 0, out: '', err: '', calls: [['serve', options]] }, `rowhouse ${args.join(' ')}`)
  }
})

t.test('PostgREST’s options', async (t) => {
  const table: [string[], string, unknown[]][] = [
    [['-v'], 'rowhouse 1.2.3\n', []],
    [['--version'], 'rowhouse 1.2.3\n', []],
    [['-e'], '# db-pool = 10\n', []],
    [['--example'], '# db-pool = 10\n', []],
    [['--dump-config'], 'db-pool = 10\n', [['config with database', undefined]]],
    [['--dump-config', here], 'db-pool = 10\n', [['config with database', here]]],
    [[here, '--dump-config'], 'db-pool = 10\n', [['config with database', here]]],
    [['--dump-schema', here], '{"dbTables":[]}\n', [['config with database', here]]],
    [
      ['--ready'],
      'OK: http://127.0.0.1:3000/ready\n',
      [
        ['config', undefined],
        ['fetch', { kind: 'tcp', host: '127.0.0.1', port: 3000, path: '/ready' }],
      ],
    ],
  ]
  for (const [args, out, calls] of table)
    t.strictSame(await run(args), { code: 0, out, err: '', calls }, args.join(' '))
})

t.test('every command accepts --json', async (t) => {
  const rows: readonly (readonly [string[], unknown, Partial<Dependencies>?])[] = [
    [['--version'], { name: 'rowhouse', version: '1.2.3' }],
    [['--example'], [{ name: 'db-pool' }]],
    [['--dump-config'], { 'db-pool': 10 }],
    [['--dump-schema'], { dbTables: [] }],
    [['--ready'], { ready: true, url: 'http://127.0.0.1:3000/ready' }],
    [['migrate'], { applied: ['1_roles.sql', '2_tables.sql'], notes: [] }],
    [['migrate', '--dry-run'], { pending: ['2_tables.sql'] }],
    [['keys', 'list'], [{ ...key, createdAt: key.createdAt.toISOString() }]],
    [['keys', 'revoke', key.id], { id: key.id, revoked: true }],
    [['--help'], { help: String }],
    [['keys', 'create', '--help'], { help: String }],
  ]
  for (const [args, expected] of rows) {
    for (const order of [
      [...args, '--json'],
      ['--json', ...args],
    ]) {
      const { code, out, err } = await run(order)
      t.strictSame([code, err], [0, ''], order.join(' '))
      t.match(JSON.parse(out), expected, order.join(' '))
    }
  }
  const failures: readonly (readonly [string[], RegExp, Partial<Dependencies>?])[] = [
    [['migrat'], /^There is no command/],
    [['--nonsense'], /^unknown option '--nonsense'$/],
    [['keys'], /^Usage: rowhouse keys/],
    [['keys', 'create'], /^Specify who the key acts as/],
    [['keys', 'create', '--role', 'a', '--expires', 'soon'], /'soon' is invalid/],
    [['--ready'], /^no response from /, { fetchStatus: () => Promise.reject(new Error('refused')) }],
  ]
  for (const [args, expected, given] of failures) {
    const { code, out, err } = await run([...args, '--json'], given)
    t.strictSame([code, out], [1, ''], args.join(' '))
    t.match((JSON.parse(err) as { error: string }).error, expected, args.join(' '))
  }
})

t.test('help', async (t) => {
  const usage: [string[], RegExp][] = [
    [
      ['--help'],
      /^Usage: rowhouse \[options\] \[command\] \[FILENAME\]\n[^]*\n {2}serve \[options\] \[FILENAME\][^]*migrate[^]*keys[^]*check/,
    ],
    [['-h'], /--dump-config[^]*--dump-schema[^]*--ready/],
    [['help'], /^Usage: rowhouse \[options\] \[command\]/],
    [
      ['migrate', '--help'],
      /^Usage: rowhouse migrate \[options\] \[command\]\n[^]*--dry-run[^]*--json[^]*status[^]*new/,
    ],
    [
      ['types', '--help'],
      /^Usage: rowhouse types \[options\]\n[^]*--db-url <url>[^]*--schema <names>[^]*--output <file>[^]*--watch[^]*--check <file>/,
    ],
    [['help', 'check'], /^Usage: rowhouse check \[options\]\n[^]*exit code 1/],
    [['keys', '--help'], /^Usage: rowhouse keys [^]*create[^]*list[^]*limit[^]*revoke/],
    [['keys', 'create', '--help'], /--role <name>[^]*--user <id>[^]*--label <text>[^]*--expires <when>/],
  ]
  for (const [args, expected] of usage) {
    const { code, out, err, calls } = await run(args)
    t.match(out, expected, args.join(' '))
    t.strictSame([code, err, calls], [0, '', []], args.join(' '))
    t.ok(out.split('\n').every((line) => line.length <= 80))
  }
})

t.test('guides', async (t) => {
  const listed = await run(['help', 'guides'])
  t.match(listed.out, /^TOPIC +TITLE\nstart +Start\n[^]*\nrest\/batch +Many requests in one transaction\n/)
  const batch = await run(['help', 'batch'])
  t.match(batch, { code: 0, err: '', out: /^# Many requests in one transaction\n\n/ })
  t.notMatch(batch.out, '<!--')
  t.equal((await run(['help', 'rest/batch'])).out, batch.out)
  t.match((await run(['help', 'policies'])).out, /^# Policies\n/)
  t.match((await run(['help', 'start'])).out, /types \(tools\/types\)/)
  t.match(JSON.parse((await run(['help', 'keyset', '--json'])).out), [{ topic: 'rest/keyset', title: 'Keyset pages' }])
  for (const topic of ['overload', 'deploy', 'settings'])
    t.match((await run(['help', topic])).out, /^# /, `${topic}, which messages name`)
  t.match(await run(['help', 'nothing']), { code: 1, out: '', err: /^There is no command and no guide "nothing"\./ })
})

t.test('the guide to the command line lists all commands', async (t) => {
  const [, names = ''] = /The commands are (.+)\.\n$/.exec((await run(['migrat'])).err) ?? []
  const rows = guideText('server/tools/README.md').match(/^\| `rowhouse .*$/gm) ?? []
  const cells = rows.map((row) => row.split(/(?<!\\)\|/)[1]).join('\n')
  for (const name of names.split(', ')) t.match(cells, new RegExp(`\\b${name}\\b`), name)
  t.notMatch(cells, 'prints', 'the first cells only')
})

t.test('a link of a console that may be closed', async (t) => {
  const closed = 'The console is closed unless the server has been started with CONSOLE=on.\n'
  const table: [Partial<Config>, string][] = [
    [{ dbUri: null, console: 'development' }, ''],
    [{ dbUri: 'postgres://localhost/app', console: 'development' }, closed],
    [{ dbUri: 'postgres://localhost/app', console: 'on' }, ''],
  ]
  for (const [settings, err] of table) {
    const loadConfig = (): Config => ({ ...config, dataDir: '.data', migrationDatabaseUrl: null, ...settings })
    const out = /^http:\/\/127\.0\.0\.1:3000\/console\/#code=[\w-]{43}\n$/
    t.match(await run(['console'], { loadConfig }), { code: 0, out, err })
  }
})

t.test('usage errors', async (t) => {
  const table: [string[], RegExp][] = [
    [
      ['migrat'],
      /^There is no command and no configuration file named "migrat"\. The commands are serve, migrate, sample, keys, users, storage, console, check, types, [a-z, -]+\.\n$/,
    ],
    [['no/such.conf'], /^There is no configuration file "no\/such\.conf"\.\n$/],
    [['--dump-config', 'no.conf'], /^There is no configuration file "no\.conf"\.\n$/],
    [['--nonsense'], /^error: unknown option '--nonsense'\n/],
    [['--dump-config', '--ready'], /^error: option '--dump-config' cannot be used with option '--ready'/],
    [['serve', 'a', 'b'], /^error: too many arguments/],
    [['keys'], /^Usage: rowhouse keys/],
    [['keys', 'make'], /^error: unknown command 'make'/],
    [['keys', 'revoke'], /^error: missing required argument 'id'/],
    [['keys', 'create'], /^Specify who the key acts as: --role anon/],
    [
      ['keys', 'create', '--role', 'anon', '--expires', 'soon'],
      /^error: option '--expires <when>' argument 'soon' is invalid/,
    ],
    [['keys', 'revoke', 'x\u001b[2J'], /^There is no active key x.\[2J\.\n$/],
  ]
  for (const [args, message] of table) {
    const { code, out, err } = await run(args)
    t.strictSame([code, out], [1, ''], args.join(' '))
    t.match(err, message, args.join(' '))
    t.notOk(err.includes('\u001b'))
  }
})

t.test('errors of commands are printed', async (t) => {
  const broken = (): never => {
    throw new Error('PGRST_DB_POOL: not a number')
  }
  const unreachable: Partial<Dependencies> = {
    withDatabase: () =>
      Promise.reject(
        new AggregateError([
          new Error('connect ECONNREFUSED ::1:5432'),
          new Error('connect ECONNREFUSED 127.0.0.1:5432'),
        ]),
      ),
  }
  const refused = 'connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432\n'
  const table: [string[], Partial<Dependencies>, number, string][] = [
    [['migrate'], { loadConfig: broken }, 1, 'PGRST_DB_POOL: not a number\n'],
    [['migrate', '--json'], { loadConfig: broken }, 1, '{"error":"PGRST_DB_POOL: not a number"}\n'],
    [
      ['check'],
      { withDatabaseSettings: () => Promise.reject(new Error('PGRST_DB_POOL: not a number')) },
      2,
      'PGRST_DB_POOL: not a number\n',
    ],
    [['keys', 'list'], unreachable, 1, refused],
    [['check'], unreachable, 2, refused],
    [['serve'], { serve: () => Promise.reject(new Error('the port 3000 is taken')) }, 1, 'the port 3000 is taken\n'],
  ]
  for (const [args, given, code, err] of table) {
    t.match(await run(args, given), { code, out: '', err }, args.join(' '))
  }
  const bug = await run(['serve'], { serve: () => Promise.reject(new TypeError('x is not a function')) })
  t.match(
    bug,
    { code: 1, err: /^TypeError: x is not a function\n\s+at / },
    'an internal error is printed with its stack',
  )
})

t.test('migrate', async (t) => {
  const applied = 'Applied:\n  1_roles.sql\n  2_tables.sql\n'
  const statusTable = [
    'FILE       STATE                                     SINCE',
    '1_a.sql    applied                                   2026-01-02 03:04:05Z',
    '2_b.sql    pending',
    'seed.sql   not applied: --seed',
    'notes.sql  not applied: not named like 001_name.sql\n',
  ].join('\n')
  const table: [string[], string, boolean, unknown[]][] = [
    [['migrate'], applied, true, ['migrate', {}]],
    [['migrate', '--json'], '{"applied":["1_roles.sql","2_tables.sql"],"notes":[]}\n', true, ['migrate', {}]],
    [['migrate', '--seed'], applied, true, ['migrate', { seed: true }]],
    [['migrate', '--include-all', '--seed'], applied, true, ['migrate', { seed: true, includeAll: true }]],
    [['migrate', '--dry-run'], 'Would apply:\n  2_tables.sql\n', false, ['pending', {}]],
    [
      ['migrate', '--dry-run', '--include-all'],
      'Would apply:\n  2_tables.sql\n',
      false,
      ['pending', { includeAll: true }],
    ],
    [['--json', 'migrate', '--dry-run'], '{"pending":["2_tables.sql"]}\n', false, ['pending', {}]],
    [
      ['migrate', '--accept', '1_a.sql'],
      'Recorded migrations/1_a.sql as applied, as it is now.\n',
      false,
      ['accept', '1_a.sql'],
    ],
    [['migrate', '--accept', '1_a.sql', '--json'], '{"accepted":"migrations/1_a.sql"}\n', false, ['accept', '1_a.sql']],
    [['migrate', 'status'], statusTable, false, ['status']],
    [['migrate', 'status', '--json'], `${JSON.stringify(status)}\n`, false, ['status']],
  ]
  for (const [args, out, creates, last] of table) {
    const calls = [['config', undefined], ['database', { role: 'owner', creates }], last]
    t.strictSame(await run(args), { code: 0, out, err: '', calls }, args.join(' '))
  }
  t.strictSame(
    await run(['migrate', '--dry-run'], { hasDatabase: () => Promise.resolve(false) }),
    { code: 0, out: 'Would apply:\n  1_roles.sql\n  2_tables.sql\n', err: '', calls: [['config', undefined]] },
    'no database is created',
  )
  const noted = { migrate: () => Promise.resolve({ applied: [], notes: ['Set the password.'] }) }
  t.match(await run(['migrate'], {}, noted), { code: 0, out: 'The database is up to date.\nSet the password.\n' })
  const idle = {
    migrate: () => Promise.resolve({ applied: [], notes: [] }),
    pendingMigrations: () => Promise.resolve([]),
  }
  for (const args of [['migrate'], ['migrate', '--dry-run']]) {
    t.match(await run(args, {}, idle), { code: 0, out: 'The database is up to date.\n' })
  }
  t.strictSame((await run(['migrate', '-c', 'my.conf'])).calls[0], ['config', 'my.conf'])
})

t.test('migrate: the folder, the status, and errors', async (t) => {
  const given: (string | null)[] = []
  const withDatabase: Dependencies['withDatabase'] = ({ migrationsDir }, _wish, use) => {
    given.push(migrationsDir)
    return use({
      migrate: () => Promise.resolve({ applied: [], notes: [] }),
      migrationStatus: () => Promise.resolve(status),
    } as Partial<DatabaseOperations> as DatabaseOperations)
  }
  for (const args of [
    ['migrate', '--migrations', 'a'],
    ['migrate', 'status', '--migrations', 'a'],
    ['migrate', '--migrations', 'a', 'status'],
  ]) {
    await run(args, { withDatabase })
  }
  t.strictSame(given, ['a', 'a', 'a'])

  const states: [ProjectStatus['files'][number]['state'], number, RegExp][] = [
    ['applied', 0, /applied/],
    ['pending', 0, /pending/],
    ['out of order', 0, /pending, older than an applied file: --include-all/],
    ['file missing', 0, /applied, the file is missing/],
    ['applied by supabase', 0, /Supabase/],
    ['edited', 1, /changed after it was applied/],
    ['extended', 1, /extended after it was applied/],
    ['incomplete', 1, /incomplete: 1 of 3 statements, statement 2 was interrupted/],
  ]
  for (const [state, code, text] of states) {
    const file = { name: '1_a.sql', state, appliedAt: null, done: 1, statements: 3, interrupted: 2 }
    const ran = await run(
      ['migrate', 'status'],
      {},
      { migrationStatus: () => Promise.resolve({ ...status, files: [file] }) },
    )
    t.strictSame([ran.code, ran.err], [code, ''], state)
    t.match(ran.out, text, state)
  }
  const none: ProjectStatus = { folder: null, files: [], seeds: [], ignored: [] }
  const empty = await run(['migrate', 'status'], {}, { migrationStatus: () => Promise.resolve(none) })
  t.equal(empty.out, 'There is no folder of migrations. `rowhouse migrate new NAME` creates it.\n')

  const failed = { migrate: () => Promise.reject(new MigrationError('1_a.sql:1: wrong', place, {})) }
  t.match(await run(['migrate'], {}, failed), { code: 1, out: '', err: '1_a.sql:1: wrong\n' })
  const json = await run(['migrate', '--json'], {}, failed)
  t.strictSame(JSON.parse(json.err), {
    error: '1_a.sql:1: wrong',
    place: { file: '1_a.sql', line: 1, statement: 1, code: '42601' },
  })
  t.match(await run(['migrate', '--watch']), { code: 0, out: 'Watching migrations\n', err: '1_a.sql:1: wrong\n' })
  const watched = await run(['migrate', '--watch', '--json', '--include-all'])
  t.strictSame(JSON.parse(watched.out), { notice: 'Watching migrations' })
  t.match(JSON.parse(watched.err), { error: '1_a.sql:1: wrong', place: { line: 1 } })
  t.strictSame(watched.calls.at(-1), ['watch', { includeAll: true }])
  t.match(await run(['migrate', '--watch', '--dry-run']), { code: 1, err: /cannot be used with/ })
  t.match(await run(['migrate', 'stats']), { code: 1, err: /error/ })
})

t.test('migrate new', async (t) => {
  const folder = join(t.testdir({}), 'migrations')
  const create = (...args: string[]): Promise<Ran> => run(['migrate', 'new', '--migrations', folder, ...args])
  const first = await create('Create tasks')
  t.match(first, { code: 0, err: '' })
  t.match(first.out, /^Created .*migrations\/\d{14}_create_tasks\.sql\.\n$/)
  const second = await create('Öffne die "Tür"!', '--json')
  t.match(JSON.parse(second.out), { file: /\/\d{14}_o_ffne_die_tu_r\.sql$/ })
  t.equal((await readdir(folder)).length, 2)
  t.match(await create('../../etc'), { code: 0, out: /migrations\/\d+_etc\.sql/ })
  t.match(await create('42'), { code: 1, err: /has letters from a to z/ })
  t.match(await create(), { code: 1, err: /missing required argument 'name'/ })
})

t.test('keys', async (t) => {
  const created: [string[], unknown][] = [
    [['--role', 'anon'], { role: 'anon', label: 'anon key' }],
    [['--role', 'service_role', '--label', 'nightly job'], { role: 'service_role', label: 'nightly job' }],
    [['--user', 'u1'], { role: 'authenticated', label: 'authenticated key', userId: 'u1' }],
    [['--role', 'x', '--user', 'u1'], { role: 'x', label: 'x key', userId: 'u1' }],
    [
      ['--role', 'anon', '--expires', '2100-01-31'],
      { role: 'anon', label: 'anon key', expiresAt: new Date('2100-01-31') },
    ],
  ]
  for (const [args, wanted] of created) {
    const { code, out, calls } = await run(['keys', 'create', ...args])
    t.strictSame(calls.at(-1), ['create', wanted], args.join(' '))
    t.match(
      { code, out },
      { code: 0, out: /^sb_secret_abcdefgh\n\n.*cannot be shown again.*rowhouse keys revoke 7f4c5dbb-/ },
    )
  }
  t.match(JSON.parse((await run(['keys', 'create', '--role', 'anon', '--json'])).out), {
    id: key.id,
    key: key.key,
    role: 'anon',
  })

  const list = await run(['keys', 'list'])
  t.match(
    list.out,
    /^ID +KEY +ACTS AS +LABEL +VALID \(UTC\)\n7f4c5dbb-5a2c-4c58-9d0a-2f1f3a5b9c11 {2}sb_secret_abcd… +service_role +service_role key +always\n$/,
  )
  t.notMatch(list.out, /abcdefgh/)
  const { out: json } = await run(['keys', 'list', '--json'])
  t.match(JSON.parse(json), [{ id: key.id, hint: 'sb_secret_abcd', createdAt: '2026-01-01T00:00:00.000Z' }])
  const states: [Partial<ApiKey>, string][] = [
    [{ expiresAt: new Date('2100-01-31T12:30:00Z') }, 'until 2100-01-31 12:30'],
    [{ expiresAt: new Date('2020-01-31T12:30:00Z') }, 'expired 2020-01-31 12:30'],
    [{ expiresAt: new Date('2020-01-31'), revokedAt: new Date('2019-12-31') }, 'revoked 2019-12-31 00:00'],
    [{ role: 'authenticated', userId: '1b2c3d4e-0000-4000-8000-000000000000' }, 'user 1b2c3d4e…'],
  ]
  for (const [change, expected] of states) {
    const { out } = await run(['keys', 'list'], {}, { listApiKeys: () => Promise.resolve([{ ...key, ...change }]) })
    t.ok(out.includes(expected), expected)
    t.ok(out.split('\n').every((line) => line.length <= 120))
  }
  t.equal((await run(['keys', 'list'], {}, { listApiKeys: () => Promise.resolve([]) })).out, 'There are no keys.\n')

  t.match(await run(['keys', 'revoke', key.id]), { code: 0, out: `Revoked ${key.id}.\n` })
  t.match(await run(['keys', 'revoke', key.id, '--json']), { code: 0, out: `{"id":"${key.id}","revoked":true}\n` })
  t.match(await run(['keys', 'limit', key.id, '--max-rows', '100', '--max-requests-per-second', '0.5']), {
    code: 0,
    out: `Limits of ${key.id}: max_rows 100, max_requests_per_second 0.5.\n`,
    calls: [{}, {}, ['limit', key.id, { max_rows: 100, max_requests_per_second: 0.5 }]],
  })
  t.match(await run(['keys', 'limit', key.id]), { code: 0, out: `Limits of ${key.id}: none.\n` })
  t.match(await run(['keys', 'limit', key.id, '--json']), { out: `{"id":"${key.id}","limits":null}\n` })
  t.match(await run(['keys', 'limit', 'other']), { code: 1, err: 'There is no key other.\n' })
  t.match(await run(['keys', 'limit', key.id, '--max-rows', 'x']), { code: 1, err: /Allowed is a whole number\.\n/ })
  t.match(await run(['keys', 'revoke', 'other']), { code: 1, err: 'There is no active key other.\n' })

  t.strictSame((await run(['keys', 'list'])).calls.at(-1), ['database', { role: 'owner', creates: false }])
  const unmigrated = { query: () => Promise.resolve({ rows: [{ migrated: false }] }) }
  t.match(await run(['keys', 'list'], {}, unmigrated), { code: 1, err: /Run `rowhouse migrate` first/ })
})

t.test('errors about missing privileges name the setting', async (t) => {
  const denied = (): never => {
    throw Object.assign(new Error('permission denied for schema auth'), { code: '42501', severity: 'ERROR' })
  }
  const withOwner = (url: string | null): Partial<Dependencies> => ({
    loadConfig: () => ({ ...config, migrationDatabaseUrl: url }),
  })
  const table: [string[], string | null, RegExp][] = [
    [['migrate'], null, /^permission denied for schema auth\nSet MIGRATION_DATABASE_URL to /],
    [['migrate'], 'postgres://owner@h/d', /^permission denied for schema auth\n$/],
    [['keys', 'list'], null, /^The role that serves requests may not manage keys\. Set MIGRATION_DATABASE_URL to /],
    [['keys', 'list'], 'postgres://owner@h/d', /^The role in MIGRATION_DATABASE_URL may not manage keys/],
  ]
  for (const [args, url, message] of table) {
    t.match(await run(args, withOwner(url), { query: denied, migrate: denied }), { code: 1, out: '', err: message })
  }
})

t.test('--expires is parsed', async (t) => {
  const now = Date.now()
  const hour = 3_600_000
  const spans: [string, number][] = [
    ['12h', 12],
    ['30d', 30 * 24],
    ['8w', 8 * 7 * 24],
  ]
  for (const [text, hours] of spans) {
    const time = readExpiry(text).getTime() - now - hours * hour
    t.ok(time >= 0 && time < 10_000, text)
  }
  const times: [string, string][] = [
    ['2030-01-31', '2030-01-31T00:00:00.000Z'],
    ['2030-01-31T12:30Z', '2030-01-31T12:30:00.000Z'],
    ['2028-02-29T23:59:59.5+02:00', '2028-02-29T21:59:59.500Z'],
  ]
  for (const [text, expected] of times) t.equal(readExpiry(text).toISOString(), expected, text)
  const wrong = [
    '',
    '30',
    'd',
    '-1d',
    '1.5h',
    '2030-02-31',
    '2030-13-01',
    '2030-1-1',
    '2030-01-31T12:30',
    '2030-01-31T25:00Z',
    '31.01.2030',
    '9999999d',
  ]
  for (const text of wrong) t.throws(() => readExpiry(text), { code: 'commander.invalidArgument' }, text)
})

t.test('check', async (t) => {
  const granted = [{ to: anonRole.oid, privilege: 'insert', column: null }]
  const unsound = { ...extensionTable, rls: false, granted }
  const asked: unknown[] = []
  const exposing = (relation: Relation): Partial<DatabaseOperations> => ({
    query: (text, values) => {
      if (values) asked.push(values)
      const objects = { relations: [relation], roles: [anonRole], schemas: [openSchema] }
      return Promise.resolve({ rows: catalogueRows(text, objects) })
    },
  })
  t.match(await run(['check'], {}, exposing(extensionTable)), {
    code: 0,
    err: '',
    out: /^Found nothing\.\n\nExposed: 1 relation and 0 functions/,
  })
  t.match(await run(['check'], {}, exposing(unsound)), {
    code: 1,
    err: '',
    out: /^ERROR exposed_table_without_rls {2}public\.films\n[^]*Found 1 error/,
  })
  const { code, out } = await run(['check', '--json'], {}, exposing(unsound))
  t.equal(code, 1)
  t.match(JSON.parse(out), {
    findings: 1,
    exposed: [
      {
        ...{ kind: 'table', schema: 'public', name: 'films', rls: false, securityInvoker: false, policies: [] },
        roles: [
          { name: 'anon', bypassesRls: false, grants: { select: null, insert: 'all', update: null, delete: null } },
        ],
        findings: [{ kind: 'rls-off' }],
      },
    ],
    lints: [{ code: 'exposed_table_without_rls', level: 'ERROR', object: { schema: 'public', name: 'films' } }],
  })
  t.ok(asked.some((values) => String(values) === '["anon","authenticated","service_role","web_anon"]'))
})

t.test('--ready sends its request to the configured address', async (t) => {
  const admin = { ...config, adminServerPort: 3001 }
  const table: [Partial<Config>, Address][] = [
    [{}, { kind: 'tcp', host: '127.0.0.1', port: 3000, path: '/ready' }],
    [{ adminServerPort: 3001 }, { kind: 'tcp', host: 'localhost', port: 3001, path: '/ready' }],
    [{ serverUnixSocket: '/run/api.sock' }, { kind: 'socket', socket: '/run/api.sock', path: '/ready' }],
    [
      { adminServerUnixSocket: '/run/a.sock', adminServerPort: 1 },
      { kind: 'socket', socket: '/run/a.sock', path: '/ready' },
    ],
  ]
  for (const [change, address] of table) t.strictSame(readyAddress({ ...config, ...change }), address)

  const answers: [Partial<Config>, () => Promise<number>, Ran['code'], string, string][] = [
    [admin, () => Promise.resolve(200), 0, 'OK: http://localhost:3001/ready\n', ''],
    [{ ...admin, adminServerHost: '::1' }, () => Promise.resolve(204), 0, 'OK: http://[::1]:3001/ready\n', ''],
    [admin, () => Promise.resolve(503), 1, '', 'ERROR: http://localhost:3001/ready responded with 503\n'],
    [
      admin,
      () => Promise.reject(new Error('timed out')),
      1,
      '',
      'ERROR: no response from http://localhost:3001/ready (timed out)\n',
    ],
  ]
  for (const [settings, fetchStatus, code, out, err] of answers) {
    t.match(await run(['--ready'], { loadConfig: () => ({ ...config, ...settings }), fetchStatus }), { code, out, err })
  }
  for (const host of ['*', '*4', '!4', '*6', '!6']) {
    const ran = await run(['--ready'], { loadConfig: () => ({ ...admin, adminServerHost: host }) })
    t.match(ran, { code: 1, calls: [], err: /^ERROR: .*set the host to "localhost"/ }, host)
  }
})

t.test('a configuration file can have the name of a command', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-conf-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'migrate')
  await writeFile(file, '')
  t.strictSame((await run([file])).calls, [['serve', { configFile: file }]], 'or by its path')
  t.strictSame(await readdir(folder), ['migrate'])
})

t.test('audit writes its migration into the folder of the project, under the next number', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-audit-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, '001_tasks.sql'), 'create table tasks ()')
  const found = { id: 'public.tasks', schema: 'public', name: 'tasks', kind: 'r', root: null, exists: false }
  const table = { ...found, is_partition: false, is_own: false, has_children: false, has_parents: false }
  const session = {
    query: (text: string) => Promise.resolve({ rows: text.includes('with recursive') ? [] : [table] }),
  } as Partial<DatabaseOperations>
  const settings = { loadConfig: () => ({ ...config, migrationsDir: folder, schemasDir: null }) }

  const printed = await run(['audit', 'enable', 'public.tasks'], settings, session)
  t.match(printed, {
    code: 0,
    out: /create or replace trigger rowhouse_audit_2_insert after insert on "?public"?\."?tasks"?/,
  })
  const written = await run(['audit', 'enable', 'public.tasks', '--write'], settings, session)
  const file = join(folder, '002_audit_enable_public_tasks.sql')
  t.match(written, { code: 0, out: `Wrote ${file}. To apply it: rowhouse migrate\n` })
  t.equal(await readFile(file, 'utf8'), printed.out)
  const json = await run(['audit', 'disable', 'public.tasks', '--write', folder, '--json'], settings, session)
  t.strictSame(JSON.parse(json.out), { file: join(folder, '003_audit_disable_public_tasks.sql') })
})
