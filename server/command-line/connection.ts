// Connections for commands: to the database that is configured, or to the embedded one.
import type pg from 'pg'
import type { Config } from '../config/config.ts'
import { chooseDatabase, type DatabaseRole } from '../config/database-choice.ts'
import type { Environment } from '../config/load.ts'
import { toPoolConfig } from '../config/pool-config.ts'
import { withClient } from '../database/client.ts'
import { useEmbedded } from '../database/embedded.ts'
import { requireSupportedVersion } from '../database/server-version.ts'

type Target = Pick<Config, 'dataDir' | 'dbUri' | 'migrationDatabaseUrl'>

/**
 * Lends a connection. The embedded database is started for it when no server has it running, and stopped afterwards.
 *
 * @param env for what a connection string leaves out (`PGHOST`, …)
 * @param log gets what the embedded database has to say
 * @throws ConfigError, UnsupportedPostgres, the error of connecting
 */
export async function withConnection<T>(
  config: Target,
  env: Environment,
  role: DatabaseRole,
  log: (message: string) => void,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const database = chooseDatabase(config, role)
  if (database.kind === 'named') return connect(database.uri, env, use)
  const embedded = await useEmbedded({ dataDir: database.dataDir, log })
  try {
    return await connect(role === 'owner' ? embedded.adminUri : embedded.authenticatorUri, {}, use)
  } finally {
    await embedded.stop()
  }
}

const connect = <T>(uri: string, env: Environment, use: (client: pg.Client) => Promise<T>): Promise<T> =>
  withClient(toPoolConfig(uri, env), async (client) => {
    await requireSupportedVersion(async (text) => (await client.query<Record<string, unknown>>(text)).rows)
    return use(client)
  })
