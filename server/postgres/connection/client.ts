// A connection for one task, outside the pool.
import type pg from 'pg'
import type { PoolConfig } from './pool-config.ts'

/** A connection. */
export type Client = pg.Client

/** Connects, lends the connection to `use`, and closes it whatever happens. */
export async function withClient<T>(
  connection: PoolConfig,
  use: (client: InstanceType<PoolConfig['Client']>) => Promise<T>,
): Promise<T> {
  const client = new connection.Client(connection)
  // Without a listener, a connection that is lost would end the process; the running query fails anyway.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
