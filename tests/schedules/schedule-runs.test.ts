// Runs of jobs: what is recorded of them, when they begin, and what ends them.
import t, { type Test } from 'tap'
import { rowOf, schedulesDatabase, startSchedules } from '../support/schedules.ts'
import { until } from '../support/until.ts'

const database = await schedulesDatabase(t)

/** Whether no session of a run is left. One ends a moment after its run. */
async function hasNoSession(): Promise<boolean> {
  const { rowCount } = await database.query(
    "select from pg_stat_activity where application_name = 'rowhouse schedules' and datname = current_database()",
  )
  return rowCount === 0
}

t.test('what is recorded of a run, in the words of pg_cron', async (t) => {
  const { runOnce } = await startSchedules(t, database)
  await database.query('create table public.numbers (n integer primary key)')
  const cases: readonly (readonly [command: string, status: string, message: string, affected: string | null])[] = [
    ['select 1', 'succeeded', '1 row', '1'],
    ['select 1 where false', 'succeeded', '0 rows', '0'],
    ['select generate_series(1, 3)', 'succeeded', '3 rows', '3'],
    ['insert into public.numbers select generate_series(1, 5)', 'succeeded', 'INSERT 0 5', '5'],
    ['update public.numbers set n = n where n < 3 returning n', 'succeeded', '2 rows', '2'],
    ['delete from public.numbers where n = 1', 'succeeded', 'DELETE 1', '1'],
    ['select 1; delete from public.numbers where n = 2; notify something', 'succeeded', 'NOTIFY', null],
    ['vacuum public.numbers', 'succeeded', 'VACUUM', null],
    ['', 'succeeded', '0 rows', '0'],
    ["do $$ begin for i in 1..1000 loop raise notice '%', i; end loop; end $$", 'succeeded', 'DO', null],
    ['select 1 / 0', 'failed', 'ERROR:  division by zero', null],
    ['select 1; select nowhere', 'failed', 'ERROR:  column "nowhere" does not exist', null],
    [
      `do $$ begin raise exception 'no' using detail = 'why', hint = 'how'; end $$`,
      'failed',
      'ERROR:  no\nDETAIL:  why\nHINT:  how\nCONTEXT:  PL/pgSQL function inline_code_block line 1 at RAISE',
      null,
    ],
    ['copy public.numbers from stdin', 'failed', 'COPY not supported', null],
    ['copy public.numbers to stdout', 'failed', 'COPY not supported', null],
    [
      'select pg_terminate_backend(pg_backend_pid())',
      'failed',
      'FATAL:  terminating connection due to administrator command',
      null,
    ],
    [
      'insert into public.numbers values (3)',
      'failed',
      `ERROR:  duplicate key value violates unique constraint "numbers_pkey"\nDETAIL:  Key (n)=(3) already exists.`,
      null,
    ],
  ]
  for (const [command, status, message, affected] of cases) {
    t.match(await runOnce(command), { status, message, affected, role: 'postgres', database: database.name }, command)
  }
})

t.test('a command with transactions of its own', async (t) => {
  const { runOnce } = await startSchedules(t, database)
  await database.query(`
    create table public.steps (n integer);
    create procedure public.in_steps() language plpgsql as $$
    begin
      insert into public.steps values (1);
      commit;
      insert into public.steps values (2);
      rollback;
      insert into public.steps values (3);
    end $$`)
  t.match(await runOnce('call public.in_steps()'), { status: 'succeeded', message: 'CALL' })
  t.strictSame((await database.query('select n from public.steps order by n')).rows, [{ n: 1 }, { n: 3 }])
})

t.test('results are not kept, and too large ones end the run', { timeout: 300_000 }, async (t: Test) => {
  const { runOnce } = await startSchedules(t, database)
  t.match(await runOnce("select repeat('x', 100000) from generate_series(1, 300)"), { message: '300 rows' })
  t.match(await runOnce("select repeat('x', 1000000) from generate_series(1, 100000)"), {
    status: 'failed',
    message: /^the results are larger than 256 MiB/,
  })
  t.ok(await until(hasNoSession), 'its session has ended')
})

t.test('a run that takes too long is ended', async (t) => {
  const { runOnce } = await startSchedules(t, database, { schedulesTimeLimit: 1 })
  t.match(await runOnce('select pg_sleep(60)'), {
    status: 'failed',
    message: 'ended after 1 s, the limit of SCHEDULES_TIME_LIMIT',
  })
  t.match(
    await runOnce(`set statement_timeout = 0; do $$ begin
      loop
        begin
          perform pg_sleep(60);
        exception when query_canceled then null;
        end;
      end loop;
    end $$`),
    { status: 'failed', message: 'ended after 1 s, the limit of SCHEDULES_TIME_LIMIT' },
    'also one that catches cancellation',
  )
})

t.test('to unschedule a job cancels its run', async (t) => {
  await startSchedules(t, database)
  await database.query(`select cron.schedule('sleeps', '1 second', 'select pg_sleep(60)')`)
  const { runid } = await rowOf(database, "select runid from cron.job_run_details where status = 'running'")
  await database.query(`select cron.unschedule('sleeps')`)
  t.match(
    await rowOf(
      database,
      `select status, return_message from cron.job_run_details where runid = ${String(runid)} and end_time is not null`,
    ),
    {
      status: 'failed',
      return_message: 'job canceled',
    },
  )
  t.ok(await until(hasNoSession), 'its session has ended')
})

t.test('a job does not run beside itself, and at most so many run at a time', { timeout: 300_000 }, async (t) => {
  const { service } = await startSchedules(t, database, { schedulesMaxRunning: 2 })
  await database.query(`
    create table public.log (job integer, began timestamptz, ended timestamptz);
    select cron.schedule('job' || n, '1 second', format(
      'do $x$ declare began timestamptz := clock_timestamp(); begin perform pg_sleep(1.5);
        insert into public.log values (%s, began, clock_timestamp()); end $x$', n))
    from generate_series(1, 4) as n`)
  await until(async () => Number((await database.query('select from public.log')).rowCount) >= 8)
  // Between the end of one run and the start of the next it is less.
  t.ok(await until(() => service.figures.running === 2))
  await database.query(`select cron.unschedule(jobid) from cron.job`)
  const { rows } = await database.query(`
    select count(*) filter (where a.job = b.job)::int as same,
      max((select count(*) from public.log as c where c.began <= a.began and c.ended > a.began))::int as most,
      (select count(distinct job) from public.log)::int as jobs
    from public.log as a left join public.log as b
      on a.ctid < b.ctid and a.began < b.ended and b.began < a.ended`)
  t.strictSame(rows, [{ same: 0, most: 2, jobs: 4 }], 'all have their turn')
  t.ok(service.figures.skipped >= 0)
})
