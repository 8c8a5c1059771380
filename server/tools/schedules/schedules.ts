// The jobs of `cron.job` and their runs, for the command line.
import { setTimeout as pause } from 'node:timers/promises'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { CommandError } from '../command-line/command-error.ts'

export type Schedule = {
  /** Number of the job. */
  readonly job: string
  readonly name: string | null
  readonly schedule: string
  readonly command: string
  readonly database: string
  /** As which it runs. */
  readonly role: string
  readonly active: boolean
  /** `skip` or `once`. */
  readonly missed: string
  readonly nextAt: Date | null
  readonly isWaiting: boolean
  readonly skipped: string
  readonly lastRun: string | null
  readonly lastStatus: string | null
  readonly lastMessage: string | null
  readonly lastStartedAt: Date | null
}

export type ScheduleRun = {
  readonly run: string
  readonly job: string
  readonly name: string | null
  readonly command: string
  readonly role: string
  /** `starting`, `running`, `succeeded` or `failed`. */
  readonly status: string
  readonly message: string | null
  /** Rows that the last statement returned or changed. */
  readonly rows: string | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly milliseconds: number | null
}

/** Milliseconds in which a server starts a run that is asked for: another process may have to take the place of one that was killed. */
const startLimit = 30_000
const interval = 200

/** @throws CommandError if the database has no schedules */
export async function requireSchedules(query: RunClientQuery): Promise<void> {
  const { rows } = await query(
    "select to_regclass('cron.job') is not null and to_regprocedure('rowhouse.list_schedules(text)') is not null as exist",
  )
  if (rows[0]?.exist !== true)
    throw new CommandError('This database has no schedules: run rowhouse migrate, with schedules in SERVICES.')
}

/** @param zone setting SCHEDULES_TIMEZONE */
export async function listSchedules(query: RunClientQuery, zone: string | null): Promise<readonly Schedule[]> {
  const { rows } = await query(
    `select job::text, name, schedule, command, database, role, active, missed, next_at as "nextAt",
       is_waiting as "isWaiting", skipped::text, last_run::text as "lastRun", last_status as "lastStatus",
       last_message as "lastMessage", last_started_at as "lastStartedAt"
     from rowhouse.list_schedules($1)`,
    [zone],
  )
  return rows as unknown as readonly Schedule[]
}

/**
 * Finds a job.
 *
 * @param given its number, or its name
 * @throws CommandError if no job has it, or several roles have a job of that name
 */
export async function findJob(query: RunClientQuery, given: string): Promise<Schedule> {
  const schedules = await listSchedules(query, null)
  const found = schedules.filter(({ job, name }) => job === given || name === given)
  const [first] = found
  if (!first) throw new CommandError(`There is no job ${given}. To list all: rowhouse schedules`)
  if (found.length > 1) {
    const choices = found.map(({ job, role }) => `${job} (of ${role})`).join(', ')
    throw new CommandError(`Several jobs are meant by ${given}. Specify a number: ${choices}`)
  }
  return first
}

/** The latest runs: of a job, or of all; of one status, or of all. */
export async function listRuns(
  query: RunClientQuery,
  job: string | null,
  limit: number,
  status: string | null = null,
): Promise<readonly ScheduleRun[]> {
  const { rows } = await query(
    `select run::text, job_id::text as job, name, command, role, status, message, affected::text as rows,
       started_at as "startedAt", ended_at as "endedAt", milliseconds
     from rowhouse.list_schedule_runs($1, null, $2, $3)`,
    [job, limit, status],
  )
  return rows as unknown as readonly ScheduleRun[]
}

/**
 * Makes a server run a job at once, and waits for the end.
 *
 * @throws CommandError if no server does so; the error of the database, if it cannot be run
 */
export async function runJob(query: RunClientQuery, job: string): Promise<ScheduleRun> {
  const [before] = await listRuns(query, job, 1)
  await query('select rowhouse.request_run($1)', [job])
  for (const since = performance.now(); ; await pause(interval)) {
    const [latest] = await listRuns(query, job, 1)
    const isNew = latest !== undefined && BigInt(latest.run) > BigInt(before?.run ?? 0)
    if (isNew && latest.endedAt !== null) return latest
    if (!isNew && before?.endedAt !== null && performance.now() - since > startLimit) {
      throw new CommandError(
        `No server has started the run in ${startLimit / 1000} s. It is due when one serves this database, with schedules in SERVICES.`,
      )
    }
  }
}
