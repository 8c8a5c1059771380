// A database as the engine uses it, on a pool of its own.
import type { ChannelEvent, EngineDatabase } from '../rest/database.ts'
import { connectionConfig } from './connection/pool-config.ts'
import { requireSupportedVersion } from './connection/server-version.ts'
import { withReservedConnection } from './lending.ts'
import { Listener, type ListenerEvent } from './listener.ts'
import { createPool, flushPool } from './pool.ts'
import { defaultPoolSettings, type PoolSettings } from './pool-settings.ts'
import { databaseOn } from './request-transaction.ts'

export type ConnectOptions = Partial<PoolSettings> & {
  /** Variables of the environment; what the connection string leaves out comes from its `PG…` variables, as with libpq. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A database that is connected when it is first used. */
export type ConnectedDatabase = EngineDatabase & {
  /** Closes all connections, once what runs on them is done. */
  close(): Promise<void>
}

type Row = Record<string, unknown>

/**
 * Gives a database with a pool of connections, which are opened when they are needed.
 *
 * @param url connection string: a URI, or pairs of keyword and value
 * @throws ConnectionStringError when it cannot be read; its message never contains a password
 */
export function connect(url: string, options: ConnectOptions = {}): ConnectedDatabase {
  const { env = process.env, ...settings } = options
  const pool = createPool(connectionConfig(url, env), { ...defaultPoolSettings, ...settings })
  const database = databaseOn(pool)
  return {
    run: (transaction, options) => database.run(transaction, options),
    read: (use) =>
      withReservedConnection(
        pool,
        async (client) => {
          const query = async (text: string, values?: unknown[]): Promise<Row[]> =>
            (await client.query<Row>(text, values)).rows
          await requireSupportedVersion(query)
          await client.query('begin isolation level repeatable read read only')
          try {
            return await use(query)
          } finally {
            // Where it fails, the connection is lost, and the first error is the one to report.
            await client.query('rollback').catch(() => undefined)
          }
        },
        () => true,
      ),
    listen: async (channel, onEvent) => {
      const listener = new Listener(connectionConfig(url, env, 'read-write'), channel, (event) =>
        onEvent(channelEvent(event)),
      )
      await listener.start()
      return () => listener.stop()
    },
    renewConnections: () => flushPool(pool),
    close: async () => {
      await pool.shared.end()
      await pool.end()
    },
  }
}

function channelEvent(event: ListenerEvent): ChannelEvent {
  switch (event.kind) {
    case 'listening':
      return { kind: 'listening' }
    case 'lost':
      return { kind: 'lost', error: event.error, retrySeconds: event.retrySeconds }
    case 'notified':
      return { kind: 'notified', payload: event.payload }
    default:
      return event satisfies never
  }
}
