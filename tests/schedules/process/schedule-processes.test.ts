// Several processes on one database: one of them runs the jobs, and another takes its place when it is killed.
import t from 'tap'
import { freePort } from '../../support/free-port.ts'
import { startProcesses } from '../../support/processes.ts'
import { rowOf, schedulesDatabase } from '../../support/schedules.ts'
import { until } from '../../support/until.ts'

const database = await schedulesDatabase(t)
await database.query(`
  create table public.log (began timestamptz, ended timestamptz, pid integer default pg_backend_pid());
  create procedure public.work(seconds float8) language plpgsql as $$
  declare began timestamptz := clock_timestamp();
  begin
    perform pg_sleep(seconds);
    insert into public.log values (began, clock_timestamp());
  end $$`)

type Server = {
  readonly kill: (signal: NodeJS.Signals) => void
  readonly admin: number
  readonly ended: Promise<unknown>
}

async function start(count: number): Promise<readonly Server[]> {
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()))
  const programs = await startProcesses(
    t,
    ports.map((port) => ({
      PGRST_JWT_SECRET: 's'.repeat(32),
      DATABASE_URL: database.authenticatorUri,
      MIGRATION_DATABASE_URL: database.adminUri,
      SERVICES: 'rest,schedules',
      PGRST_ADMIN_SERVER_PORT: String(port),
    })),
  )
  return programs.map((program, index) => ({ ...program, admin: ports[index] ?? 0 }))
}

const isScheduling = async ({ admin }: Server): Promise<boolean> =>
  (await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()).includes('\nschedules_scheduling 1')

/** Those that run the jobs, as soon as there is one. */
async function scheduling(servers: readonly Server[]): Promise<readonly Server[]> {
  let found: readonly Server[] = []
  await until(async () => {
    const states = await Promise.all(servers.map(isScheduling))
    found = servers.filter((_, index) => states[index])
    return found.length > 0
  })
  return found
}

t.test('a process that is killed is replaced, and no run overlaps another', { timeout: 300_000 }, async (t) => {
  const servers = await start(2)
  await database.query("select cron.schedule('work', '1 second', 'call public.work(0.7)')")
  await until(async () => (await database.query('select from public.log')).rowCount === 4)
  const [first, ...others] = await scheduling(servers)
  t.strictSame(others, [], 'one process runs the jobs')
  const killedAt = Date.now()
  first?.kill('SIGKILL')
  const rest = servers.filter((server) => server !== first)
  const [second] = await scheduling(rest)
  t.equal(second, rest[0])
  await rowOf(database, `select from public.log where began > to_timestamp(${killedAt / 1000}) + interval '2 seconds'`)
  t.ok(Date.now() - killedAt < 60_000, `after ${Date.now() - killedAt} ms`)

  second?.kill('SIGTERM')
  await second?.ended
  await database.query('select cron.unschedule(jobid) from cron.job')
  const { rows: overlaps } = await database.query(
    'select from public.log as a join public.log as b on a.ctid < b.ctid and a.began < b.ended and b.began < a.ended',
  )
  t.equal(overlaps.length, 0)
  const { rows: failures } = await database.query(
    "select distinct status, return_message from cron.job_run_details where status <> 'succeeded'",
  )
  for (const failure of failures) t.strictSame(failure, { status: 'failed', return_message: 'server restarted' })
  const { rows: missing } = await database.query(
    "select (select count(*) from cron.job_run_details where status = 'succeeded')::int as recorded, count(*)::int as ran from public.log",
  )
  const [{ recorded, ran } = {}] = missing as { recorded: number; ran: number }[]
  t.ok(
    (ran ?? 0) - (recorded ?? 0) >= 0 && (ran ?? 0) - (recorded ?? 0) <= 2,
    `${recorded} of ${ran} are recorded as succeeded`,
  )
})

t.test(
  'a job goes on after its process was killed: it is not started beside itself',
  { timeout: 300_000 },
  async (t) => {
    await database.query('truncate public.log, cron.job_run_details')
    const [first] = await start(1)
    // The database cannot end this command when its client is gone.
    await database.query(
      `select cron.schedule('long', '1 second', 'set client_connection_check_interval = 0; call public.work(25)')`,
    )
    const { job_pid: pid } = await rowOf(database, "select job_pid from cron.job_run_details where status = 'running'")
    await rowOf(database, `select from pg_stat_activity where pid = ${String(pid)} and query like '%public.work%'`)
    first?.kill('SIGKILL')
    await first?.ended
    const [second] = await start(1)
    await until(() => (second ? isScheduling(second) : false))
    const ended = await rowOf(database, `select ended from public.log where pid = ${String(pid)}`)
    const { rows } = await database.query(
      'select status, return_message, job_pid from cron.job_run_details where end_time is null or end_time < $1',
      [ended.ended],
    )
    t.strictSame(rows, [{ status: 'running', return_message: null, job_pid: pid }], 'it has waited')
    await rowOf(database, `select from cron.job_run_details where status = 'running' and job_pid <> ${String(pid)}`)
    t.strictSame(
      (await database.query(`select status, return_message from cron.job_run_details where job_pid = ${String(pid)}`))
        .rows,
      [{ status: 'failed', return_message: 'server restarted' }],
      'what became of it is not known',
    )
    await database.query('select cron.unschedule(jobid) from cron.job')
  },
)

t.test('jobs run again after the connections of the server were lost', { timeout: 300_000 }, async (t) => {
  await database.query('truncate public.log, cron.job_run_details')
  await start(1)
  await database.query("select cron.schedule('work', '1 second', 'call public.work(0.2)')")
  await until(async () => ((await database.query('select from public.log')).rowCount ?? 0) >= 2)
  await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name not like 'rowhouse schedules%'",
  )
  const { rows } = await database.query('select clock_timestamp()::text as at')
  t.ok(
    await rowOf(
      database,
      `select from public.log where began > '${String(rows[0]?.at)}'::timestamptz + interval '2 seconds'`,
    ),
  )
  await database.query('select cron.unschedule(jobid) from cron.job')
})
