// What is loaded when there is a job.
import type { PoolConfig } from '../../postgres/connection/pool-config.ts'
import { Lease } from '../../postgres/lease.ts'
import { JobLogins } from './job-logins.ts'
import { Scheduler, type SchedulerOptions } from './scheduler.ts'

export type StartOptions = Pick<SchedulerOptions, 'database' | 'settings' | 'onError'> & {
  /** The connections of the roles whose jobs run. */
  readonly logins: readonly PoolConfig[]
}

export const startScheduler = (
  { logins, ...options }: StartOptions,
  parts: Pick<SchedulerOptions, 'alarm' | 'figures'>,
): Scheduler =>
  new Scheduler({
    ...options,
    ...parts,
    logins: new JobLogins(logins),
    lease: new Lease({ database: options.database, name: 'schedules' }),
  })
