// Whether the jobs of `cron.job` run: their roles, their failures, and a server that runs them.
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { Config } from '../../config/config.ts'
import type { DoctorFinding } from './finding.ts'

type Facts = {
  /** Whether the server runs the jobs. False with the extension pg_cron. */
  readonly own: boolean
  /** Whether a server does so at the moment. */
  readonly scheduled: boolean
  /** Active jobs. */
  readonly jobs: number
  /** Seconds since the oldest due time at which no server was there; null if no job is overdue. */
  readonly late: number | null
}

type JobFacts = {
  readonly job: string
  readonly name: string | null
  readonly role: string
  readonly message: string | null
  /** Runs that failed, and all runs, of the last ones. */
  readonly failures: number
  readonly runs: number
}

/** As many of the last runs of a job are looked at. */
const lastRuns = 20

const readable = `
  select coalesce(
    pg_catalog.has_schema_privilege('rowhouse', 'usage') and pg_catalog.has_table_privilege('rowhouse.leases', 'select')
      and pg_catalog.has_function_privilege(to_regprocedure('rowhouse.list_schedules(text)'), 'execute'),
    false
  ) as is_readable
  where to_regclass('rowhouse.leases') is not null and exists (
    select from pg_catalog.pg_class where relname = 'job' and relnamespace = to_regnamespace('cron')
  )`

const facts = `
  select rowhouse.has_own_schedules() as own,
    exists (select from rowhouse.leases where name = 'schedules' and until > pg_catalog.clock_timestamp()) as scheduled,
    pg_catalog.count(*)::integer as jobs,
    extract(epoch from pg_catalog.now() - pg_catalog.min(next_at) filter (where next_at < pg_catalog.now()))::float8 as late
  from rowhouse.list_schedules(null) where active`

const failing = `
  select job::text, name, role, last_message as message, failures, runs
  from rowhouse.list_schedules(null)
  cross join lateral (
    select pg_catalog.count(*) filter (where status = 'failed')::integer as failures, pg_catalog.count(*)::integer as runs
    from rowhouse.list_schedule_runs(job, null, ${lastRuns})
  ) as counts
  where active and last_status = 'failed'
  order by 1`

/**
 * @param query of the owner, or of the serving role
 * @param isServed whether servers are expected: not if the embedded database was started for this look
 */
export async function schedulesFindings(
  query: RunClientQuery,
  { services }: Pick<Config, 'services'>,
  isServed: boolean,
): Promise<DoctorFinding[]> {
  const { rows: access } = await query(readable)
  if (access[0]?.is_readable !== true) return []
  const { rows } = await query(facts)
  const found = rows[0] as unknown as Facts
  if (found.jobs === 0) return []
  const { rows: failed } = await query(failing)
  return [
    ...(found.own ? (isServed ? schedulerFindings(found, services.includes('schedules')) : []) : [inCharge]),
    ...(failed as unknown as readonly JobFacts[]).map(failureFinding),
  ]
}

const inCharge: DoctorFinding = {
  area: 'schedules',
  code: 'schedules_pg_cron',
  level: 'INFO',
  subject: 'cron.job',
  what: 'The extension pg_cron is installed.',
  why: 'It runs the jobs, and the server leaves them alone.',
  advice: 'Nothing is to be done.',
}

function schedulerFindings({ scheduled, late, jobs }: Facts, isService: boolean): DoctorFinding[] {
  if (scheduled) return []
  const since = late === null ? '' : `, since at least ${Math.round(late)} s`
  return [
    {
      area: 'schedules',
      code: 'schedules_not_run',
      level: 'WARN',
      subject: 'cron.job',
      what: `No server runs the ${jobs} active ${jobs === 1 ? 'job' : 'jobs'}${since}.`,
      why: 'Nothing happens at their times. Of those that are missed, only jobs with `missed` = `once` run later.',
      advice: isService
        ? 'Start a server on this database.'
        : 'Add schedules to SERVICES of a server, or remove the jobs with cron.unschedule.',
    },
  ]
}

function failureFinding({ job, name, role, message, failures, runs }: JobFacts): DoctorFinding {
  const lacksLogin = message?.startsWith('no connection string of the role') === true
  return {
    area: 'schedules',
    code: lacksLogin ? 'schedules_role' : 'schedules_failed',
    level: failures === runs ? 'WARN' : 'INFO',
    subject: `job ${job}${name === null ? '' : ` (${name})`}`,
    what: `Its last run failed, and ${failures} of its last ${runs}: ${(message ?? '').split('\n')[0]}.`,
    why: 'What it does has not happened.',
    advice: lacksLogin
      ? `Add a connection string of ${role} to SCHEDULES_DATABASE_URL, or let another role schedule it.`
      : `Look at its runs: rowhouse schedules runs ${job}`,
  }
}
