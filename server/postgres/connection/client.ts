// Connections for single tasks, outside the pool.
import type { Socket } from 'node:net'
import type pg from 'pg'
import type { PoolConfig } from './pool-config.ts'

/** A connection. */
export type Client = pg.Client

/** The socket of an open connection. `pg` does not declare it. */
export const connectionSocket = (client: Client): Socket =>
  (client as Client & { readonly connection: { readonly stream: Socket } }).connection.stream

/** Connects, runs `use` with the connection, and always closes it. */
export async function withClient<T>(
  connection: PoolConfig,
  use: (client: InstanceType<PoolConfig['Client']>) => Promise<T>,
): Promise<T> {
  const client = new connection.Client(connection)
  // Without a listener, a lost connection would end the process. The running query fails anyway.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
