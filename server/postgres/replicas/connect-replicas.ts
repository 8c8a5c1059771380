// Replicas by their connection strings.
import { connectionConfig, type Environment, type PoolConfig } from '../connection/pool-config.ts'
import { Database } from '../database.ts'
import { createPool, type Observe } from '../pool.ts'
import type { PoolSettings } from '../pool-settings.ts'
import { Probe } from './probe.ts'
import type { ReplicatedOptions } from './replicated-database.ts'

/** Defaults of the settings of replicas. */
export const defaultReplicaSettings = {
  /** Seconds. */
  maxLag: 10,
  /** Milliseconds. */
  wait: 100,
} as const

/**
 * Parses the connection string of a replica.
 *
 * @throws ConnectionStringError; its message never contains a password
 */
export const replicaConfig = (uri: string, env: Environment): PoolConfig =>
  // That variable is about the primary. The connection string may have the option itself.
  connectionConfig(uri, { ...env, PGTARGETSESSIONATTRS: undefined })

/** A replica with a pool of its own, which connects when it is needed. */
export const replicaOf = (
  config: PoolConfig,
  settings: PoolSettings,
  observe?: Observe,
): ReplicatedOptions['replicas'][number] => ({
  name: config.plan.targets.map(({ host, port }) => `${host}:${port}`).join(','),
  open: () => new Database(createPool(config, settings, observe)),
  checker: new Probe(config),
})
