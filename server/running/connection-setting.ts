// Converts the settings with connection strings to pool configurations. Errors name the setting that was used.
import { ConfigError } from '../config/config-error.ts'
import type { Environment } from '../config/config-sources.ts'
import { settingVariables, type Setting } from '../config/setting.ts'
import { settings } from '../config/settings.ts'
import { ConnectionStringError } from '../postgres/connection/connection-string.ts'
import { connectionConfig, type PoolConfig } from '../postgres/connection/pool-config.ts'
import { replicaConfig } from '../postgres/replicas/connect-replicas.ts'
import type { Serving } from '../postgres/serving-login.ts'

/**
 * Parses the connection string of a setting; see `connectionConfig`.
 *
 * @throws ConfigError; its message never contains a password
 */
export function toPoolConfig(uri: string, env: Environment, session?: 'read-write'): PoolConfig {
  try {
    return connectionConfig(uri, env, session)
  } catch (error) {
    if (!(error instanceof ConnectionStringError)) throw error
    throw new ConfigError([{ source: sourceOf(uri, env), message: error.message }])
  }
}

/** The name under which a connection string was set: an environment variable, or the name in the file. */
function sourceOf(uri: string, env: Environment): string {
  const variables = [
    settings.dbUri,
    settings.migrationDatabaseUrl,
    settings.consoleDatabaseUrl,
    settings.schedulesDatabaseUrl,
  ].flatMap((it: Setting<unknown>) => settingVariables(it))
  return (
    variables.find((name) => env[name] === uri || env[name]?.split(/\s+/).includes(uri)) ??
    // The variable refers to a file with the string.
    variables.find((name) => env[name]?.startsWith('@')) ??
    settings.dbUri.name
  )
}

/**
 * Parses the connection strings of the replicas.
 *
 * @throws ConfigError; its message never contains a password
 */
export function toReplicaConfigs(uris: readonly string[], env: Environment): readonly PoolConfig[] {
  return uris.map((uri) => {
    try {
      return replicaConfig(uri, env)
    } catch (error) {
      if (!(error instanceof ConnectionStringError)) throw error
      const [source = settings.databaseReplicaUrls.name] = settingVariables(settings.databaseReplicaUrls)
      throw new ConfigError([{ source, message: error.message }])
    }
  })
}

/** The connection for serving requests, and the name of its setting. */
export function servingFrom(uri: string | null, env: Environment): Serving {
  const setting = ['PGRST_DB_URI', 'DATABASE_URL'].find((name) => (env[name] ?? '') !== '')
  return {
    connection: uri === null ? undefined : toPoolConfig(uri, env),
    setting: setting ?? (uri === null ? 'DATABASE_URL' : 'db-uri'),
  }
}
