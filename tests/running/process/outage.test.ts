// A database that is unreachable, disconnects, or has no free connection.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Environment } from '../../../server/config/config-sources.ts'
import { startApplication, type Application } from '../../support/application.ts'
import { createFilmDatabase } from '../../support/authenticator.ts'
import { createGate } from '../../support/gate.ts'
import { createLatch } from '../../support/latch.ts'
import { says } from '../../support/program.ts'
import { until } from '../../support/until.ts'

const { database, authenticator, anonymous, uri } = await createFilmDatabase(t, 9)
await database.query(`
  create function public.backend() returns int language sql as 'select pg_backend_pid()';
  create function public.nap(seconds float) returns void language sql as 'select pg_sleep(seconds)';
  create function public.leave() returns void language plpgsql as
    $$ begin raise 'not now' using errcode = 'PT503'; end $$;
  alter role ${authenticator} in database ${database.name} set pgrst.db_max_rows = '4';
`)

const env = { PGRST_DB_ANON_ROLE: anonymous, REST_BASE_PATH: '/' }
const start = (t: Test, more: Environment = {}, address = uri) => startApplication(t, address, { ...env, ...more })

const events = ({ logged }: Application): unknown[] => logged().map(({ event }) => event)

t.test('a database that is down at startup, starts, stops, and starts again', async (t) => {
  const gate = await createGate(t, database.port)
  const application = await start(t, { PGRST_DB_MAX_ROWS: '9' }, uri.replace(`:${database.port}/`, `:${gate.port}/`))
  const { call, service } = application
  const early = await call('GET', '/films')
  t.match(early, {
    status: 503,
    body: {
      code: 'PGRST002',
      message: 'Could not query the database for the schema cache. Retrying.',
      details: null,
      hint: null,
    },
  })
  t.equal(early.headers.get('retry-after'), '0')
  t.equal(early.headers.get('proxy-status'), 'PostgREST; error=PGRST002')
  t.equal(await service.isReady(), false)
  t.match(application.logged().find(says('database-lost')), {
    level: 'error',
    msg: /retrying in 1 s/,
    error: { code: 'PGRST000', details: /ECONNREFUSED/ },
  })

  await gate.open()
  t.ok(await until(async () => (await call('GET', '/films')).status === 200), 'it recovers without a restart')
  t.equal(((await call('GET', '/films')).body as unknown[]).length, 4, 'with the settings of the database')
  t.ok(await until(() => service.isReady()), 'and is then ready')
  t.match(application.logged().find(says('database-connected')), {
    msg: /^Successfully connected to PostgreSQL \d+\.\d+$/,
  })

  const loads = events(application).filter((event) => event === 'schema-cache-loaded').length
  await gate.shut()
  const gone = await call('GET', '/films')
  t.match(gone, { status: 503, body: { code: /^PGRST00[01]$/ } })
  t.equal(gone.headers.get('retry-after'), '0')
  t.ok(await until(async () => !(await service.isReady())), 'not ready')
  t.match(await call('OPTIONS', '/films'), { status: 200 }, 'requests that need no database are still answered')
  await call('GET', '/films')
  t.ok(application.logged().some(says('database-error')), 'the log contains the error that clients got')
  await database.query(`create table public.later (id int); grant select on public.later to ${anonymous}`)
  await gate.open()
  t.ok(await until(async () => (await call('GET', '/films')).status === 200), 'it recovers again')
  t.ok(await until(async () => (await call('GET', '/later')).status === 200), 'and detects changes of the schema')
  // Reported when the connections are renewed, which requests do not wait for.
  const loadedAgain = (): boolean =>
    events(application).filter((event) => event === 'schema-cache-loaded').length > loads
  t.ok(await until(loadedAgain), 'which the log contains')
})

t.test('without the notification channel, a request detects the outage', async (t) => {
  const gate = await createGate(t, database.port)
  await gate.open()
  const settings = { PGRST_DB_CHANNEL_ENABLED: 'false' }
  const application = await start(t, settings, uri.replace(`:${database.port}/`, `:${gate.port}/`))
  const { call, service } = application
  t.match(await call('GET', '/films'), { status: 200 })
  t.equal(await service.isReady(), true)
  await pause(1100)
  await gate.shut()
  t.match(await call('GET', '/films'), { status: 503 })
  t.ok(await until(() => service.engine.isPending), 'and reloads everything')
  const before = events(application).length
  await gate.open()
  t.ok(await until(() => service.isReady()))
  t.match(await call('GET', '/films'), { status: 200 })
  t.ok(await until(() => events(application).slice(before).includes('schema-cache-loaded')))
  const loads = events(application).length
  t.match(await call('GET', '/rpc/leave'), { status: 503 }, 'an error raised by a function is not an outage')
  await pause(100)
  t.notOk(events(application).slice(loads).includes('schema-cache-loaded'))
})

t.test('fatal errors end the retries', async (t) => {
  const gate = await createGate(t, database.port)
  const wrong = database.uri(authenticator, 'hunter2')
  await t.rejects(start(t, {}, wrong), { message: /password authentication failed/ }, 'a wrong password')
  await t.rejects(start(t, {}, wrong.replace(':hunter2', '')), { message: /none is configured/ }, 'no password')
  const down = uri.replace(`:${database.port}/`, `:${gate.port}/`)
  const settings = { PGRST_DB_POOL_AUTOMATIC_RECOVERY: 'false' }
  await t.rejects(start(t, settings, down), { message: /ECONNREFUSED/ }, 'automatic recovery is disabled')
  await gate.open()
  const { service } = await start(t, settings, down)
  const gaveUp = service.engine.gaveUp
  await gate.shut()
  t.ok(await gaveUp, 'also when the database disconnects later')
})

t.test('an exhausted pool', async (t) => {
  const latch = await createLatch(t, database)
  await database.query(`create function public.hold() returns void language sql as 'select ${latch.wait}'`)
  const one = { PGRST_DB_POOL: '1' }
  const [patient, impatient, idle, short, many] = await Promise.all([
    start(t, { ...one, PGRST_DB_POOL_ACQUISITION_TIMEOUT: '1', PGRST_ADMIN_SERVER_PORT: '1' }),
    start(t, { ...one, PGRST_DB_POOL_ACQUISITION_TIMEOUT: '0' }),
    start(t, { ...one, PGRST_DB_POOL_MAX_IDLETIME: '1' }),
    start(t, { ...one, PGRST_DB_POOL_MAX_LIFETIME: '1' }),
    start(t, { PGRST_DB_POOL: '3' }),
  ])
  const exhausted = {
    status: 504,
    body: {
      code: 'PGRST003',
      message: 'Timed out acquiring connection from connection pool.',
      details: null,
      hint: null,
    },
  }
  const backend = async ({ call }: Application): Promise<unknown> => (await call('GET', '/rpc/backend')).body
  let before: unknown[] = []
  const isUsedAgain = async (): Promise<boolean> => {
    before = await Promise.all([backend(idle), backend(short)])
    const next = await Promise.all([backend(idle), backend(short)])
    return next.every((pid, index) => pid === before[index])
  }
  // Either connection may have ended in the meantime.
  t.ok(await until(isUsedAgain), 'a connection is reused')

  const held = [patient, impatient].map(({ call }) => call('POST', '/rpc/hold'))
  t.ok(await latch.isAwaited(2))
  t.match(await impatient.call('GET', '/films'), exhausted, 'the deadline has passed')
  const answers = await Promise.all([patient.call('GET', '/films'), patient.call('GET', '/films')])
  for (const answer of answers) t.match(answer, exhausted, 'no connection within a second')
  t.equal(answers[0]?.headers.get('retry-after'), null)
  t.equal(patient.logged().filter(says('pool-timeout')).length, 1, 'one line for all requests')
  t.match(await patient.service.metrics.text(), /^pgrst_db_pool_timeouts_total 2$/m)
  await latch.release()
  for (const answer of await Promise.all(held)) t.match(answer, { status: 204 })
  t.match(await patient.call('GET', '/films'), { status: 200 }, 'requests succeed afterwards')

  await pause(1500)
  const after = await Promise.all([backend(idle), backend(short)])
  t.not(after[0], before[0], 'an unused connection is closed')
  t.not(after[1], before[1], 'an old connection is closed')

  await Promise.all(Array.from({ length: 9 }, () => many.call('GET', '/rpc/nap?seconds=0.1')))
  t.equal(many.service.database.statistics.total, 3, 'not above the limit')
})
