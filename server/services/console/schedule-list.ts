// Jobs and runs, as the page of schedules and `rowhouse schedules` show them.
import type { RunQuery } from '../../catalogue/introspection.ts'
import type { RunPage, RunsQuery, ScheduleJob, ScheduleReport, ScheduleRun } from './schedule-protocol.ts'

/** Which runs a page has. */
export type RunSelection = RunsQuery & {
  /** Undefined for runs of any status. */
  readonly status?: string | undefined
  /** The most runs of a page. */
  readonly limit?: number
}

const mostJobs = 1000
/** Runs of a page. */
const pageSize = 50
/** Characters of commands and messages. A job is changed by its whole command. */
const longest = { command: 100_000, message: 2000 }

const jobs = `
  select rowhouse.has_own_schedules() as is_own, (
    select coalesce(json_agg(json_build_object(
      'job', job::text, 'name', name, 'schedule', schedule, 'command', left(command, ${longest.command}), 'role', role,
      'database', database, 'isActive', active, 'missed', missed, 'nextAt', next_at, 'isWaiting', is_waiting, 'skipped', skipped,
      'lastRun', case when last_run is not null then json_build_object(
        'status', last_status, 'message', left(last_message, ${longest.message}), 'at', coalesce(last_ended_at, last_started_at)
      ) end
    ) order by job), '[]')
    from (select * from rowhouse.list_schedules($1) limit $2) as job
  ) as jobs`

/**
 * @param zone setting SCHEDULES_TIMEZONE
 * @param most jobs; null for all
 */
export async function listJobs(
  query: RunQuery,
  zone: string | null,
  most: number | null = mostJobs,
): Promise<ScheduleReport> {
  const [row] = await query(jobs, [zone, most])
  return { isOwn: row?.is_own === true, zone, jobs: row?.jobs as readonly ScheduleJob[] }
}

const runs = `
  select run::text, job_id::text as job, name, left(command, ${longest.message}) as command, role, status,
    left(message, ${longest.message}) as message, affected::float as rows, to_json(started_at) as "startedAt",
    to_json(ended_at) as "endedAt", milliseconds
  from rowhouse.list_schedule_runs($1, $2, $3, $4)`

/** A page of runs, the latest first: of one job, or of all. */
export async function listRuns(
  query: RunQuery,
  { job, before, status, limit = pageSize }: RunSelection,
): Promise<RunPage> {
  const rows = await query(runs, [job ?? null, before ?? null, limit + 1, status ?? null])
  const items = rows.slice(0, limit) as unknown as readonly ScheduleRun[]
  return { items, next: rows.length > limit ? (items.at(-1)?.run ?? null) : null }
}
