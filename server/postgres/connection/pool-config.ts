// A connection string -> what `pg` needs to connect as libpq would.
import type pg from 'pg'
import { PipelineClient } from '../protocol/pipeline-client.ts'
import { connectionPlan, type ConnectionPlan } from './connection-plan.ts'
import { LibpqConnection } from './libpq-connection.ts'
import { passwordInFile } from './passfile.ts'

/** Variables of the environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The server wants a password, and there is none in the connection string, the variables and the password file. */
export class PasswordMissing extends Error {
  constructor() {
    super('the server asks for a password, but none is supplied')
  }
}

export type PoolConfig = pg.PoolConfig & { readonly plan: ConnectionPlan; readonly Client: typeof LibpqClient }

/** A client for one of the servers of a plan. The pool makes them; `new config.Client(config)` makes one without it. */
export class LibpqClient extends PipelineClient {
  readonly #connection: LibpqConnection
  #isDirect = false

  /** Made by the pool, which hands its configuration on. */
  constructor(config?: pg.ClientConfig & { readonly plan: ConnectionPlan }) {
    const plan = config?.plan
    if (!plan) throw new TypeError('a connection plan is needed')
    const connection = new LibpqConnection(plan)
    const password = (): string => {
      const target = connection.target ?? { host: '', port: 0 }
      const found = plan.password ?? passwordInFile(plan.passfile, { ...plan, ...target })
      if (found === undefined) throw new PasswordMissing()
      return found
    }
    // Encryption is settled by the connection itself.
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
   * Whether the session is the one that the server announced: only then can it be cancelled. A pooler announces a session
   * of its own, and some do not survive to be asked.
   */
  get isDirect(): boolean {
    return this.#isDirect
  }

  /**
   * Finds out whether the session is the one that the server announced.
   *
   * @throws Error of the query
   */
  async identify(): Promise<void> {
    const { rows } = await this.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid')
    this.#isDirect = rows[0]?.pid === (this as unknown as { readonly processID: number }).processID
  }

  /**
   * Asks the server, on a connection of its own, to cancel what this one runs at the moment; does nothing when it runs
   * nothing. Resolves when the server has been told.
   *
   * @throws Error when it cannot be asked
   */
  requestCancel(): Promise<void> {
    const { processID, secretKey } = this as unknown as { readonly processID: number; readonly secretKey: number }
    return this.#connection.requestCancel(processID, secretKey)
  }
}

/**
 * Reads a connection string: a URI, or pairs of keyword and value. What it leaves out comes from the `PG…` variables.
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
    // What follows is for a client of another class, too: it must neither lack the password nor the encryption.
    password: () => plan.password ?? '',
    ssl: ['require', 'verify-ca', 'verify-full'].includes(plan.sslMode) ? { ...plan.tls } : false,
    enableChannelBinding: plan.requiresChannelBinding,
    fallback_application_name: plan.fallbackApplicationName,
    ...(first ? { host: first.host, port: first.port } : {}),
    ...(plan.options === undefined ? {} : { options: plan.options }),
    ...(plan.applicationName === undefined ? {} : { application_name: plan.applicationName }),
  }
}

function planOf(uri: string, env: Environment, session: 'read-write' | undefined): ConnectionPlan {
  const plan = connectionPlan(uri, env)
  // Password and private key are kept out of what a log of an object shows.
  return Object.defineProperties(session ? { ...plan, session } : { ...plan }, {
    password: { enumerable: false, value: plan.password },
    tls: { enumerable: false, value: plan.tls },
  })
}
