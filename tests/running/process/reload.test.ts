// Settings and schema that change while the program runs.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import t from 'tap'
import { ReloadChannel } from '../../../server/rest/reload-channel.ts'
import { startApplication } from '../../support/application.ts'
import { createFilmDatabase } from '../../support/authenticator.ts'
import type { Call } from '../../support/call.ts'
import { says, startProgram } from '../../support/program.ts'
import { until } from '../../support/until.ts'

const { database, authenticator, anonymous, uri } = await createFilmDatabase(t, 9)
await database.query(`
  create function public.of_session(name text) returns text language sql as $$ select current_setting(name, true) $$;
  create function public.backend() returns int language sql as 'select pg_backend_pid()';
  create function public.nap(seconds float) returns void language sql as 'select pg_sleep(seconds)';
`)

const env = { PGRST_DB_URI: uri, PGRST_DB_ANON_ROLE: anonymous, REST_BASE_PATH: '/', PGRST_LOG_LEVEL: 'info' }
const folder = mkdtempSync(join(tmpdir(), 'rowhouse-reload-'))
t.teardown(() => rmSync(folder, { recursive: true }))

type Server = { readonly call: Call }
const rowsOf = async ({ call }: Server): Promise<number> => ((await call('GET', '/films')).body as unknown[]).length
const valueOf = async ({ call }: Server, path: string): Promise<unknown> => (await call('GET', path)).body

t.test('settings and schema reload on notification and on signal', async (t) => {
  const file = join(folder, 'reload.conf')
  const write = (rows: string, channel = 'pgrst'): void =>
    writeFileSync(file, `db-max-rows = ${rows}\ndb-channel = "${channel}"\nserver-port = 1\n`)
  write('9')
  const program = startProgram(t, env, [file])
  await program.line(says('listening'))
  const { logged, line, call } = program
  const after = async (event: string, act: () => unknown): Promise<void> => {
    const before = logged().length
    await act()
    await line(says(event), before)
  }
  const notify = (payload: string, channel = 'pgrst') => database.query(`notify ${channel}, '${payload}'`)
  t.equal(await rowsOf(program), 9)

  write('8')
  await after('config-reloaded', () => notify('reload config'))
  t.equal(await rowsOf(program), 8, 'settings, by notification')
  write('7')
  await after('config-reloaded', () => program.kill('SIGUSR2'))
  t.equal(await rowsOf(program), 7, 'settings, by signal')

  await database.query(`create table public.later (id int); grant select on public.later to ${anonymous}`)
  t.match(await call('GET', '/later'), { status: 404, body: { code: 'PGRST205' } })
  await after('schema-cache-loaded', () => notify('reload schema'))
  t.match(await call('GET', '/later'), { status: 200, body: [] }, 'schema, by notification')
  await database.query('drop table public.later')
  await after('schema-cache-loaded', () => program.kill('SIGUSR1'))
  t.match(await call('GET', '/later'), { status: 404, body: { code: 'PGRST205' } }, 'schema, by signal')

  write('6')
  await database.query(`create table public.both (id int); grant select on public.both to ${anonymous}`)
  await after('schema-cache-loaded', () => database.query('notify pgrst'))
  t.equal(await rowsOf(program), 6, 'both, by an empty notification: the settings')
  t.match(await call('GET', '/both'), { status: 200 }, 'both, by an empty notification: the schema')
  await database.query('drop table public.both')

  const before = logged().length
  await notify('something else')
  await notify('reload config', 'other')
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.strictSame(
    logged()
      .slice(before)
      .map(({ event }) => event)
      .filter((event) => event !== 'request'),
    [],
    'other payloads and channels have no effect',
  )

  await database.query(`alter role ${authenticator} in database ${database.name} set pgrst.db_max_rows = '5'`)
  await after('config-reloaded', () => notify('reload config'))
  t.equal(await rowsOf(program), 5, 'settings of the database take precedence over the file')

  for (const [what, broken, mend] of [
    ['in the file', () => write('"many"'), () => write('6')],
    [
      'in the database',
      () => database.query(`alter role ${authenticator} in database ${database.name} set pgrst.db_tx_end = 'maybe'`),
      () => database.query(`alter role ${authenticator} in database ${database.name} reset pgrst.db_tx_end`),
    ],
  ] as const) {
    await broken()
    await after('config-invalid', () => notify('reload config'))
    t.equal(await rowsOf(program), 5, `an invalid value ${what} changes nothing`)
    const { error } = await line(says('config-invalid'))
    t.match(error, { name: 'ConfigError', message: /db-max-rows|db_tx_end/ }, 'and is logged')
    await mend()
  }
  await database.query(`alter role ${authenticator} in database ${database.name} reset pgrst.db_max_rows`)

  const backend = await valueOf(program, '/rpc/backend')
  t.equal(await valueOf(program, '/rpc/backend'), backend, 'connections are kept')
  await database.query(`alter role ${authenticator} set app.mood = 'fresh'`)
  await after('config-reloaded', () => notify('reload config'))
  t.equal(await valueOf(program, '/rpc/backend'), backend, 'also when settings are reloaded')
  const nap = call('GET', '/rpc/nap?seconds=0.6')
  await new Promise((resolve) => setTimeout(resolve, 100))
  await after('schema-cache-loaded', () => notify('reload schema'))
  t.match(await nap, { status: 204 }, 'running statements are not interrupted')
  t.equal(await valueOf(program, '/rpc/of_session?name=app.mood'), 'fresh', 'a reloaded schema starts new sessions')
  const old = 'select from pg_stat_activity where pid = $1'
  t.ok(await until(async () => (await database.query(old, [backend])).rowCount === 0), 'and the old ones are closed')

  write('6', 'other')
  await after('channel-listening', () => notify('reload config'))
  write('4', 'other')
  await after('config-reloaded', () => notify('reload config', 'other'))
  t.equal(await rowsOf(program), 4, 'the channel can change')
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${authenticator}' and query like 'LISTEN %'`,
  )
  await line(says('channel-lost'))
  await database.query(`create table public.unheard (id int); grant select on public.unheard to ${anonymous}`)
  await after('schema-cache-loaded', () => undefined)
  t.match(await call('GET', '/unheard'), { status: 200 }, 'notifications missed while disconnected are recovered')
  writeFileSync(file, 'db-channel-enabled = false')
  await after('config-reloaded', () => program.kill('SIGUSR2'))
  const listening = `select from pg_stat_activity where usename = '${authenticator}' and query like 'LISTEN %'`
  t.ok(
    await until(async () => (await database.query(listening)).rowCount === 0),
    'without the channel, there is no listener',
  )
})

t.test('settings in the database and of db-pre-config are reloaded', async (t) => {
  await database.query(`
    create function public.pre_config() returns void language sql as
      $$ select set_config('pgrst.db_max_rows', '2', true), set_config('pgrst.db_plan_enabled', 'true', true) $$;
  `)
  const settings = { ...env, PGRST_DB_PRE_CONFIG: 'public.pre_config' }
  const start = (more: Record<string, string>) => startApplication(t, uri, { ...settings, ...more })
  const program = await start({ PGRST_DB_MAX_ROWS: '9' })
  t.equal(await rowsOf(program), 2, 'the function takes precedence over the environment')
  const plan = { headers: { Accept: 'application/vnd.pgrst.plan+json' } }
  t.match(await program.call('GET', '/films', plan), { status: 200 })
  await database.query(`create or replace function public.pre_config() returns void language plpgsql as
    $$ begin raise 'not today' using hint = 'hunter2'; end $$`)
  await program.service.engine.reloadSettings()
  t.match(program.logged().find(says('config-invalid')), { error: { message: 'not today' } })
  t.equal(await rowsOf(program), 2, 'a failing function changes nothing')

  const other = await start({ PGRST_DB_MAX_ROWS: '3' })
  t.equal(await rowsOf(other), 3, 'and does not prevent the start')
  const without = await start({ PGRST_DB_CONFIG: 'false' })
  t.notOk(without.logged().some(says('config-invalid')), 'nor is it called if db-config is off')
})

t.test('a disabled channel stays disabled while a reload is in progress', async (t) => {
  const { service } = await startApplication(t, uri, { PGRST_DB_ANON_ROLE: anonymous })
  const { config } = service.engine.snapshot
  const channel = new ReloadChannel(service.database, service.engine, () => undefined)
  await channel.follow(config)
  t.equal(channel.isOn, true)
  await channel.stop()
  await channel.follow(config)
  t.equal(channel.isOn, false)
})

t.test('a secret in a file waits for a reload of the settings, unless they are in the database', async (t) => {
  const secretFile = join(folder, 'jwt-secret')
  const [wrong, right] = ['an earlier secret of 32 characters', 'the secret of the token, 32 letters'] as const
  const signing = new SignJWT({ role: anonymous }).setProtectedHeader({ alg: 'HS256' })
  const token = await signing.sign(new TextEncoder().encode(right))
  const headers = { Authorization: `Bearer ${token}` }
  for (const [isInDatabase, afterSchema] of [
    ['false', 401],
    ['true', 200],
  ] as const) {
    writeFileSync(secretFile, wrong)
    const settings = { ...env, PGRST_JWT_SECRET: `@${secretFile}`, PGRST_DB_CONFIG: isInDatabase }
    const program = startProgram(t, settings)
    await program.line(says('listening'))
    const status = async () => (await program.call('GET', '/films', { headers })).status
    const after = async (event: string, act: () => unknown): Promise<void> => {
      const before = program.logged().length
      await act()
      await program.line(says(event), before)
    }
    t.equal(await status(), 401)
    writeFileSync(secretFile, right)
    await after('schema-cache-loaded', () => program.kill('SIGUSR1'))
    t.equal(await status(), afterSchema, `SIGUSR1, db-config=${isInDatabase}`)
    await after('schema-cache-loaded', () => database.query(`notify pgrst, 'reload schema'`))
    t.equal(await status(), afterSchema, `a notification, db-config=${isInDatabase}`)
    await after('config-reloaded', () => program.kill('SIGUSR2'))
    t.equal(await status(), 200, 'SIGUSR2')
    program.kill('SIGTERM')
  }
})
