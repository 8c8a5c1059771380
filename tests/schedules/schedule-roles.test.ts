// As whom jobs run, and what a role can do to the jobs of others: commands are SQL of roles that may be hostile.
import t from 'tap'
import { withClient } from '../support/database.ts'
import { rowOf, schedulesDatabase, startSchedules } from '../support/schedules.ts'

const database = await schedulesDatabase(t)
const [weak, other] = [`weak_${database.name}`, `other_${database.name}`]
await database.query(`
  create role ${weak} login password 'weak';
  create role ${other} login password 'other';
  grant usage on schema cron to ${weak}, ${other}, service_role;
  create table public.secrets (secret text);
  insert into public.secrets values ('of the owner');
  create schema weak authorization ${weak};
  create table public.seen (who text, as_session text, is_super text, note text);
  grant insert on public.seen to public`)
t.teardown(() => database.query(`drop owned by ${weak}, ${other}; drop role ${weak}, ${other}`).catch(() => undefined))
const weakUri = database.uri(weak, 'weak')

/** Schedules a command as a role, asks for a run, and waits for its end. */
async function runAs(role: string, command: string): Promise<Record<string, unknown>> {
  const job = await withClient(database.adminUri, async (client) => {
    await client.query(`set session authorization ${role}`)
    const { rows } = await client.query<{ job: string }>(
      "select cron.schedule('attack', '0 0 1 1 *', $1)::text as job",
      [command],
    )
    return String(rows[0]?.job)
  })
  await database.query(`select rowhouse.request_run(${job})`)
  const run = await rowOf(
    database,
    `select * from rowhouse.list_schedule_runs(${job}, null, 1) where status in ('succeeded', 'failed')`,
  )
  await database.query(`delete from cron.job where jobid = ${job}`)
  return run
}

t.test('a job runs in a session of its role', async (t) => {
  await startSchedules(t, database, { logins: [database.adminUri, weakUri] })
  const command = `insert into public.seen values (current_user, session_user, current_setting('is_superuser'), 'as')`
  t.match(await runAs(weak, command), { status: 'succeeded', role: weak })
  t.match(await runAs('postgres', command), { status: 'succeeded', role: 'postgres' })
  t.strictSame(
    (await database.query("delete from public.seen where note = 'as' returning who, as_session, is_super")).rows,
    [
      { who: weak, as_session: weak, is_super: 'off' },
      { who: 'postgres', as_session: 'postgres', is_super: 'on' },
    ],
  )
})

t.test('no command gets further rights than those of its role', async (t) => {
  await startSchedules(t, database, { logins: [database.adminUri, weakUri] })
  const note = (name: string): string =>
    `insert into public.seen values (current_user, session_user, current_setting('is_superuser'), '${name}')`
  const steal = 'insert into public.seen select secret from public.secrets'
  const attacks: readonly (readonly [name: string, command: string])[] = [
    ['reset role', `reset role; ${note('reset role')}`],
    ['none', `set role none; ${note('none')}`],
    ['owner', `set role postgres; ${steal}`],
    ['authenticator', `set role authenticator; ${steal}`],
    ['authorization', `set session authorization postgres; ${steal}`],
    ['default', `set session authorization default; ${note('default')}`],
    ['reset authorization', `reset session authorization; ${note('reset authorization')}`],
    ['discard', `discard all`],
    ['transaction', `begin; reset role; commit; ${note('transaction')}; ${steal}`],
    ['in a block', `do $$ begin execute 'reset role'; execute 'set role postgres'; ${steal}; end $$`],
    ['set_config', `select set_config('role', 'postgres', false); ${steal}`],
    ['session_authorization', `select set_config('session_authorization', 'postgres', false); ${steal}`],
    [
      'deferred trigger',
      `create table weak.t (n int);
       create function weak.f() returns trigger language plpgsql as 'begin ${steal}; return null; end';
       create constraint trigger c after insert on weak.t deferrable initially deferred for each row execute function weak.f();
       insert into weak.t values (1)`,
    ],
    [
      'held cursor',
      `create function weak.g() returns int language plpgsql as 'begin ${steal}; return 1; end';
       declare c cursor with hold for select weak.g()`,
    ],
    ['rights', `alter role ${weak} superuser`],
    ['membership', `grant postgres to ${weak}`],
    ['another job', `update cron.job set command = 'select 1', username = 'postgres'`],
    [
      'job of the owner',
      `insert into cron.job (schedule, command, username) values ('* * * * *', '${steal}', 'postgres')`,
    ],
    ['scheduler', `select rowhouse.start_runs('', null, 1, '{}')`],
    ['states', `update rowhouse.schedule_states set next_at = now()`],
    ['record', `update cron.job_run_details set status = 'succeeded'`],
    ['program', `copy public.seen from program 'echo x'`],
    ['file', `select pg_read_file('/etc/passwd')`],
    ['other sessions', `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator'`],
  ]
  for (const [name, command] of attacks) t.ok(await runAs(weak, command), name)
  const { rows } = await database.query('select * from public.seen')
  t.equal(rows.length, 4, 'those that succeed change nothing')
  for (const row of rows) t.match(row, { who: weak, as_session: weak, is_super: 'off' }, JSON.stringify(row))
  t.strictSame((await database.query(`select rolsuper from pg_roles where rolname = '${weak}'`)).rows, [
    { rolsuper: false },
  ])
  t.equal((await database.query("select from cron.job where username = 'postgres'")).rowCount, 0)
  await database.query('truncate public.seen')
})

t.test('a run that renames its session is not taken for ended while its command is executed', async (t) => {
  await startSchedules(t, database, { logins: [weakUri] })
  await withClient(weakUri, async (client) => {
    await client.query(
      `select cron.schedule('renamed', '0 0 1 1 *', $$set application_name = 'x'; select pg_sleep(60)$$)`,
    )
  })
  await database.query(`select rowhouse.request_run(jobid) from cron.job where jobname = 'renamed'`)
  const isExecuted =
    "select pid from pg_stat_activity where application_name = 'x' and query ~ 'pg_sleep' and state = 'active'"
  const { pid } = await rowOf(database, isExecuted)
  // As another process does that takes the place of one that was killed.
  await database.query(`select rowhouse.end_lost_runs('{}')`)
  t.match((await database.query('select status from cron.job_run_details where job_pid = $1', [pid])).rows, [
    { status: 'running' },
  ])
  await database.query('select pg_terminate_backend($1)', [pid])
  await database.query(`delete from cron.job where jobname = 'renamed'`)
})

t.test('a role without a connection string: the run fails, and says what to do', async (t) => {
  await startSchedules(t, database, { logins: [database.adminUri] })
  for (const role of [weak, 'service_role']) {
    t.match(
      await runAs(role, 'select 1'),
      {
        status: 'failed',
        message: `no connection string of the role "${role}": add one to SCHEDULES_DATABASE_URL, or schedule the job as another role`,
        pid: null,
      },
      'also though the login could take the role',
    )
  }
})

t.test('a connection that does not work', async (t) => {
  await startSchedules(t, database, { logins: [database.uri(weak, 'weak'), database.uri(other, 'wrong')] })
  t.match(await runAs(other, 'select 1'), {
    status: 'failed',
    message: /^connection failed: password authentication failed/,
  })
  t.match(await runAs(weak, 'select 1'), { status: 'succeeded' }, 'others run')
})

t.test('roles neither see nor change the jobs of others', async (t) => {
  await database.query('truncate cron.job_run_details')
  await withClient(database.adminUri, async (client) => {
    await client.query(`set session authorization ${other}`)
    await client.query("select cron.schedule('mine', '0 0 1 1 *', 'select 1')")
    await client.query('reset session authorization')
    await client.query(
      `insert into cron.job_run_details (jobid, username, command) select jobid, username, 'x' from cron.job`,
    )
    const { rows } = await client.query<{ jobid: string }>('select jobid::text from cron.job')
    const id = rows[0]?.jobid ?? ''
    await client.query(`set session authorization ${weak}`)
    t.equal((await client.query('select from cron.job')).rowCount, 0)
    t.equal((await client.query('select from cron.job_run_details')).rowCount, 0)
    t.equal((await client.query('delete from cron.job_run_details')).rowCount, 0)
    t.equal((await client.query('delete from cron.job')).rowCount, 0)
    await t.rejects(client.query(`select cron.unschedule(${id})`), {
      message: `could not find valid entry for job ${id}`,
    })
    await t.rejects(client.query(`select cron.unschedule('mine')`), {
      message: `could not find valid entry for job 'mine'`,
    })
    await t.rejects(client.query(`select cron.alter_job(${id}, active := false)`), {
      message: 'permission denied for function alter_job',
    })
    await t.rejects(
      client.query(`select cron.schedule_in_database('a', '* * * * *', 'select 1', current_database(), '${other}')`),
      { message: 'permission denied for function schedule_in_database' },
    )
    await client.query('reset session authorization')
    await client.query(`grant execute on all functions in schema cron to ${weak}`)
    await client.query(`set session authorization ${weak}`)
    await t.rejects(client.query(`select cron.alter_job(${id}, active := false)`), {
      message: `Job ${id} does not exist or you don't own it`,
    })
    await t.rejects(client.query(`select cron.alter_job(${id}, username := '${weak}')`), {
      message: `Job ${id} does not exist or you don't own it`,
    })
    await t.rejects(
      client.query(`select cron.schedule_in_database('a', '* * * * *', 'select 1', current_database(), '${other}')`),
      { message: 'must be superuser to create a job for another role' },
    )
    await client.query(`select cron.schedule('mine', '0 0 1 1 *', 'select 2')`)
    await client.query('reset session authorization')
    t.equal((await client.query("select from cron.job where jobname = 'mine'")).rowCount, 2, 'names are of a role')
    await client.query('delete from cron.job; delete from cron.job_run_details')
  })
  for (const role of ['anon', 'authenticated', 'authenticator']) {
    await withClient(database.adminUri, async (client) => {
      await client.query(`set session authorization ${role}`)
      for (const text of ['select * from cron.job', "select cron.schedule('* * * * *', 'select 1')"]) {
        await t.rejects(client.query(text), { message: 'permission denied for schema cron' }, `${role}: ${text}`)
      }
      await t.rejects(client.query('select * from rowhouse.schedule_states'), { code: '42501' })
    })
  }
})

t.test('a role does not take the numbers of the jobs that others would add', async (t) => {
  await withClient(weakUri, async (client) => {
    const { rows } = await client.query<{ job: string }>(`select cron.schedule('* * * * *', 'select 1')::text as job`)
    const job = Number(rows[0]?.job)
    for (const sql of [
      `insert into cron.job (jobid, schedule, command) values (${job + 1}, '* * * * *', 'select 1')`,
      `update cron.job set jobid = ${job + 1}`,
      `select setval('cron.jobid_seq', ${job - 1})`,
    ]) {
      await t.rejects(client.query(sql), { message: /^permission denied for (?:table|sequence)/ }, sql)
    }
    t.equal((await client.query(`update cron.job set missed = 'once', active = false`)).rowCount, 1)
    await client.query(`insert into cron.job (schedule, command, jobname) values ('* * * * *', 'select 2', 'own')`)
    await client.query('delete from cron.job')
  })
  t.ok(await database.query(`select cron.unschedule(cron.schedule('* * * * *', 'select 1'))`))
})

t.test('jobs of superusers do not run if others can add them', async (t) => {
  const own = await schedulesDatabase(t)
  await startSchedules(t, own)
  await own.query(`
    alter table cron.job owner to ${weak};
    grant usage on schema cron, rowhouse to ${weak};
    set role ${weak};
    insert into cron.job (schedule, command, username) values ('1 second', 'alter role ${weak} superuser', 'postgres');
    reset role`)
  t.match(await rowOf(own, 'select status, return_message from cron.job_run_details where end_time is not null'), {
    status: 'failed',
    return_message: 'jobs of the superuser "postgres" do not run, because the owner of cron.job is no superuser',
  })
  await own.query('alter table cron.job owner to postgres')
})
