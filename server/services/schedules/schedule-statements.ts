// The statements of the scheduler: functions of `sql/migrations/000024_schedules.sql`, in which each decision is made.
import { JsonStatement } from '../../postgres/json-statement.ts'

/** A run to carry out. Numbers are text, as they may be larger than JavaScript's. */
export type ScheduledRun = {
  readonly run: string
  readonly job: string
  readonly database: string
  /** As which it runs. */
  readonly role: string
  readonly command: string
  /** Whether the role is a superuser, but the owner of `cron.job` is not. */
  readonly exceedsOwner: boolean
}

/** The result of `startRuns`. */
export type ScheduleLook =
  | {
      readonly state: 'scheduling'
      readonly runs: readonly ScheduledRun[]
      /** Of the given runs, those whose job was removed or is no longer active. */
      readonly canceled: readonly string[]
      /** Number of active jobs. */
      readonly jobs: number
      /** Number of jobs that are due and wait. */
      readonly waiting: number
      readonly skipped: number
      /** Milliseconds until a job is due; null if none will be. */
      readonly pause: number | null
    }
  | {
      /** Another process has the lease; or the jobs are those of the extension pg_cron. */
      readonly state: 'no lease' | 'not ours'
    }

/** Whether there is something to do. */
export const hasJobs = new JsonStatement('select to_json(rowhouse.has_jobs())', { access: 'read', hasNoEffect: true })

/** Of: holder of the lease, time zone, most runs, and the runs in progress as an array. */
export const startRuns = new JsonStatement('select rowhouse.start_runs($1, $2, $3, $4)', { access: 'write' })

/** Of: run, process of the database. */
export const runStarted = new JsonStatement('select to_json(rowhouse.run_started($1, $2))', { access: 'write' })

/** Of: run, `succeeded` or `failed`, message. */
export const runFinished = new JsonStatement(`select to_json(rowhouse.run_finished($1, $2, $3)::text)`, {
  access: 'write',
})

/** Of: days. */
export const removeOldRuns = new JsonStatement(
  `select to_json(rowhouse.remove_old_runs($1::integer * interval '1 day'))`,
  { access: 'write' },
)
