// What guides of Supabase and pg_cron show, as migrations of a project; and the functions as clients call them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { rowhouse } from '../support/command.ts'
import { readmeSection } from '../support/readme-section.ts'
import { schedulesDatabase, startSchedules } from '../support/schedules.ts'

const database = await schedulesDatabase(t)
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-schedules-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const env = { DATABASE_URL: database.authenticatorUri, MIGRATION_DATABASE_URL: database.adminUri }

const migration = `
create extension if not exists pg_cron with schema pg_catalog;
CREATE EXTENSION IF NOT EXISTS "pg_net" WITH SCHEMA extensions;
grant usage on schema cron to postgres;
grant all privileges on all tables in schema cron to postgres;

create table public.visits (at timestamptz not null);
create procedure public.refresh() language sql as 'delete from public.visits';

select cron.schedule('remove visits', '30 3 * * 6', $$ delete from public.visits where at < now() - interval '1 week' $$);
select cron.schedule('vacuum at night', '0 3 * * *', 'VACUUM');
select cron.schedule('refresh often', '5 seconds', 'CALL public.refresh()');
select
  cron.schedule(
    'call a function every minute',
    '* * * * *',
    $$
    select
      net.http_post(
        url := 'http://127.0.0.1:9/functions/v1/hello',
        headers := jsonb_build_object('Content-Type', 'application/json', 'Authorization', 'Bearer ' || 'key'),
        body := jsonb_build_object('time', now()),
        timeout_milliseconds := 5000
      ) as request_id;
    $$
  );
select cron.schedule('remove runs', '0 12 * * *', $$delete from cron.job_run_details where end_time < now() - interval '7 days'$$);
select cron.schedule_in_database('vacuum elsewhere', '0 4 * * 0', 'VACUUM', current_database());
select cron.alter_job(job_id := (select jobid from cron.job where jobname = 'vacuum elsewhere'), schedule := '*/5 * * * *');
select cron.alter_job(job_id := (select jobid from cron.job where jobname = 'vacuum elsewhere'), active := false);
select cron.unschedule('refresh often');
`

t.test('they apply as migrations', async (t) => {
  await writeFile(join(folder, '20260101000000_schedules.sql'), migration)
  await writeFile(join(folder, '20260102000000_readme.sql'), readmeSection('schedules-sql'))
  const ran = await rowhouse(['migrate', '--migrations', folder], env)
  t.match(ran, { code: 0 }, ran.err)
  for (const extension of ['pg_cron', 'pg_net']) {
    t.match(ran.out + ran.err, `${extension} is not installed: the server provides its functions`)
  }
  const { rows } = await database.query(
    'select jobname, schedule, active, missed, username, nodename from cron.job order by jobname',
  )
  const usual = { active: true, missed: 'skip', username: 'postgres', nodename: 'localhost' }
  t.strictSame(rows, [
    { jobname: 'call a function every minute', schedule: '* * * * *', ...usual },
    { jobname: 'nightly-vacuum', schedule: '0 4 * * *', ...usual },
    { jobname: 'remove runs', schedule: '0 12 * * *', ...usual },
    { jobname: 'remove visits', schedule: '30 3 * * 6', ...usual },
    { jobname: 'remove-old-events', schedule: '30 3 * * 6', ...usual, missed: 'once' },
    { jobname: 'vacuum at night', schedule: '0 3 * * *', ...usual },
    { jobname: 'vacuum elsewhere', schedule: '*/5 * * * *', ...usual, active: false },
  ])
})

t.test('their commands run', async (t) => {
  const { rows } = await database.query(
    "select command from cron.job where active and command !~ 'net\\.' order by jobname",
  )
  t.equal(rows.length, 5)
  const { runOnce } = await startSchedules(t, database)
  for (const { command } of rows) t.match(await runOnce(String(command)), { status: 'succeeded' }, String(command))
})

t.test('a job calls a function by net.http_post', async (t) => {
  const { runOnce } = await startSchedules(t, database)
  const run = await runOnce(
    `select net.http_post(url := 'http://127.0.0.1:9/functions/v1/hello', body := jsonb_build_object('time', now())) as request_id`,
  )
  t.match(run, { status: 'succeeded', message: '1 row' })
  t.match((await database.query('select method, url from rowhouse.calls')).rows, [
    { method: 'POST', url: 'http://127.0.0.1:9/functions/v1/hello' },
  ])
})

t.test('columns and signatures are those of pg_cron', async (t) => {
  const { rows: columns } = await database.query(
    `select table_name, string_agg(format('%s %s', column_name, data_type), ', ' order by ordinal_position) as columns
     from information_schema.columns where table_schema = 'cron' group by 1 order by 1`,
  )
  t.strictSame(columns, [
    {
      table_name: 'job',
      columns:
        'jobid bigint, schedule text, command text, nodename text, nodeport integer, database text, username text, active boolean, jobname text, missed text',
    },
    {
      table_name: 'job_run_details',
      columns:
        'jobid bigint, runid bigint, job_pid integer, database text, username text, command text, status text, return_message text, start_time timestamp with time zone, end_time timestamp with time zone',
    },
  ])
  const { rows: functions } = await database.query(
    `select format('%s(%s) %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid)) as signature
     from pg_proc where pronamespace = 'cron'::regnamespace order by 1`,
  )
  t.strictSame(
    functions.map(({ signature }) => signature),
    [
      'alter_job(job_id bigint, schedule text DEFAULT NULL::text, command text DEFAULT NULL::text, database text DEFAULT NULL::text, username text DEFAULT NULL::text, active boolean DEFAULT NULL::boolean) void',
      'job_cache_invalidate() trigger',
      'schedule(job_name text, schedule text, command text) bigint',
      'schedule(schedule text, command text) bigint',
      'schedule_in_database(job_name text, schedule text, command text, database text, username text DEFAULT NULL::text, active boolean DEFAULT true) bigint',
      'unschedule(job_id bigint) boolean',
      'unschedule(job_name text) boolean',
    ],
  )
})

t.test('errors in the words of pg_cron', async (t) => {
  await database.query("select cron.schedule('a', '* * * * *', 'select 1')")
  const cases: readonly (readonly [text: string, message: string])[] = [
    ["select cron.unschedule('no_such_job')", "could not find valid entry for job 'no_such_job'"],
    ['select cron.unschedule(987654)', 'could not find valid entry for job 987654'],
    ["select cron.schedule(null, '* * * * *', 'select 1')", 'job_name can not be NULL'],
    ["select cron.schedule('a', null, 'select 1')", 'schedule can not be NULL'],
    ["select cron.schedule('* * * * *', null)", 'command can not be NULL'],
    ['select cron.alter_job(null)', 'job_id can not be NULL'],
    ['select cron.alter_job(1)', 'no updates specified'],
    ['select cron.alter_job(987654, active := false)', "Job 987654 does not exist or you don't own it"],
    ["select cron.alter_job(1, username := 'no_such_role')", 'role "no_such_role" does not exist'],
    ["select cron.alter_job(1, username := 'anon')", 'role "anon" can not log in'],
    [
      "select cron.alter_job(min(jobid), database := 'no_such_database') from cron.job",
      'database "no_such_database" does not exist',
    ],
    [
      "select cron.schedule_in_database('a', '* * * * *', 'select 1', 'no_such_database')",
      'database "no_such_database" does not exist',
    ],
  ]
  const nextNumber = async (): Promise<number> => {
    const { rows } = await database.query("select cron.schedule('0 5 * * *', 'select 1') as number")
    return Number(rows[0]?.number)
  }
  const last = await nextNumber()
  for (const [text, message] of cases) await t.rejects(database.query(text), { message }, text)
  await t.rejects(database.query("select cron.schedule('* * * *', 'select 1')"), {
    message: 'invalid schedule: * * * *',
  })
  t.equal(await nextNumber(), last + 1, 'jobs that are refused take no number')
  await database.query(
    `revoke connect on database ${database.name} from public; grant connect on database ${database.name} to authenticator`,
  )
  await database.query(`create role no_connect_${database.name} login`)
  t.teardown(() => database.query(`drop role no_connect_${database.name}`))
  await t.rejects(
    database.query(
      `select cron.schedule_in_database('a', '* * * * *', 'select 1', current_database(), 'no_connect_${database.name}')`,
    ),
    { message: `User no_connect_${database.name} does not have CONNECT privilege on ${database.name}` },
  )
})
