// The environment of a server with an embedded database.
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/config-sources.ts'
import { listensOnLoopback } from '../config/loopback.ts'
import type { EmbeddedDatabase } from '../postgres/embedded/embedded.ts'

/** Set for this process and its workers if the database is embedded, which is for development: names of the variables that follow from it. */
export const embeddedVariable = 'ROWHOUSE_EMBEDDED'

/** Whether the database is embedded and the server listens on loopback. */
export const isDevelopment = (config: Config, env: Environment): boolean =>
  env[embeddedVariable] !== undefined && listensOnLoopback(config)

/**
 * The environment with the address of the embedded database, and with its secrets if none are configured. A configured
 * secret for JWTs also signs those of `/auth/v1`; otherwise the keys of the data folder do.
 *
 * @param jwtKeysFile see `ensureJwtKeysFile`
 */
export function withEmbedded(
  env: Environment,
  config: Config,
  { authenticatorUri, adminUri, secrets }: EmbeddedDatabase,
  jwtKeysFile: string,
): Environment {
  const hasKeys = config.jwtSecret !== null || config.authJwtKeys !== null || config.authJwtSecret !== null
  const given = {
    DATABASE_URL: authenticatorUri,
    // For the console, also in workers.
    ...(config.migrationDatabaseUrl === null ? { MIGRATION_DATABASE_URL: adminUri } : {}),
    DOCS_MODE: config.docsMode,
    // The log of changes needs a login with REPLICATION, which the authenticator is not.
    ...(config.realtimeDatabaseUrl === null ? { REALTIME_DATABASE_URL: adminUri } : {}),
    ...(config.jwtSecret === null ? { PGRST_JWT_SECRET: secrets.jwtSecret } : {}),
    ...(hasKeys ? {} : { GOTRUE_JWT_KEYS: `@${jwtKeysFile}` }),
    ...(config.sessionSecrets.length === 0 ? { SESSION_SECRETS: secrets.sessionSecret } : {}),
    // The embedded database is for development, without TLS.
    ...(config.secureCookies === null ? { SECURE_COOKIES: 'false' } : {}),
  }
  return { ...env, ...given, [embeddedVariable]: Object.keys(given).join(',') }
}

/** Whether a variable was set by `withEmbedded`, not by a person. */
export const isOfEmbedded = (variable: string, env: Environment): boolean =>
  env[embeddedVariable]?.split(',').includes(variable) === true
