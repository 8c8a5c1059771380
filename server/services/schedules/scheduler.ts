// Runs the jobs of `cron.job` while this process has the lease, and jobs exist. The database decides what is due, by its clock.
import type { Database } from '../../postgres/database.ts'
import { isNotForThisRole, isUnreachable } from '../../postgres/database-error.ts'
import type { Lease } from '../../postgres/lease.ts'
import type { Alarm } from './alarm.ts'
import type { JobLogins } from './job-logins.ts'
import { JobSession } from './job-session.ts'
import type { RunOutcome } from './run-outcome.ts'
import {
  removeOldRuns,
  runFinished,
  runStarted,
  startRuns,
  type ScheduledRun,
  type ScheduleLook,
} from './schedule-statements.ts'
import type { SchedulesSettings } from './settings.ts'
import type { ScheduleFigures } from './statistics.ts'

export type SchedulerOptions = {
  readonly database: Pick<Database, 'ask'>
  readonly settings: () => SchedulesSettings
  readonly logins: JobLogins
  readonly lease: Lease
  /** Rung when jobs have changed, or a run has ended. */
  readonly alarm: Alarm
  readonly figures: ScheduleFigures
  readonly onError: (error: unknown) => void
}

/** Milliseconds between two looks at the jobs, at most: the clock of the database may have been set. */
const longestPause = 60_000
/** Milliseconds between two attempts to reach the database. */
const retryPauses = { first: 1000, longest: 30_000 }
/** Milliseconds between two removals of old runs. */
const removalInterval = 3_600_000
/** As many times are the oldest runs removed at once. */
const maxRemovals = 100
/** What pg_cron records of runs that a restart has ended. */
const restarted = 'server restarted'

export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #sessions = new Map<string, JobSession>()
  readonly #running = new Set<Promise<void>>()
  #isStopping = false
  #renewAt = -Infinity
  #lookAt = -Infinity
  #removeAt = -Infinity
  #retryPause = retryPauses.first

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  /** Runs jobs until there are none, or `stop` is called. */
  async schedule(): Promise<void> {
    const { alarm, figures, lease, onError } = this.#options
    let isLookedFor = true
    while (!this.#isStopping) {
      let pause: number | undefined
      try {
        pause = await this.#turn(isLookedFor)
        this.#retryPause = retryPauses.first
      } catch (error) {
        figures.isScheduling = false
        if (isNotForThisRole(error)) break
        if (!isUnreachable(error)) onError(error)
        pause = this.#retryPause
        this.#retryPause = Math.min(this.#retryPause * 2, retryPauses.longest)
      }
      if (pause === undefined) break
      const since = performance.now()
      await alarm.wait(pause)
      isLookedFor = performance.now() - since < pause
    }
    figures.isScheduling = false
    // Another process takes its place when nothing runs here any more.
    await Promise.all(this.#running)
    await lease.end().catch(() => undefined)
  }

  /** Makes `schedule` end, with the runs in progress. */
  stop(): void {
    this.#isStopping = true
    this.#options.alarm.ring()
    for (const session of this.#sessions.values()) session.stop(restarted)
  }

  /**
   * Keeps the lease, and looks at the jobs if one is due.
   *
   * @param isLookedFor whether to look at once
   * @returns milliseconds until the next turn; undefined if there is nothing to do
   */
  async #turn(isLookedFor: boolean): Promise<number | undefined> {
    const { figures, lease } = this.#options
    if (performance.now() >= this.#renewAt || !lease.isHeld) {
      figures.isScheduling = await lease.take()
      this.#renewAt = performance.now() + lease.renewalInterval
      if (!figures.isScheduling) return lease.renewalInterval
    }
    if (isLookedFor || performance.now() >= this.#lookAt) {
      const look = await this.#look()
      if (look.state !== 'scheduling') {
        figures.isScheduling = false
        return look.state === 'not ours' ? undefined : lease.renewalInterval
      }
      if (look.jobs === 0 && this.#sessions.size === 0) return undefined
      this.#lookAt = performance.now() + Math.min(Math.max(look.pause ?? longestPause, 0), longestPause)
    }
    if (performance.now() >= this.#removeAt) {
      this.#removeAt = performance.now() + removalInterval
      await this.#removeOldRuns()
    }
    return Math.max(Math.min(this.#renewAt, this.#lookAt) - performance.now(), 0)
  }

  async #look(): Promise<ScheduleLook> {
    const { database, figures, lease, settings } = this.#options
    const { schedulesTimezone, schedulesMaxRunning } = settings()
    const most = Math.max(schedulesMaxRunning - this.#sessions.size, 0)
    const own = `{${[...this.#sessions.keys()].join(',')}}`
    const [result] = await database.ask(startRuns, undefined, [lease.holder, schedulesTimezone, most, own])
    const look = result as ScheduleLook
    if (look.state !== 'scheduling') return look
    figures.jobs = look.jobs
    figures.waiting = look.waiting
    figures.skipped = look.skipped
    for (const run of look.canceled) this.#sessions.get(run)?.stop('job canceled')
    for (const run of look.runs) this.#start(run)
    return look
  }

  #start(run: ScheduledRun): void {
    const { alarm, database, figures, logins, settings } = this.#options
    const session = new JobSession(run, {
      logins,
      timeLimit: settings().schedulesTimeLimit * 1000,
      onStart: async (pid) => {
        const [isStarted] = await database.ask(runStarted, undefined, [run.run, pid])
        return isStarted === true
      },
    })
    this.#sessions.set(run.run, session)
    // It was claimed while the server began to stop.
    if (this.#isStopping) session.stop(restarted)
    figures.running = this.#sessions.size
    const running = this.#carryOut(run, session).finally(() => {
      this.#sessions.delete(run.run)
      this.#running.delete(running)
      figures.running = this.#sessions.size
      alarm.ring()
    })
    this.#running.add(running)
  }

  async #carryOut(run: ScheduledRun, session: JobSession): Promise<void> {
    const { figures, onError } = this.#options
    try {
      const outcome = await session.carryOut()
      if (!outcome) return
      figures[outcome.status]++
      await this.#record(run, outcome)
    } catch (error) {
      onError(error)
    }
  }

  /** Repeats the statement until the database has it: a run without an end would keep its job from being started. */
  async #record({ run }: ScheduledRun, { status, message }: RunOutcome): Promise<void> {
    const { database } = this.#options
    for (let pause = retryPauses.first; ; pause = Math.min(pause * 2, retryPauses.longest)) {
      try {
        await database.ask(runFinished, undefined, [run, status, message])
        return
      } catch (error) {
        if (!isUnreachable(error) || this.#isStopping) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, pause).unref())
    }
  }

  async #removeOldRuns(): Promise<void> {
    const { database, settings } = this.#options
    for (let times = 0; times < maxRemovals; times++) {
      const [removed] = await database.ask(removeOldRuns, undefined, [settings().schedulesKeepDays])
      if (removed === 0) return
    }
  }
}
