// A database for the engine, with its own connection pool.
import type { EngineDatabase } from '../rest/database.ts'
import { connectionConfig } from './connection/pool-config.ts'
import { Database } from './database.ts'
import { createPool } from './pool.ts'
import { defaultPoolSettings, type PoolSettings } from './pool-settings.ts'
import { defaultReplicaSettings, replicaConfig, replicaOf } from './replicas/connect-replicas.ts'
import { Probe } from './replicas/probe.ts'
import type { ReplicaEvent } from './replicas/replica.ts'
import { ReplicatedDatabase } from './replicas/replicated-database.ts'

export type ConnectOptions = Partial<PoolSettings> & {
  /** Environment variables. As in libpq, `PG…` variables supply what the connection string leaves out. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /**
   * Connection strings of hot standbys of the same cluster, each with a pool of its own. Reads without effects run on
   * them; everything else, and reads that fail there, on the primary.
   */
  readonly replicas?: readonly string[]
  /** Seconds that a replica may lag behind to be used; by default 10. */
  readonly replicaMaxLag?: number
  /** Milliseconds that a read waits for a replica to replay its client's last write; by default 100. */
  readonly replicaWait?: number
  /** Called when a replica becomes usable, and when it no longer is. Must not throw. */
  readonly onReplica?: (event: ReplicaEvent) => void
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
 * @throws ConnectionStringError when a connection string cannot be parsed; its message never contains a password
 */
export function connect(url: string, options: ConnectOptions = {}): ConnectedDatabase {
  const { env = process.env, replicas = [], replicaMaxLag, replicaWait, onReplica, ...given } = options
  const settings = { ...defaultPoolSettings, ...given }
  const primary = connectionConfig(url, env, 'read-write')
  const configs = replicas.map((replica) => replicaConfig(replica, env))
  const database = new Database(createPool(connectionConfig(url, env), settings), { primary })
  if (configs.length === 0) return database
  const replicated = new ReplicatedDatabase(database, {
    checker: new Probe(primary),
    replicas: configs.map((config) => replicaOf(config, settings)),
    maxLag: replicaMaxLag ?? defaultReplicaSettings.maxLag,
    wait: replicaWait ?? defaultReplicaSettings.wait,
    ...(onReplica ? { onChange: onReplica } : {}),
  })
  const close = replicated.close.bind(replicated)
  return Object.assign(replicated, {
    close: async () => {
      await close()
      await database.close()
    },
  })
}
