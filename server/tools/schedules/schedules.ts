// The jobs of `cron.job` and their runs, for the command line.
import { setTimeout as pause } from 'node:timers/promises'
import { rowsOf, type RunClientQuery } from '../../catalogue/introspection.ts'
import { listJobs, listRuns } from '../../services/console/schedule-list.ts'
import type { ScheduleJob, ScheduleRun } from '../../services/console/schedule-protocol.ts'
import { CommandError } from '../command-line/command-error.ts'

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

/** All jobs. @param zone setting SCHEDULES_TIMEZONE */
export const listSchedules = async (query: RunClientQuery, zone: string | null): Promise<readonly ScheduleJob[]> =>
  (await listJobs(rowsOf(query), zone, null)).jobs

/**
 * Finds a job.
 *
 * @param given its number, or its name
 * @throws CommandError if no job has it, or several roles have a job of that name
 */
export async function findJob(query: RunClientQuery, given: string): Promise<ScheduleJob> {
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
export async function latestRuns(
  query: RunClientQuery,
  job: string | null,
  limit: number,
  status?: string,
): Promise<readonly ScheduleRun[]> {
  const { items } = await listRuns(rowsOf(query), { ...(job !== null && { job }), status, limit })
  return items
}

/**
 * Makes a server run a job at once, and waits for the end.
 *
 * @throws CommandError if no server does so; the error of the database, if it cannot be run
 */
export async function runJob(query: RunClientQuery, job: string): Promise<ScheduleRun> {
  const [before] = await latestRuns(query, job, 1)
  await query('select rowhouse.request_run($1)', [job])
  for (const since = performance.now(); ; await pause(interval)) {
    const [latest] = await latestRuns(query, job, 1)
    const isNew = latest !== undefined && BigInt(latest.run) > BigInt(before?.run ?? 0)
    if (isNew && latest.endedAt !== null) return latest
    if (!isNew && before?.endedAt !== null && performance.now() - since > startLimit) {
      throw new CommandError(
        `No server has started the run in ${startLimit / 1000} s. It is due when one serves this database, with schedules in SERVICES.`,
      )
    }
  }
}
