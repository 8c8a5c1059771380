// Connections for commands: to the database that is configured, or to the embedded one.
import type pg from 'pg'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/load.ts'
import { toPoolConfig } from '../config/pool-config.ts'
import { withClient } from '../database/client.ts'
import { useEmbedded } from '../database/embedded.ts'

type Target = Pick<Config, 'dataDir' | 'dbUri' | 'migrationDatabaseUrl'>

/**
 * Lends a connection. The embedded database is started for it when no server has it running, and stopped afterwards.
 *
 * @param env for what a connection string leaves out (`PGHOST`, …)
 * @param role `owner` for migrations and keys, `authenticator` for what the API itself could see
 * @param log gets what the embedded database has to say
 */
export async function withConnection<T>(
  config: Target,
  env: Environment,
  role: 'owner' | 'authenticator',
  log: (message: string) => void,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  if (config.dbUri !== null) {
    const owner = config.migrationDatabaseUrl ?? config.dbUri
    return connect(role === 'owner' ? owner : config.dbUri, env, use)
  }
  const embedded = await useEmbedded({ dataDir: config.dataDir, log })
  try {
    return await connect(role === 'owner' ? embedded.adminUri : embedded.authenticatorUri, {}, use)
  } finally {
    await embedded.stop()
  }
}

const connect = <T>(uri: string, env: Environment, use: (client: pg.Client) => Promise<T>): Promise<T> =>
  withClient(toPoolConfig(uri, env), use)
