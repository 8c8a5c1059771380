// A database for the engine, with its own connection pool.
import type { EngineDatabase } from '../rest/database.ts'
import { connectionConfig } from './connection/pool-config.ts'
import { Database } from './database.ts'
import { createPool } from './pool.ts'
import { defaultPoolSettings, type PoolSettings } from './pool-settings.ts'

export type ConnectOptions = Partial<PoolSettings> & {
  /** Environment variables. As in libpq, `PG…` variables supply what the connection string leaves out. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A database that connects on first use. */
export type ConnectedDatabase = EngineDatabase & {
  /** Closes all connections, once their transactions have ended. */
  close(): Promise<void>
}

/**
 * Creates a database with a connection pool. Connections are opened when they are needed.
 *
 * @param url connection string: a URI, or pairs of keyword and value
 * @throws ConnectionStringError when the connection string cannot be parsed; its message never contains a password
 */
export function connect(url: string, options: ConnectOptions = {}): ConnectedDatabase {
  const { env = process.env, ...settings } = options
  const pool = createPool(connectionConfig(url, env), { ...defaultPoolSettings, ...settings })
  return new Database(pool, { primary: connectionConfig(url, env, 'read-write') })
}
