// Schedules for people: the command line, and what the doctor finds.
import pg from 'pg'
import t from 'tap'
import { schedulesFindings } from '../../server/tools/doctor/schedules-findings.ts'
import { findJob, latestRuns, listSchedules, requireSchedules, runJob } from '../../server/tools/schedules/schedules.ts'
import type { RunClientQuery } from '../../server/catalogue/introspection.ts'
import { createDatabase } from '../support/database.ts'
import { rowhouse } from '../support/command.ts'
import { schedulesDatabase, startSchedules } from '../support/schedules.ts'

const database = await schedulesDatabase(t)
const owner = new pg.Client({ connectionString: database.adminUri })
const server = new pg.Client({ connectionString: database.authenticatorUri })
await Promise.all([owner.connect(), server.connect()])
t.teardown(() => Promise.all([owner.end(), server.end()]))
const query: RunClientQuery = (text, values) => owner.query<Record<string, unknown>>(text, values)
const asServer: RunClientQuery = (text, values) => server.query<Record<string, unknown>>(text, values)
const env = { DATABASE_URL: database.authenticatorUri, MIGRATION_DATABASE_URL: database.adminUri }

const find = (isServed = true, services = ['schedules'] as const): ReturnType<typeof schedulesFindings> =>
  schedulesFindings(query, { services }, isServed)

t.test('without jobs', async (t) => {
  t.strictSame(await find(), [])
  t.match(await rowhouse(['schedules'], env), {
    code: 0,
    out: /^There are no jobs\. To add one: select cron\.schedule/,
  })
  t.match(await rowhouse(['schedules', 'runs'], env), { code: 0, out: 'There are no such runs.\n' })
  t.match(await rowhouse(['schedules', 'run', 'nightly'], env), {
    code: 1,
    err: 'There is no job nightly. To list all: rowhouse schedules\n',
  })
  const empty = await createDatabase()
  t.teardown(() => empty.drop())
  const client = new pg.Client({ connectionString: empty.adminUri })
  await client.connect()
  const onEmpty: RunClientQuery = (text, values) => client.query<Record<string, unknown>>(text, values)
  await t.rejects(requireSchedules(onEmpty), { message: /run rowhouse migrate/ })
  t.strictSame(await schedulesFindings(onEmpty, { services: [] }, true), [])
  await client.end()
})

t.test('jobs and their runs', async (t) => {
  await startSchedules(t, database)
  await database.query(`
    select cron.schedule('nightly', '0 3 * * *', 'select generate_series(1, 3)'), cron.schedule('0 0 30 2 *', 'select 1 / 0')`)
  await requireSchedules(query)
  const { job } = await findJob(query, 'nightly')
  t.match(await runJob(query, job), { status: 'succeeded', message: '3 rows', rows: 3, job })
  const failing = String(Number(job) + 1)
  t.match(await runJob(query, failing), { status: 'failed', message: 'ERROR:  division by zero', rows: null })
  t.match(await listSchedules(query, 'UTC'), [
    { job, name: 'nightly', lastRun: { status: 'succeeded' }, nextAt: /T03:00:00/, isWaiting: false },
    { job: failing, name: null, lastRun: { status: 'failed' }, nextAt: null },
  ])
  t.match(await latestRuns(query, null, 10), [{ job: failing }, { job }])
  t.match(await latestRuns(query, null, 10, 'failed'), [{ job: failing }])
  t.equal((await latestRuns(query, null, 10, 'failed')).length, 1)

  const list = await rowhouse(['schedules'], env)
  t.match(list, { code: 0, err: '' })
  t.match(list.out, /^JOB +NAME +SCHEDULE +AS +NEXT RUN \(UTC\) +LAST RUN \(UTC\) +RESULT\n/)
  t.match(list.out, / nightly +0 3 \* \* \* +postgres +\d{4}-\d\d-\d\d 03:00:00 +\d{4}-.* succeeded: 3 rows\n/)
  t.match((await rowhouse(['schedules', 'runs', 'nightly'], env)).out, / nightly .* ms +succeeded +3 rows\n$/)
  t.match(JSON.parse((await rowhouse(['schedules', 'runs', '--failed', '--json'], env)).out), [{ job: failing }])
  t.match(await rowhouse(['schedules', 'run', 'nightly'], env), { code: 0, out: /^succeeded after \d+ ms: 3 rows\n$/ })
  t.match(await rowhouse(['schedules', 'run', failing], env), {
    code: 1,
    out: /^failed after .*: ERROR: {2}division by zero\n$/,
  })
  t.match(await rowhouse(['schedules', 'runs', '--limit', '0'], env), { code: 1, err: /Allowed are 1 to 10000/ })

  t.match(await find(), [
    {
      code: 'schedules_failed',
      level: 'WARN',
      subject: `job ${failing}`,
      what: /^Its last run failed, and 2 of its last 2: ERROR/,
    },
  ])
  t.strictSame(
    await schedulesFindings(asServer, { services: ['schedules'] }, true),
    await find(),
    'also as the serving role',
  )
})

t.test('a name that several roles have', async (t) => {
  await database.query(`
    select cron.schedule('same', '0 3 * * *', 'select 1');
    insert into cron.job (jobname, schedule, command, username) values ('same', '0 3 * * *', 'select 1', 'authenticator')`)
  await t.rejects(findJob(query, 'same'), {
    message: /^Several jobs are meant by same\. Specify a number: \d+ \(of postgres\), \d+ \(of authenticator\)$/,
  })
  await database.query('delete from cron.job')
})

t.test('jobs that nothing runs', async (t) => {
  await database.query("delete from rowhouse.leases; select cron.schedule('a', '1 second', 'select 1')")
  t.match(await find(), [
    { code: 'schedules_not_run', what: /^No server runs the 1 active job/, advice: /^Start a server/ },
  ])
  t.match(await schedulesFindings(query, { services: [] }, true), [{ advice: /SERVICES/ }])
  t.strictSame(await find(false), [])
  await database.query(`
    drop trigger check_job on cron.job;
    insert into cron.job_run_details (jobid, username, status, return_message, end_time)
    select jobid, username, 'failed', 'no connection string of the role "x": …', now() from cron.job`)
  t.match(await find(), [
    { code: 'schedules_pg_cron' },
    { code: 'schedules_role', level: 'WARN', advice: /^Add a connection string of postgres to SCHEDULES_DATABASE_URL/ },
  ])
})
