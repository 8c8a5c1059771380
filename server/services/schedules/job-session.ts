// The session of the database in which a run is carried out. It is of the role of the job, and closed afterwards.
import { withClient } from '../../postgres/connection/client.ts'
import type { LibpqClient, PoolConfig } from '../../postgres/connection/pool-config.ts'
import { runSimple } from '../../postgres/connection/simple-statement.ts'
import { terminateSession, watchSession } from '../../postgres/connection/watched-session.ts'
import { JobRefused, type JobLogins } from './job-logins.ts'
import { copyRefused, failed, failureOf, ResultCount, type RunOutcome } from './run-outcome.ts'
import type { ScheduledRun } from './schedule-statements.ts'

export type SessionOptions = {
  readonly logins: JobLogins
  /** Milliseconds. */
  readonly timeLimit: number
  /** Records that the command is about to be executed. @returns false if it must not be */
  readonly onStart: (pid: number) => Promise<boolean>
}

/** The name of the sessions, by which `rowhouse.end_lost_runs` recognises them. */
const applicationName = 'rowhouse schedules'
/** Milliseconds until the session must be open. */
const startLimit = 30_000
/** Bytes of results that a run may send. They are not kept, but take time of the server. */
const maxReceived = 256 * 1024 * 1024

/** One run, from its connection to its end. */
export class JobSession {
  readonly #run: ScheduledRun
  readonly #options: SessionOptions
  readonly #stopped: Promise<RunOutcome>
  #onStopped: (outcome: RunOutcome) => void = () => undefined
  #isStopped = false
  /** Ends the command that is executed. */
  #terminate: () => Promise<unknown> = () => Promise.resolve()

  constructor(run: ScheduledRun, options: SessionOptions) {
    this.#run = run
    this.#options = options
    this.#stopped = new Promise((resolve) => (this.#onStopped = resolve))
  }

  /** Ends the session at once, whatever it does. `message` becomes that of the run. */
  stop(message: string): void {
    if (this.#isStopped) return
    this.#isStopped = true
    // The run has not ended before its session has.
    void this.#terminate().then(() => this.#onStopped(failed(message)))
  }

  /** @returns undefined if the run was ended elsewhere before its command began. Never rejects */
  async carryOut(): Promise<RunOutcome | undefined> {
    const { role, database, exceedsOwner } = this.#run
    if (exceedsOwner) {
      return failed(`jobs of the superuser "${role}" do not run, because the owner of cron.job is no superuser`)
    }
    const limit = setTimeout(() => this.stop('connection failed: it takes too long'), startLimit)
    const carriedOut = async (): Promise<RunOutcome | undefined> => {
      try {
        const config = await this.#options.logins.find(role, database)
        return await this.#connected({ ...config, application_name: applicationName }, limit)
      } catch (error) {
        if (error instanceof JobRefused) return failed(error.message)
        return failed(`connection failed: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    try {
      const outcome = await Promise.race([carriedOut(), this.#stopped])
      return this.#isStopped ? await this.#stopped : outcome
    } finally {
      clearTimeout(limit)
    }
  }

  #connected(config: PoolConfig, limit: NodeJS.Timeout): Promise<RunOutcome | undefined> {
    return withClient(config, async (client) => {
      const { rows } = await client.query<{ pid: number; role: string }>(
        'select pg_catalog.pg_backend_pid() as pid, session_user::text as role',
      )
      const [{ pid, role } = { pid: 0, role: '' }] = rows
      if (role !== this.#run.role) {
        this.#options.logins.forget()
        throw new JobRefused(`the session is of the role "${role}", not of "${this.#run.role}"`)
      }
      // The database ends the command soon after this process has gone. Not all operating systems can tell.
      await client.query('set client_connection_check_interval = 5000').catch(() => undefined)
      if (this.#isStopped || !(await this.#options.onStart(pid)) || this.#isStopped) return undefined
      clearTimeout(limit)
      return this.#executed(client, config, pid)
    })
  }

  async #executed(client: LibpqClient, config: PoolConfig, pid: number): Promise<RunOutcome> {
    const { timeLimit } = this.#options
    this.#terminate = () => terminateSession(client, config, pid)
    const stopWatching = watchSession(client, { time: timeLimit, received: maxReceived }, (limit) =>
      this.stop(
        limit === 'time'
          ? `ended after ${timeLimit / 1000} s, the limit of SCHEDULES_TIME_LIMIT`
          : `the results are larger than ${maxReceived / 1024 / 1024} MiB: a job has no use for them`,
      ),
    )
    const count = new ResultCount(() => this.stop(copyRefused))
    try {
      await runSimple(client, this.#run.command, count.handlers)
      return count.outcome
    } catch (error) {
      return failureOf(error)
    } finally {
      stopWatching()
      this.#terminate = () => Promise.resolve()
    }
  }
}
