// A scheduler on a database of the test, with jobs of its superuser.
import type { Test } from 'tap'
import { connectionConfig } from '../../server/postgres/connection/pool-config.ts'
import { Database } from '../../server/postgres/database.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { ChannelNotices } from '../../server/services/channel-notices.ts'
import {
  createSchedules,
  schedulesChannel,
  type SchedulesService,
} from '../../server/services/schedules/create-schedules.ts'
import type { SchedulesSettings } from '../../server/services/schedules/settings.ts'
import pg from 'pg'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'
import { until } from './until.ts'

/** A migrated database, for the duration of a test. */
export async function schedulesDatabase(t: Pick<Test, 'teardown'>): Promise<MigratedDatabase> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  return database
}

/** Waits for a row. */
export async function rowOf(database: MigratedDatabase, text: string): Promise<Record<string, unknown>> {
  let row: Record<string, unknown> | undefined
  await until(async () => {
    row = (await database.query(text)).rows[0]
    return row !== undefined
  })
  if (!row) throw new Error(`there is still no row: ${text}`)
  return row
}

export type Schedules = {
  readonly service: SchedulesService
  readonly errors: unknown[]
  /** Schedules a command, and removes its job after the first run. @returns the run */
  readonly runOnce: (command: string) => Promise<Record<string, unknown>>
}

const defaults: SchedulesSettings = {
  schedulesDatabaseUrl: [],
  schedulesTimezone: null,
  schedulesMaxRunning: 8,
  schedulesTimeLimit: 60,
  schedulesKeepDays: 7,
}

/** Starts a scheduler that hears of changes of jobs, for the duration of a test. */
export async function startSchedules(
  t: Pick<Test, 'teardown'>,
  migrated: MigratedDatabase,
  settings: Partial<SchedulesSettings> & { readonly logins?: readonly string[] } = {},
): Promise<Schedules> {
  const database = new Database(
    createPool(
      { connectionString: migrated.authenticatorUri },
      { dbPool: 4, dbPoolAcquisitionTimeout: 10, dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800 },
    ),
  )
  const notices = new ChannelNotices(schedulesChannel)
  const listener = new pg.Client({ connectionString: migrated.authenticatorUri })
  listener.on('notification', () => notices.notify())
  listener.on('error', () => undefined)
  await listener.connect()
  await listener.query(`listen ${schedulesChannel}`)
  const errors: unknown[] = []
  const { logins = [migrated.adminUri], ...more } = settings
  const service = createSchedules({
    database,
    settings: () => ({ ...defaults, ...more }),
    logins: logins.map((uri) => connectionConfig(uri, {})),
    notices,
    onError: (error) => errors.push(error),
  })
  t.teardown(async () => {
    await service.stop()
    await listener.end()
    await database.close()
    await migrated.query('delete from cron.job').catch(() => undefined)
  })
  return {
    service,
    errors,
    runOnce: async (command) => {
      const { rows } = await migrated.query("select cron.schedule('once', '0 0 1 1 *', $1)::text as job", [command])
      const job = String(rows[0]?.job)
      await migrated.query(`select rowhouse.request_run(${job})`)
      const run = await rowOf(
        migrated,
        `select * from rowhouse.list_schedule_runs(${job}, null, 1) where status in ('succeeded', 'failed')`,
      )
      await migrated.query('select cron.unschedule($1::text)', ['once'])
      return run
    },
  }
}
