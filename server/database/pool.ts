// The pool of connections that requests run on.
import pg from 'pg'
import { errors } from '../rest/errors.ts'

export type PoolSettings = {
  /** Most connections. */
  readonly dbPool: number
  /** Seconds to wait for a connection before the request fails. */
  readonly dbPoolAcquisitionTimeout: number
  /** Seconds after which an unused connection is closed. */
  readonly dbPoolMaxIdletime: number
  /** Seconds after which a connection is closed, however busy. */
  readonly dbPoolMaxLifetime: number
}

/** Opens no connection yet. A connection that breaks while idle is dropped and replaced when needed. */
export function createPool(connection: pg.PoolConfig, settings: PoolSettings): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    max: settings.dbPool,
    connectionTimeoutMillis: settings.dbPoolAcquisitionTimeout * 1000,
    idleTimeoutMillis: settings.dbPoolMaxIdletime * 1000,
    maxLifetimeSeconds: settings.dbPoolMaxLifetime,
  })
  const ignore = (): void => undefined
  pool.on('error', ignore)
  // A connection that breaks while it is used fails the query on it; without a listener it would end the process, too.
  pool.on('connect', (client) => client.on('error', ignore))
  return pool
}

/**
 * Lends a connection to `use`. It is closed instead of returned when `use` throws an error for which `broken` answers
 * true.
 *
 * @throws ApiError PGRST000 when no connection can be made, PGRST003 when none becomes free in time
 */
export async function withConnection<T>(
  pool: pg.Pool,
  use: (client: pg.PoolClient) => Promise<T>,
  broken: (error: unknown) => boolean,
): Promise<T> {
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (message === 'timeout exceeded when trying to connect') throw errors.acquisitionTimeout()
    throw errors.connectionFailed(message)
  }
  try {
    const result = await use(client)
    client.release()
    return result
  } catch (error) {
    client.release(broken(error))
    throw error
  }
}
