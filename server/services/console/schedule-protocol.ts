// What the page of schedules and its routes exchange. The page imports these types, too, so this file imports nothing.

/** `GET /console/api/schedules` */
export type ScheduleReport = {
  /** Whether this server runs the jobs; otherwise the extension pg_cron does. */
  readonly isOwn: boolean
  /** Time zone of the setting; null: the parameter `cron.timezone` of the database, or else GMT. */
  readonly zone: string | null
  readonly jobs: readonly ScheduleJob[]
}

export type ScheduleJob = {
  /** Its number, as text. */
  readonly job: string
  readonly name: string | null
  readonly schedule: string
  readonly command: string
  /** As which it runs. */
  readonly role: string
  readonly database: string
  readonly isActive: boolean
  /** What happens when no server was there at a due time: wait for the next one, or run when a server is there again. */
  readonly missed: 'skip' | 'once'
  /** Null if it is not due again. */
  readonly nextAt: string | null
  /** Whether it is due, and waits to be run. */
  readonly isWaiting: boolean
  /** Due times without a run. */
  readonly skipped: number
  readonly lastRun: { readonly status: string; readonly message: string | null; readonly at: string | null } | null
}

/** Query of `GET /console/api/schedules/runs`. */
export type RunsQuery = {
  /** Number of a job. */
  readonly job?: string
  /** Number of a run: earlier ones are returned. */
  readonly before?: string
}

/** `GET /console/api/schedules/runs`: the latest first. */
export type RunPage = {
  readonly items: readonly ScheduleRun[]
  /** `before` of the next page; null on the last page. */
  readonly next: string | null
}

export type ScheduleRun = {
  readonly run: string
  readonly job: string
  /** Null for a job without a name, and for one that was removed. */
  readonly name: string | null
  /** Cut. */
  readonly command: string
  readonly role: string
  /** `starting`, `running`, `succeeded` or `failed`. */
  readonly status: string
  /** What the last statement did, or the error; cut. */
  readonly message: string | null
  /** Rows that the last statement returned or changed. */
  readonly rows: number | null
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly milliseconds: number | null
}
