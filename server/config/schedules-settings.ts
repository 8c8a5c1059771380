// The settings of schedules.
import type { SchedulesSettings } from '../services/schedules/settings.ts'
import { supabaseSetting as schedules } from './service-setting.ts'
import type { Setting } from './setting.ts'
import * as types from './setting-types.ts'

export const schedulesSettings: { readonly [K in keyof SchedulesSettings]: Setting<SchedulesSettings[K]> } = {
  schedulesDatabaseUrl: schedules('SCHEDULES_DATABASE_URL', types.words, [], {
    description:
      'Connection strings of the [roles whose jobs run](../services/schedules/README.md#as-whom-jobs-run), separated by spaces; or `@file`.',
    defaultInWords: "as `migration-database-url`, or else `db-uri`; the embedded database's own",
    example: '"postgresql://owner@localhost:5432/postgres postgresql://reports@localhost:5432/postgres"',
    change: 'restart',
  }),
  schedulesTimezone: schedules('SCHEDULES_TIMEZONE', types.timeZone, null, {
    description: 'Time zone of all schedules, such as `Europe/Berlin`.',
    defaultInWords: 'the parameter `cron.timezone` of the database, or else `GMT`',
    example: '"Europe/Berlin"',
  }),
  schedulesMaxRunning: schedules('SCHEDULES_MAX_RUNNING', types.integer({ min: 1, max: 1000 }), 8, {
    description:
      'Maximum number of jobs that run at a time, each on a connection of its own. Others that are due wait for one to end.',
  }),
  schedulesTimeLimit: schedules('SCHEDULES_TIME_LIMIT', types.integer({ min: 1, max: 2_000_000 }), 21_600, {
    description: 'Seconds after which a run is ended.',
  }),
  schedulesKeepDays: schedules('SCHEDULES_KEEP_DAYS', types.integer({ min: 1, max: 36_500 }), 7, {
    description: 'Days that the rows of ended runs are kept in `cron.job_run_details`.',
  }),
}
