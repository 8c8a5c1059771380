// What the database decides: which jobs are due, by a clock that the test sets; missed runs; who may start runs.
import t from 'tap'
import { migrate } from '../../server/postgres/migrate.ts'
import { createDatabase, withClient } from '../support/database.ts'
import { schedulesDatabase } from '../support/schedules.ts'

const database = await schedulesDatabase(t)

type Look = {
  readonly state: string
  readonly runs: readonly { readonly run: string; readonly job: string; readonly command: string }[]
  readonly canceled: readonly string[]
  readonly jobs: number
  readonly waiting: number
  readonly skipped: number
}

/** Starts what is due at a time, and ends it at once unless `ends` is false. @returns the commands */
async function lookAt(
  at: string,
  { zone = null, most = 100, own = [] as readonly string[], ends = true, holder = 'me' } = {},
): Promise<Look & { readonly commands: string[] }> {
  const { rows } = await database.query(
    'select rowhouse.start_runs($1, $2, $3, $4::bigint[], $5::timestamptz) as look',
    [holder, zone, most, `{${own.join(',')}}`, at],
  )
  const look = { runs: [], ...(rows[0]?.look as Partial<Look> & Pick<Look, 'state'>) } as unknown as Look
  if (ends)
    for (const { run } of look.runs) await database.query(`select rowhouse.run_finished(${run}, 'succeeded', '')`)
  return { ...look, commands: look.runs.map(({ command }) => command) }
}

t.beforeEach(async () => {
  await database.query(`
    delete from cron.job;
    truncate rowhouse.schedule_states, cron.job_run_details, rowhouse.leases;
    insert into rowhouse.leases values ('schedules', 'me', now() + interval '1 hour')`)
})

const schedule = (name: string, when: string): Promise<unknown> =>
  database.query('select cron.schedule($1, $2, $1)', [name, when])

t.test('a job is due once at each of its times, and not before', async (t) => {
  await schedule('a', '*/5 * * * *')
  t.match(await lookAt('2026-05-05T10:02Z'), { state: 'scheduling', commands: [], jobs: 1 })
  t.strictSame((await lookAt('2026-05-05T10:04:59.9Z')).commands, [])
  t.strictSame((await lookAt('2026-05-05T10:05Z')).commands, ['a'])
  t.strictSame((await lookAt('2026-05-05T10:05:01Z')).commands, [])
  t.strictSame((await lookAt('2026-05-05T10:10:20Z')).commands, ['a'])
  t.strictSame((await lookAt('2026-05-05T10:15:01Z')).commands, ['a'])
})

t.test('intervals do not drift, and are not caught up with', async (t) => {
  await schedule('a', '10 seconds')
  await lookAt('2026-05-05T10:00:00Z')
  const due: string[] = []
  for (let second = 0; second < 60; second++) {
    const at = `2026-05-05T10:00:${String(second).padStart(2, '0')}.5Z`
    if ((await lookAt(at)).commands.length > 0) due.push(at.slice(17, 19))
  }
  t.strictSame(due, ['10', '20', '30', '40', '50'])
  t.strictSame((await lookAt('2026-05-05T10:01:55Z')).commands, ['a'], 'late, once')
  t.strictSame((await lookAt('2026-05-05T10:02:04Z')).commands, [])
  t.strictSame((await lookAt('2026-05-05T10:02:05Z')).commands, ['a'])
})

t.test('after an outage, missed runs take place once or not at all', async (t) => {
  await schedule('skips', '0 3 * * *')
  await schedule('once', '0 3 * * *')
  await schedule('often', '* * * * *')
  await schedule('seconds', '5 seconds')
  await database.query("update cron.job set missed = 'once' where jobname = 'once'")
  await lookAt('2026-05-05T02:00Z')
  t.strictSame((await lookAt('2026-05-08T09:30:30Z')).commands, ['once'], 'three days later')
  t.strictSame((await lookAt('2026-05-08T09:30:31Z')).commands, [])
  t.strictSame((await lookAt('2026-05-08T09:31:00Z')).commands.sort(), ['often', 'seconds'])
  const { rows } = await database.query(
    'select jobname, skipped::int from cron.job join rowhouse.schedule_states using (jobid) order by jobname',
  )
  t.match(rows, [
    { jobname: 'often', skipped: 1 },
    { jobname: 'once', skipped: 0 },
    { jobname: 'seconds', skipped: 1 },
    { jobname: 'skips', skipped: 1 },
  ])
  t.strictSame(
    (await lookAt('2026-05-09T03:00:59Z')).commands.includes('skips'),
    true,
    'less than a minute is no outage',
  )
  await t.rejects(database.query("update cron.job set missed = 'always'"), { message: /job_missed_check/ })
})

t.test('a clock that is set forward causes no storm of runs', async (t) => {
  for (let n = 0; n < 5; n++) await schedule(`job ${n}`, n % 2 === 0 ? '* * * * *' : '1 second')
  await lookAt('2026-05-05T10:00Z')
  const first = await lookAt('2026-05-06T10:00:30Z')
  const second = await lookAt('2026-05-06T10:00:30.5Z')
  t.ok(first.commands.length + second.commands.length <= 5)
  t.strictSame((await lookAt('2026-05-06T10:01:00Z')).commands.length, 5)
})

t.test('a clock that is set back: fixed times are not due twice, others go on', async (t) => {
  await schedule('fixed', '30 2 * * *')
  await schedule('often', '*/10 * * * *')
  await schedule('seconds', '30 seconds')
  await lookAt('2026-05-05T02:29:30Z')
  t.strictSame((await lookAt('2026-05-05T02:30:00Z')).commands.sort(), ['fixed', 'often', 'seconds'])
  t.strictSame((await lookAt('2026-05-05T01:35:00Z')).commands, [])
  t.strictSame((await lookAt('2026-05-05T01:35:30Z')).commands, ['seconds'])
  t.strictSame((await lookAt('2026-05-05T01:40:00Z')).commands, ['often'])
  t.strictSame((await lookAt('2026-05-05T02:30:00Z')).commands.includes('fixed'), false)
  t.strictSame((await lookAt('2026-05-06T02:30:00Z')).commands.includes('fixed'), true)
  await lookAt('2026-01-05T00:00:00Z')
  t.strictSame((await lookAt('2026-01-05T02:30:00Z')).commands.includes('fixed'), true, 'unless it was wrong by far')
})

t.test('a job that still runs is not due again', async (t) => {
  await schedule('a', '* * * * *')
  await lookAt('2026-05-05T10:00:30Z')
  const { runs } = await lookAt('2026-05-05T10:01Z', { ends: false })
  const own = runs.map(({ run }) => run)
  t.match(await lookAt('2026-05-05T10:02Z', { own }), { commands: [], skipped: 1, waiting: 0 })
  await database.query(`select rowhouse.run_finished(${own[0]}, 'failed', 'x')`)
  t.strictSame((await lookAt('2026-05-05T10:02:30Z')).commands, [], 'what it has missed is not made up for')
  t.strictSame((await lookAt('2026-05-05T10:03Z')).commands, ['a'])
})

t.test('with too many jobs, those that are due longest come first', async (t) => {
  for (const name of ['a', 'b', 'c']) await schedule(name, '* * * * *')
  await lookAt('2026-05-05T10:00:30Z')
  t.match(await lookAt('2026-05-05T10:01Z', { most: 2 }), { commands: ['a', 'b'], waiting: 1 })
  t.match(await lookAt('2026-05-05T10:02Z', { most: 2 }), { commands: ['c', 'a'], waiting: 1 })
})

t.test('a role with many jobs, or long ones, does not hold up others', async (t) => {
  const other = `many_${database.name}`
  await database.query(`create role ${other} login; grant usage on schema cron to ${other}`)
  t.teardown(() => database.query(`drop owned by ${other}; drop role ${other}`))
  const many = await withClient(database.adminUri, async (client) => {
    await client.query(`set session authorization ${other}`)
    await client.query("select cron.schedule('m' || n, '* * * * *', 'm' || n) from generate_series(1, 9) as n")
    return ['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm9']
  })
  await schedule('a', '* * * * *')
  await lookAt('2026-05-05T10:00:30Z')
  const first = await lookAt('2026-05-05T10:01Z', { most: 3, ends: false })
  t.strictSame([...first.commands].sort(), ['a', 'm1', 'm2'], 'although the others were scheduled before')
  const own = first.runs.map(({ run }) => run)
  const [ended] = first.runs.filter(({ command }) => command === 'a')
  await database.query(`select rowhouse.run_finished(${ended?.run}, 'succeeded', '')`)
  const left = own.filter((run) => run !== ended?.run)
  t.strictSame(
    (await lookAt('2026-05-05T10:01:01Z', { most: 1, own: left, ends: false })).commands,
    [],
    'a place is kept',
  )
  t.strictSame((await lookAt('2026-05-05T10:02Z', { most: 1, own: left, ends: false })).commands, ['a'])
  await database.query(
    `delete from cron.job where jobname = 'a'; select rowhouse.run_finished(run, 'succeeded', '') from rowhouse.schedule_states where run is not null`,
  )
  t.strictSame((await lookAt('2026-05-05T10:02:01Z')).commands, many.slice(2), 'without others, it has all places')
})

t.test('changes of jobs', async (t) => {
  await schedule('a', '0 5 * * *')
  await lookAt('2026-05-05T04:00Z')
  await schedule('a', '0 6 * * *')
  t.strictSame((await lookAt('2026-05-05T05:00Z')).commands, [], 'another schedule')
  t.strictSame((await lookAt('2026-05-05T06:00Z', { zone: null })).commands, ['a'])
  await database.query('select cron.alter_job(jobid, active := false) from cron.job')
  t.match(await lookAt('2026-05-06T06:00Z'), { commands: [], jobs: 0 })
  await database.query('select cron.alter_job(jobid, active := true) from cron.job')
  t.strictSame((await lookAt('2026-05-06T06:30Z')).commands, [], 'activated again, it has missed nothing')
  t.strictSame((await lookAt('2026-05-07T06:00Z')).commands, ['a'])
  const { runs } = await lookAt('2026-05-08T06:00Z', { ends: false })
  const own = runs.map(({ run }) => run)
  await database.query("select cron.unschedule('a')")
  t.match(await lookAt('2026-05-08T06:01Z', { own }), { canceled: own, jobs: 0 })
})

t.test('the time zone is that of the setting, or of the database', async (t) => {
  await schedule('a', '0 5 * * *')
  const next = async (zone: string | null): Promise<unknown> => {
    await lookAt('2026-05-05T00:00Z', { zone: zone as null })
    return (
      await database.query("select to_char(next_at at time zone 'UTC', 'HH24:MI') as at from rowhouse.schedule_states")
    ).rows[0]?.at
  }
  t.equal(await next(null), '05:00', 'GMT')
  t.equal(await next('Europe/Berlin'), '03:00')
  t.equal(await next('America/New_York'), '09:00')
  await database.query(`alter database ${database.name} set cron.timezone = 'Asia/Kolkata'`)
  await withClient(database.adminUri, async (client) => {
    await client.query("select rowhouse.start_runs('me', null, 1, '{}', '2026-05-05T00:00Z')")
  })
  const { rows } = await database.query('select zone from rowhouse.schedule_states')
  t.strictSame(rows, [{ zone: 'Asia/Kolkata' }])
  await t.rejects(lookAt('2026-05-05T00:00Z', { zone: 'Nowhere' as unknown as null }), {
    message: /time zone "Nowhere"/,
  })
  await database.query(`alter database ${database.name} reset cron.timezone`)
})

t.test('only the process with the lease starts runs', async (t) => {
  await schedule('a', '1 second')
  t.match(await lookAt('2026-05-05T00:00Z', { holder: 'you' }), { state: 'no lease' })
  await database.query("update rowhouse.leases set until = now() - interval '1 second'")
  t.match(await lookAt('2026-05-05T00:00Z'), { state: 'no lease' })
})

t.test('a run that another process has ended does not begin', async (t) => {
  await schedule('a', '* * * * *')
  await lookAt('2026-05-05T10:00:30Z')
  const { runs } = await lookAt('2026-05-05T10:01Z', { ends: false })
  const run = runs[0]?.run ?? ''
  // Another process knows nothing of it, and the database has no session of it.
  await lookAt('2026-05-05T10:01:01Z')
  t.match((await database.query('select status, return_message from cron.job_run_details')).rows, [
    { status: 'failed', return_message: 'server restarted' },
  ])
  t.strictSame((await database.query(`select rowhouse.run_started(${run}, 1) as may`)).rows, [{ may: false }])
})

t.test('old runs are removed', async (t) => {
  await database.query(`
    insert into cron.job_run_details (jobid, status, start_time, end_time)
    select 1, 'succeeded', now() - n * interval '1 day', now() - n * interval '1 day' from generate_series(2500, 1, -1) as n;
    insert into cron.job_run_details (jobid, status) values (1, 'starting')`)
  const removed = async (): Promise<unknown> =>
    (await database.query("select rowhouse.remove_old_runs(interval '10 days')::int as n")).rows[0]?.n
  t.strictSame([await removed(), await removed(), await removed(), await removed()], [1000, 1000, 491, 0])
  t.equal((await database.query('select from cron.job_run_details')).rowCount, 10)
})

t.test('a run is asked for', async (t) => {
  await schedule('a', '0 0 1 1 *')
  const { rows } = await database.query('select jobid::text as job from cron.job')
  const job = String(rows[0]?.job)
  await database.query(`select rowhouse.request_run(${job}), rowhouse.request_run(${job})`)
  t.strictSame((await lookAt('2026-05-05T10:00Z')).commands, ['a'])
  t.strictSame((await lookAt('2026-05-05T10:00Z')).commands, [], 'once')
  await t.rejects(database.query('select rowhouse.request_run(987)'), {
    message: 'could not find valid entry for job 987',
  })
  await database.query(`select cron.alter_job(${job}, active := false)`)
  await t.rejects(database.query(`select rowhouse.request_run(${job})`), { message: `job ${job} is not active` })
})

t.test('where the schema cron is not that of the server, its jobs are left alone', async (t) => {
  await schedule('a', '1 second')
  await database.query('drop trigger check_job on cron.job')
  t.match(await lookAt('2026-05-05T10:00Z'), { state: 'not ours' })
  t.strictSame((await database.query('select rowhouse.has_jobs() as has')).rows, [{ has: false }])
  t.match((await database.query('select * from rowhouse.list_schedules(null)')).rows, [{ name: 'a' }], 'but shown')
  await t.rejects(database.query('select rowhouse.request_run(jobid) from cron.job'), {
    message: /^the extension pg_cron/,
  })
})

t.test('a schema cron that exists before the migrations stays as it is', async (t) => {
  const own = await createDatabase()
  t.teardown(() => own.drop())
  await own.query(`
    create schema cron;
    create table cron.job (jobid bigint, schedule text, command text, database text, username text, active boolean, jobname text);
    create table cron.job_run_details (
      jobid bigint, runid bigint, job_pid integer, database text, username text, command text, status text,
      return_message text, start_time timestamptz, end_time timestamptz
    );
    insert into cron.job values (1, '0 3 * * *', 'vacuum', current_database(), current_user, true, 'nightly');
    insert into cron.job_run_details values (1, 7, 8, current_database(), current_user, 'vacuum', 'succeeded', 'VACUUM', now(), now())`)
  const notices: string[] = []
  await withClient(own.adminUri, (client) => migrate(client, { onNotice: (text) => notices.push(text) }))
  t.match(notices, [/^the schema cron exists already/])
  const { rows } = await own.query(`
    select rowhouse.has_own_schedules() as own, rowhouse.has_jobs() as has, to_regproc('cron.unschedule')::text as added,
      (select string_agg(tgname, ',') from pg_trigger where tgrelid = 'cron.job'::regclass) as triggers`)
  t.strictSame(rows, [{ own: false, has: false, added: null, triggers: null }])
  t.match((await own.query('select * from rowhouse.list_schedules(null)')).rows, [
    { name: 'nightly', missed: 'skip', next_at: Date, last_status: 'succeeded' },
  ])
  t.match((await own.query('select * from rowhouse.list_schedule_runs(null, null, 5)')).rows, [
    { run: '7', name: 'nightly', message: 'VACUUM' },
  ])
})
