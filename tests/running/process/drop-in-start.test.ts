// Starts like PostgREST: the database used, the connections as the database sees them, and the outputs of the log.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { chooseDatabase } from '../../../server/config/database-choice.ts'
import { applicationName, serverName } from '../../../server/common/version.ts'
import { startApplication } from '../../support/application.ts'
import { createFilmDatabase } from '../../support/authenticator.ts'
import { fakePostgres } from '../../support/fake-postgres.ts'
import { says, startProgram, type Program } from '../../support/program.ts'
import { until } from '../../support/until.ts'

// Each start compiles the program.

const { database, anonymous, uri } = await createFilmDatabase(t)
await database.query(`
  create function public.breaks() returns int language plpgsql as
    $$ begin raise 'no' using errcode = 'XX000'; end $$;
  create function public.names_itself() returns void language sql as
    $$ select set_config('response.headers', '[{"SERVER": "films/1"}]', true) $$;
`)
const { hostname, port, username, password } = new URL(uri)
const folder = mkdtempSync(join(tmpdir(), 'rowhouse-start-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const services = join(folder, 'services.conf')
writeFileSync(services, `[films]\nhost=${hostname}\nport=${port}\ndbname=${database.name}\nuser=${username}\n`)
const file = join(folder, 'postgrest.conf')
writeFileSync(file, `db-anon-role = "${anonymous}"\nserver-host = "127.0.0.1"\nlog-level = "error"\n`)

/** Waits for the connection that listens, too, which is opened beside the others. */
async function connections(): Promise<unknown[]> {
  let found: unknown[] = []
  await until(async () => {
    const { rows } = await database.query(
      `select distinct application_name as name, case when query like 'LISTEN %' then query end as listens
       from pg_stat_activity where datname = '${database.name}' and usename = '${username}' order by 2 nulls first`,
    )
    found = rows
    return rows.length >= 2
  })
  return found
}

/** Sends requests that get 200, 404 and 500, stops the program, and returns its standard output. */
async function requestLog(program: Program): Promise<Record<string, unknown>[]> {
  for (const path of ['/films', '/nowhere', '/rpc/breaks']) await program.call('GET', path)
  program.kill('SIGTERM')
  await program.ended
  return program
    .printed()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

t.test('the database is named by libpq’s variables', async (t) => {
  const program = startProgram(t, {
    PGHOST: hostname,
    PGPORT: port,
    PGDATABASE: database.name,
    PGUSER: username,
    PGPASSWORD: password,
    PGRST_DB_ANON_ROLE: anonymous,
    PGRST_LOG_LEVEL: 'crit',
    HOST: '127.0.0.1',
    REST_BASE_PATH: '/',
    DATA_DIR: join(folder, 'embedded'),
  })
  await program.line(says('listening'))
  const answer = await program.call('GET', '/films')
  t.match(answer, { status: 200, body: [] })
  t.equal(answer.headers.get('server'), serverName)
  t.strictSame(await connections(), [
    { name: applicationName, listens: null },
    { name: applicationName, listens: 'LISTEN "pgrst"' },
  ])
  t.match(applicationName, /^PostgREST 16\.2 rowhouse\/\d/)
  t.strictSame(await requestLog(program), [], 'no standard output with log-level crit')
  t.notOk(program.logged().some(says('embedded-database')))
})

t.test('the database is named by a configuration file and a service', async (t) => {
  const env = { PGSERVICE: 'films', PGSERVICEFILE: services, PGPASSWORD: password, PGAPPNAME: 'films at work' }
  const program = startProgram(t, { ...env, REST_BASE_PATH: '/' }, [file])
  await program.line(says('listening'))
  t.strictSame(
    await connections(),
    [
      { name: 'films at work', listens: null },
      { name: 'films at work', listens: 'LISTEN "pgrst"' },
    ],
    'a name set by the user takes precedence',
  )
  t.match(await requestLog(program), [{ event: 'request', level: 'error', path: '/rpc/breaks', status: 500 }])
  t.equal(program.printed().trim().split('\n').length, 1, 'only the error on standard output with log-level error')
  t.ok(program.logged().some(says('database-error')), 'its cause is on standard error')
})

t.test('a database for migrations alone does not name the database to serve', async (t) => {
  const migrationDatabaseUrl = 'postgres://owner@host/db'
  const config = { dataDir: '.data', dbUri: null, migrationDatabaseUrl }
  t.strictSame(chooseDatabase(config, 'owner'), { kind: 'named', uri: migrationDatabaseUrl })
  t.throws(() => chooseDatabase(config, 'authenticator'), {
    message: /MIGRATION_DATABASE_URL: is only used for migrations; set DATABASE_URL/,
  })
  t.strictSame(chooseDatabase({ ...config, dbUri: uri }, 'authenticator'), { kind: 'named', uri })
  t.strictSame(chooseDatabase({ ...config, migrationDatabaseUrl: null, dbUri: uri }, 'owner'), { kind: 'named', uri })
  const none = { ...config, migrationDatabaseUrl: null }
  for (const role of ['owner', 'authenticator'] as const) {
    t.strictSame(chooseDatabase(none, role), { kind: 'embedded', dataDir: '.data' }, role)
  }
})

t.test('a server that is too old is refused', async (t) => {
  const message = 'Cannot run in this PostgreSQL version (13.22 (Debian 13.22-1)), rowhouse needs at least 14.0'
  const old = await fakePostgres({ version: ['130022', '13.22 (Debian 13.22-1)'] })
  t.teardown(() => old.close())
  const address = `postgres://u@127.0.0.1:${old.port}/d?sslmode=disable`
  await t.rejects(startApplication(t, address), { message })
  t.match(old.seen, [
    'plain startup',
    'query LISTEN "rowhouse"',
    'query LISTEN "rowhouse_realtime_subscribers"',
    'query LISTEN "rowhouse_schedules"',
    'query LISTEN "rowhouse_calls"',
    'query LISTEN "pgrst"',
    'plain startup',
    'query select pg_catalog.pg_backend_pid() as pid',
    'query begin isolation level repeatable read read only',
    /^query .*server_version_num/,
    'query rollback',
  ])
})

t.test('the Server header names the program', async (t) => {
  const { call } = await startApplication(t, uri, { PGRST_DB_ANON_ROLE: anonymous })
  for (const path of ['/rest/v1/films', '/rest/v1/nowhere', '/rest/v1/', '/health', '/nowhere', '/auth/me']) {
    t.equal((await call('GET', path)).headers.get('server'), serverName, path)
  }
  t.match(serverName, /^postgrest\/16\.2 rowhouse\/\d+\.\d+\.\d+/)
  t.equal((await call('POST', '/rest/v1/rpc/names_itself')).headers.get('server'), 'films/1', 'a function may set it')
})
