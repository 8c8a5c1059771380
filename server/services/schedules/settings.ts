// The settings of schedules; the table is in `config/schedules-settings.ts`.

export type SchedulesSettings = {
  /** Connection strings of the roles whose jobs run. Empty: that of migrations, or else `db-uri`. */
  readonly schedulesDatabaseUrl: readonly string[]
  /** Name of the time zone. Null: the parameter `cron.timezone` of the database, or else GMT. */
  readonly schedulesTimezone: string | null
  /** Maximum number of jobs that run at a time. */
  readonly schedulesMaxRunning: number
  /** Seconds after which a run is ended. */
  readonly schedulesTimeLimit: number
  /** Days that ended runs are kept. */
  readonly schedulesKeepDays: number
}
