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

/** Connections of each pool, and those of them that are not to be used again. */
const connections = new WeakMap<pg.Pool, Set<pg.PoolClient>>()
const stale = new WeakSet<pg.PoolClient>()

// Node's timers end there: a longer time would be none at all. To `pg-pool`, no time is for ever.
const longest = 2 ** 31 - 1
const milliseconds = (seconds: number): number => Math.min(Math.max(seconds * 1000, 1), longest)

/** Opens no connection yet. A connection that breaks while idle is dropped and replaced when needed. */
export function createPool(connection: pg.PoolConfig, settings: PoolSettings): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    max: settings.dbPool,
    connectionTimeoutMillis: Math.min(settings.dbPoolAcquisitionTimeout * 1000, longest),
    idleTimeoutMillis: milliseconds(settings.dbPoolMaxIdletime),
    maxLifetimeSeconds: milliseconds(settings.dbPoolMaxLifetime) / 1000,
  })
  const ignore = (): void => undefined
  pool.on('error', ignore)
  // A connection that breaks while it is used fails the query on it; without a listener it would end the process, too.
  pool.on('connect', (client) => client.on('error', ignore))
  const open = new Set<pg.PoolClient>()
  connections.set(pool, open)
  pool.on('connect', (client) => open.add(client))
  pool.on('remove', (client) => open.delete(client))
  return pool
}

/**
 * Lets no later request use a connection that is open now: sessions keep what they have read of the catalogue, and the
 * settings of their role from the time of their login. Those in use are closed when they are given back, the others
 * when one is next asked for.
 */
export function flushPool(pool: pg.Pool): void {
  for (const client of connections.get(pool) ?? []) stale.add(client)
}

/** Whether a connection is not to be used by later requests. */
export const isStaleConnection = (client: pg.PoolClient): boolean => stale.has(client)

/** Whether the last answer of the server says that no transaction is open. */
const isIdle = (client: pg.PoolClient): boolean => client.getTransactionStatus() === 'I'

/** @throws ApiError as `withConnection` */
async function acquire(pool: pg.Pool): Promise<pg.PoolClient> {
  const { connectionTimeoutMillis, max } = pool.options
  // No time to wait.
  if (connectionTimeoutMillis === 0 && pool.idleCount === 0 && pool.totalCount >= max) throw errors.acquisitionTimeout()
  try {
    for (;;) {
      const client = await pool.connect()
      if (!stale.has(client)) return client
      client.release(true)
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (message === 'timeout exceeded when trying to connect') throw errors.acquisitionTimeout()
    throw errors.connectionFailed(message, error)
  }
}

/**
 * Lends a connection to `use`. It is closed instead of returned when `use` throws an error for which `broken` answers
 * true, and when its last answer says that it is inside a transaction.
 *
 * @throws ApiError PGRST000 when no connection can be made, PGRST003 when none becomes free in time
 */
export async function withConnection<T>(
  pool: pg.Pool,
  use: (client: pg.PoolClient) => Promise<T>,
  broken: (error: unknown) => boolean,
): Promise<T> {
  const client = await acquire(pool)
  try {
    const result = await use(client)
    client.release(stale.has(client) || !isIdle(client))
    return result
  } catch (error) {
    client.release(stale.has(client) || !isIdle(client) || broken(error))
    throw error
  }
}
