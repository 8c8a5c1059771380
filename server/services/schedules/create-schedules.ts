// The service that runs the jobs of `cron.job`. All but this is loaded when there is a job.
import { isNotForThisRole, isUnreachable } from '../../postgres/database-error.ts'
import type { ChannelNotices } from '../channel-notices.ts'
import { Alarm } from './alarm.ts'
import { hasJobs } from './schedule-statements.ts'
import type { Scheduler } from './scheduler.ts'
import type { StartOptions } from './start-scheduler.ts'
import { ScheduleFigures } from './statistics.ts'

export type SchedulesOptions = StartOptions & {
  /** That jobs have changed. */
  readonly notices: ChannelNotices
}

export type SchedulesService = {
  readonly figures: ScheduleFigures
  readonly stop: () => Promise<void>
}

/** The channel of the trigger on `cron.job`. */
export const schedulesChannel = 'rowhouse_schedules'
/** Milliseconds until the first look for jobs, and between two looks without jobs. */
const pauses = { first: 3000, next: 300_000 }

export function createSchedules(options: SchedulesOptions): SchedulesService {
  const { database, notices, onError } = options
  const alarm = new Alarm()
  const figures = new ScheduleFigures()
  let scheduler: Scheduler | undefined
  let isStopping = false
  let isFirst = true

  const look = async (): Promise<void> => {
    try {
      const [exist] = await database.ask(hasJobs, undefined, [])
      if (exist !== true || isStopping) return
      const { startScheduler } = await import('./start-scheduler.ts')
      if (isStopping) return
      scheduler = startScheduler(options, { alarm, figures })
      await scheduler.schedule()
    } catch (error) {
      if (!isUnreachable(error) && !isNotForThisRole(error)) onError(error)
    }
  }
  const keepLooking = async (): Promise<void> => {
    while (!isStopping) {
      await alarm.wait(isFirst ? pauses.first : pauses.next)
      isFirst = false
      if (!isStopping) await look()
    }
  }
  const looking = keepLooking()
  // At the start, the server has other things to do.
  notices.subscribe(() => {
    if (!isFirst) alarm.ring()
  })
  return {
    figures,
    stop: async () => {
      isStopping = true
      alarm.ring()
      scheduler?.stop()
      await looking
    },
  }
}
