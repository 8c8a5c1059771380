// Connections for commands: to the configured database, or to the embedded one.
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PipelineClient } from '../../postgres/protocol/pipeline-client.ts'
import type { Config } from '../../config/config.ts'
import { chooseDatabase } from '../../config/database-choice.ts'
import type { Environment } from '../../config/config-sources.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import { withClient } from '../../postgres/connection/client.ts'
import { requireSupportedVersion } from '../../postgres/connection/server-version.ts'
import { CommandError } from './command-error.ts'
import type { ConnectionWish } from './dependencies.ts'
import type { DatabaseAddress } from './database-address.ts'

type Target = Pick<Config, 'dataDir' | 'dbUri' | 'migrationDatabaseUrl'>

const howTo = {
  authenticator:
    'Set DATABASE_URL (or PGRST_DB_URI) to a connection string of the role that serves requests, such as ' +
    'postgres://authenticator:…@localhost/postgres',
  owner:
    'Set MIGRATION_DATABASE_URL to a connection string of the role that owns the schema, such as ' +
    'postgres://postgres:…@localhost/postgres',
} as const

/** Whether the data folder contains an embedded database. */
export async function hasEmbedded(dataDir: string): Promise<boolean> {
  const folder = resolve(dataDir)
  const exists = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!exists) return false
  const { findCluster } = await import('../../postgres/embedded/cluster.ts')
  return (await findCluster(folder)) !== null
}

/**
 * Runs `use` with a connection. Starts the embedded database if it is not running, and stops it afterwards.
 *
 * @param env variables for options that are missing in a connection string (`PGHOST`, …)
 * @param wish which role, and whether an embedded database may be created
 * @param log called with messages of the embedded database
 * @throws ConfigError or CommandError when no database is configured; UnsupportedPostgres; the connection error
 */
export const withConnection = <T>(
  config: Target,
  env: Environment,
  wish: ConnectionWish,
  log: (message: string) => void,
  use: (client: PipelineClient) => Promise<T>,
): Promise<T> => withAddress(config, env, wish, log, (address) => connectTo(address, use))

/** Like `withConnection`, for programs that connect themselves, or several times. */
export async function withAddress<T>(
  config: Target,
  env: Environment,
  { role, creates, starts = true }: ConnectionWish,
  log: (message: string) => void,
  use: (address: DatabaseAddress) => Promise<T>,
): Promise<T> {
  const database = chooseDatabase(config, role)
  if (database.kind === 'named') return use({ uri: database.uri, env, isEmbedded: false })
  if (!creates && !(await hasEmbedded(config.dataDir))) {
    throw new CommandError(
      `No database is configured, and there is no embedded database in ${config.dataDir}. ${howTo[role]}, ` +
        'or create the embedded database with `rowhouse migrate` or `rowhouse serve`.',
    )
  }
  const { findRunning, useEmbedded } = await import('../../postgres/embedded/embedded.ts')
  const embedded = starts ? await useEmbedded({ dataDir: database.dataDir, log }) : await findRunning(database.dataDir)
  if (!embedded) throw new CommandError('The embedded database is not running. Start it with `rowhouse serve`.')
  try {
    return await use({
      uri: role === 'owner' ? embedded.adminUri : embedded.authenticatorUri,
      env: {},
      isEmbedded: true,
    })
  } finally {
    await embedded.stop()
  }
}

/**
 * Connects, and closes the connection afterwards.
 *
 * @throws ConfigError, UnsupportedPostgres, or the connection error
 */
export const connectTo = <T>({ uri, env }: DatabaseAddress, use: (client: PipelineClient) => Promise<T>): Promise<T> =>
  withClient(toPoolConfig(uri, env), async (client) => {
    await requireSupportedVersion(async (text) => (await client.query<Record<string, unknown>>(text)).rows)
    return use(client)
  })
