// The connection on which a job runs. As with pg_cron, the role of its session is that of the job: its command can undo the choice of
// a role, so a login with further rights would give it these.
import { withClient } from '../../postgres/connection/client.ts'
import { withDatabaseName, type PoolConfig } from '../../postgres/connection/pool-config.ts'

/** The job cannot be run: the message is for `return_message`. */
export class JobRefused extends Error {}

export class JobLogins {
  readonly #configs: readonly PoolConfig[]
  /** The roles of sessions. A pooler may have another name for them than the connection string. */
  readonly #roles = new Map<PoolConfig, string>()

  /** @param configs connections of the roles whose jobs run */
  constructor(configs: readonly PoolConfig[]) {
    this.#configs = configs
  }

  /**
   * The connection for the jobs of a role in a database.
   *
   * @throws JobRefused if no connection is of that role
   */
  async find(role: string, database: string): Promise<PoolConfig> {
    const failures: string[] = []
    // Those that say so in their connection string come first.
    for (const config of [...this.#configs].sort(
      (a, b) => Number(b.plan.user === role) - Number(a.plan.user === role),
    )) {
      try {
        if ((await this.#roleOf(config)) === role) return withDatabaseName(config, database)
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error))
      }
    }
    if (failures.length > 0) throw new JobRefused(`connection failed: ${failures.join('; ')}`)
    throw new JobRefused(
      `no connection string of the role "${role}": add one to SCHEDULES_DATABASE_URL, or schedule the job as another role`,
    )
  }

  /** Forgets what is known of a connection, because a session had another role. */
  forget(): void {
    this.#roles.clear()
  }

  async #roleOf(config: PoolConfig): Promise<string | undefined> {
    const known = this.#roles.get(config)
    if (known !== undefined) return known
    const role = await withClient(config, async (client) => {
      const { rows } = await client.query<{ role: string }>('select session_user::text as role')
      return rows[0]?.role
    })
    if (role !== undefined) this.#roles.set(config, role)
    return role
  }
}
