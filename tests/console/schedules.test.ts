// Jobs and their runs in the console's API.
import t from 'tap'
import {
  activateJobSql,
  changeJobSql,
  createJobSql,
  removeJobSql,
  type JobFields,
} from '../../server/console/pages/schedules/job-sql.ts'
import type { LogEntry } from '../../server/services/console/operation-protocol.ts'
import type { RunPage, ScheduleJob, ScheduleReport } from '../../server/services/console/schedule-protocol.ts'
import { signInToConsole, startConsoleServer, type ConsoleClient } from '../support/console.ts'
import { until } from '../support/until.ts'

const hostile = `<img src=x onerror=alert(1)> \\' " $$ $job1$ ; drop table x --`

async function report(client: ConsoleClient): Promise<ScheduleReport> {
  const { status, body } = await client.call('GET', 'schedules')
  t.equal(status, 200)
  return body.details as ScheduleReport
}

async function runAsOwner(client: ConsoleClient, sql: string): Promise<void> {
  const { body } = await client.call('POST', 'sql', { sql, caller: { owner: true }, commit: true })
  t.match(body.details, { error: null, outcome: 'committed' }, sql)
}

t.test('jobs and runs', async (t) => {
  const server = await startConsoleServer(
    t,
    { SCHEDULES_TIMEZONE: 'Europe/Berlin' },
    `create table public.done (id int); grant usage on schema cron to authenticated;
     set role authenticated; select cron.schedule('of another role', '0 3 * * *', 'select 1'); reset role`,
  )
  const client = await signInToConsole(server)

  await t.test('are for those who are signed in', async (t) => {
    for (const [method, path] of [
      ['GET', 'schedules'],
      ['GET', 'schedules/runs'],
      ['POST', 'schedules/1/run'],
    ] as const) {
      const url = `${server.url}/console/api/${path}`
      t.equal((await fetch(url, { method })).status, 401, path)
      t.equal((await fetch(url, { method, headers: { cookie: client.cookie } })).status, 403, `${path}, forged`)
    }
  })

  await t.test('jobs of all roles are listed', async (t) => {
    t.match(await report(client), {
      isOwn: true,
      zone: 'Europe/Berlin',
      jobs: [
        {
          name: 'of another role',
          schedule: '0 3 * * *',
          command: 'select 1',
          role: 'authenticated',
          isActive: true,
          missed: 'skip',
          nextAt: /T0[12]:00:00/,
          lastRun: null,
        },
      ],
    })
  })

  await t.test('the SQL of the page creates, changes and removes them, whatever their names', async (t) => {
    const fields: JobFields = {
      name: hostile,
      schedule: '5 4 * * *',
      command: `select '${hostile.replaceAll("'", "''")}'`,
      missed: 'once',
    }
    const find = async (): Promise<ScheduleJob | undefined> =>
      (await report(client)).jobs.find(({ name }) => name === hostile)
    await runAsOwner(client, createJobSql(fields))
    const job = await find()
    t.match(job, { name: hostile, schedule: '5 4 * * *', missed: 'once', role: 'postgres', isActive: true })
    t.equal(job?.command.trim(), fields.command)
    if (!job) return
    t.equal(changeJobSql(job, { ...fields, command: job.command }), '')
    await runAsOwner(
      client,
      changeJobSql(job, { ...fields, schedule: '30 seconds', command: 'select $$x$$', missed: 'skip' }),
    )
    t.match(await find(), { schedule: '30 seconds', command: '\nselect $$x$$\n', missed: 'skip' })
    await runAsOwner(client, activateJobSql(job, false))
    t.match(await find(), { isActive: false, nextAt: null })
    t.match(await client.call('POST', `schedules/${job.job}/run`), { status: 422, body: { message: /not active/ } })
    await runAsOwner(client, removeJobSql(job))
    t.equal(await find(), undefined)
    t.equal((await report(client)).jobs.length, 1, 'the job of another role stays')
  })

  await t.test('one is run at once', async (t) => {
    await runAsOwner(
      client,
      createJobSql({
        name: 'fill',
        schedule: '0 0 1 1 *',
        command: 'insert into public.done values (1), (2)',
        missed: 'skip',
      }),
    )
    await runAsOwner(
      client,
      createJobSql({ name: 'fail', schedule: '0 0 1 1 *', command: `select 1 / 0 -- ${hostile}`, missed: 'skip' }),
    )
    const jobs = (await report(client)).jobs.filter(({ role }) => role === 'postgres')
    for (const { job } of jobs) t.equal((await client.call('POST', `schedules/${job}/run`)).status, 200)
    const ended = async (): Promise<readonly ScheduleJob[]> =>
      (await report(client)).jobs.filter(({ lastRun }) => ['succeeded', 'failed'].includes(lastRun?.status ?? ''))
    t.ok(await until(async () => (await ended()).length === 2))
    t.match(await ended(), [
      { name: 'fill', lastRun: { status: 'succeeded' } },
      { name: 'fail', lastRun: { status: 'failed', message: /division by zero/ } },
    ])
    const runs = async (filter: string): Promise<RunPage> =>
      (await client.call('GET', `schedules/runs${filter}`)).body.details as RunPage
    const [fill] = jobs
    t.match(await runs(`?job=${fill?.job}`), {
      items: [{ name: 'fill', role: 'postgres', status: 'succeeded', rows: 2, startedAt: /T/, milliseconds: Number }],
      next: null,
    })
    t.equal((await runs('')).items.length, 2)
    for (const path of ['schedules/99/run', 'schedules/x/run', `schedules/${'9'.repeat(18)}/run`]) {
      t.equal((await client.call('POST', path)).status, 404, path)
    }
    for (const wrong of ['?job=x', '?job=', '?before=-1', '?other=1', `?before=${'9'.repeat(19)}`]) {
      t.equal((await client.call('GET', `schedules/runs${wrong}`)).status, 400, wrong)
    }
    const log = (await client.call('GET', 'operations/log')).body.details as readonly LogEntry[]
    t.match(log[0], { action: 'run job', actor: 'test', details: { job: jobs[1]?.job } })
  })

  await t.test('many runs are paged, and long messages are cut', async (t) => {
    await server.database.query(`
      insert into cron.job_run_details (jobid, command, username, status, return_message, start_time, end_time)
      select 1, 'select 1', 'authenticated', 'failed', repeat('x', 5000), now(), now() from generate_series(1, 120)`)
    const seen: string[] = []
    let next: string | null = ''
    for (let page = 0; next !== null && page < 9; page++) {
      const path = `schedules/runs?job=1${next === '' ? '' : `&before=${next}`}`
      const found = (await client.call('GET', path)).body.details as RunPage
      t.ok(found.items.every(({ message }) => message?.length === 2000))
      seen.push(...found.items.map(({ run }) => run))
      next = found.next
    }
    t.equal(new Set(seen).size, 120)
    t.equal(seen.length, 120)
  })
})

t.test('where the extension pg_cron has the jobs, they are only shown', async (t) => {
  const server = await startConsoleServer(
    t,
    {},
    `select cron.schedule('nightly', '0 3 * * *', 'select 1'); drop trigger check_job on cron.job`,
  )
  const client = await signInToConsole(server)
  const { isOwn, jobs } = await report(client)
  t.equal(isOwn, false)
  t.match(jobs, [{ name: 'nightly' }])
  t.match(await client.call('POST', `schedules/${jobs[0]?.job}/run`), { status: 422, body: { message: /pg_cron/ } })
})

t.test('without the service', async (t) => {
  const server = await startConsoleServer(t, { SERVICES: 'rest,console' })
  const client = await signInToConsole(server)
  for (const [method, path] of [
    ['GET', 'schedules'],
    ['GET', 'schedules/runs'],
    ['POST', 'schedules/1/run'],
  ] as const) {
    t.match(await client.call(method, path), { status: 404, body: { message: /SERVICES/ } }, path)
  }
})
