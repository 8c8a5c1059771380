// A database as the engine uses it, on a pool of its own.
import type { EngineDatabase } from '../rest/database.ts'
import { connectionConfig } from './connection/pool-config.ts'
import { Database } from './database.ts'
import { createPool } from './pool.ts'
import { defaultPoolSettings, type PoolSettings } from './pool-settings.ts'

export type ConnectOptions = Partial<PoolSettings> & {
  /** Variables of the environment; what the connection string leaves out comes from its `PG…` variables, as with libpq. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A database that is connected when it is first used. */
export type ConnectedDatabase = EngineDatabase & {
  /** Closes all connections, once what runs on them is done. */
  close(): Promise<void>
}

/**
 * Gives a database with a pool of connections, which are opened when they are needed.
 *
 * @param url connection string: a URI, or pairs of keyword and value
 * @throws ConnectionStringError when it cannot be read; its message never contains a password
 */
export function connect(url: string, options: ConnectOptions = {}): ConnectedDatabase {
  const { env = process.env, ...settings } = options
  const pool = createPool(connectionConfig(url, env), { ...defaultPoolSettings, ...settings })
  return new Database(pool, { primary: connectionConfig(url, env, 'read-write') })
}
