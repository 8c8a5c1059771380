// A connection string -> what `pg` needs to connect as libpq would.
import type pg from 'pg'
import { PipelineClient } from '../protocol/pipeline-client.ts'
import { connectionPlan, type ConnectionPlan } from './connection-plan.ts'
import { LibpqConnection } from './libpq-connection.ts'
import { passwordInFile } from './passfile.ts'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The server requires a password, but the connection string, variables and password file contain none. */
export class PasswordMissing extends Error {
  constructor() {
    super('the server requires a password, but none is configured')
  }
}

export type PoolConfig = pg.PoolConfig & { readonly plan: ConnectionPlan; readonly Client: typeof LibpqClient }

/** Before PostgreSQL 14, the setting does not exist. */
const identity = `select pg_catalog.pg_backend_pid() as pid,
  (extract(epoch from coalesce(
    pg_catalog.current_setting('client_connection_check_interval', true), '0'
  )::pg_catalog.interval) * 1000)::int as closing`

/** A client for one of the servers of a plan. The pool makes them; `new config.Client(config)` makes one without it. */
export class LibpqClient extends PipelineClient {
  readonly #connection: LibpqConnection
  #isDirect = false
  #closingInterval = 0

  /** Called by the pool with its configuration. */
  constructor(config?: pg.ClientConfig & { readonly plan: ConnectionPlan }) {
    const plan = config?.plan
    if (!plan) throw new TypeError('a connection plan is required')
    const connection = new LibpqConnection(plan)
    const password = (): string => {
      const target = connection.target ?? { host: '', port: 0 }
      const found = plan.password ?? passwordInFile(plan.passfile, { ...plan, ...target })
      if (found === undefined) throw new PasswordMissing()
      return found
    }
    // LibpqConnection handles encryption itself.
    const withConnection: pg.ClientConfig & { readonly connection: pg.Connection } = {
      ...config,
      ssl: false,
      password,
      connection,
    }
    super(withConnection)
    this.#connection = connection
  }

  /**
   * Whether the session is the one that the server announced, which is required for cancellation. A pooler announces its
   * own session, and some poolers fail on a request to cancel.
   */
  get isDirect(): boolean {
    return this.#isDirect
  }

  /**
   * Milliseconds after which the server ends what runs on a connection that was closed: `client_connection_check_interval`.
   * 0 if it does not look, as by default.
   */
  get closingInterval(): number {
    return this.#closingInterval
  }

  /**
   * Determines whether the session is the one that the server announced, and what the server does when it is closed.
   *
   * @throws Error of the query
   */
  async identify(): Promise<void> {
    const { rows } = await this.query<{ pid: number; closing: number }>(identity)
    const [row] = rows
    this.#isDirect = row?.pid === (this as unknown as { readonly processID: number }).processID
    this.#closingInterval = row?.closing ?? 0
  }

  /** Closes the connection at once, without waiting for what runs on it. */
  abandon(): void {
    this.#connection.stream.destroy()
  }

  /**
   * Requests the cancellation of the running statement, if any, on a separate connection. Resolves when the server has
   * processed the request.
   *
   * @throws Error when the request fails
   */
  requestCancel(): Promise<void> {
    const { processID, secretKey } = this as unknown as { readonly processID: number; readonly secretKey: number }
    return this.#connection.requestCancel(processID, secretKey)
  }
}

/**
 * Parses a connection string: a URI, or keyword/value pairs. Missing options come from the `PG…` variables.
 *
 * @param session `read-write` for connections that must reach the primary, such as a listener's
 * @throws ConnectionStringError; its message never contains a password
 */
export function connectionConfig(uri: string, env: Environment, session?: 'read-write'): PoolConfig {
  const plan = planOf(uri, env, session)
  const [first] = plan.targets
  return {
    Client: LibpqClient,
    plan,
    user: plan.user,
    database: plan.database,
    // Set for clients of other classes, too, which must not connect without password or encryption.
    password: () => plan.password ?? '',
    ssl: ['require', 'verify-ca', 'verify-full'].includes(plan.sslMode) ? { ...plan.tls } : false,
    enableChannelBinding: plan.requiresChannelBinding,
    fallback_application_name: plan.fallbackApplicationName,
    ...(first ? { host: first.host, port: first.port } : {}),
    ...(plan.options === undefined ? {} : { options: plan.options }),
    ...(plan.applicationName === undefined ? {} : { application_name: plan.applicationName }),
  }
}

/** The same connection to another database of the server. */
export const withDatabaseName = (config: PoolConfig, database: string): PoolConfig => ({
  ...config,
  database,
  plan: changedPlan(config, { database: { enumerable: true, value: database } }),
})

/** The same connection as another role. */
export const withUser = (config: PoolConfig, user: string, password: string): PoolConfig => ({
  ...config,
  user,
  password: () => password,
  plan: changedPlan(config, {
    user: { enumerable: true, value: user },
    password: { enumerable: false, value: password },
  }),
})

/** Copies the properties that are not enumerable, too. */
const changedPlan = ({ plan }: PoolConfig, changes: PropertyDescriptorMap): ConnectionPlan =>
  Object.defineProperties({ ...plan }, { ...Object.getOwnPropertyDescriptors(plan), ...changes })

function planOf(uri: string, env: Environment, session: 'read-write' | undefined): ConnectionPlan {
  const plan = connectionPlan(uri, env)
  // Not enumerable, so that logging the object shows neither password nor private key.
  return Object.defineProperties(session ? { ...plan, session } : { ...plan }, {
    password: { enumerable: false, value: plan.password },
    tls: { enumerable: false, value: plan.tls },
  })
}
