// Reloads settings while the server runs: environment and file, overridden by the database.
import { hkdfSync } from 'node:crypto'
import { readDatabaseSettings } from '../config/database-settings.ts'
import { readRoleSettings } from '../rest/role-settings.ts'
import { loadConfig, withDatabaseSettings, type LoadedConfig } from '../config/load.ts'
import { type Environment } from '../config/config-sources.ts'
import { noRoleSettings } from '../rest/settings.ts'
import { UnsupportedPostgres } from '../postgres/connection/server-version.ts'
import { isLoginRefused, isUnreachable } from '../postgres/database-error.ts'
import type { Database } from '../postgres/database.ts'
import { createJwtVerifier, type JwtVerifier } from '../identity/jwt/jwt.ts'
import { derivedSecrets } from '../identity/jwt/key-set.ts'
import type { Config } from '../config/config.ts'
import type { ReadSettings, SettingsSource } from '../rest/schema-loader.ts'
import type { LoadedSettings } from '../rest/snapshot.ts'

/** The settings from environment, file and database, and the JWT verifier for them. */
export type ServiceSettings = LoadedSettings & { readonly config: Config; readonly verifier: JwtVerifier }

/**
 * The secrets of the cursors of pages and of the positions of writes, derived from those of tokens: all processes with the
 * same settings share them. Without secrets of tokens, the secret is derived from the connection string, because both must
 * be valid in all processes.
 */
function cursorSecrets({ dbUri, ...config }: Config): readonly Uint8Array[] {
  const derived = derivedSecrets(config, 'page cursors').map(({ secret }) => secret)
  if (derived.length > 0 || dbUri === null) return derived
  return [new Uint8Array(hkdfSync('sha256', dbUri, '', 'rowhouse positions', 32))]
}

/** Whether the database cannot be used at the moment, or at all. */
export const isUnavailable = (error: unknown): boolean => isUnreachable(error) || error instanceof UnsupportedPostgres

/** Whether retrying to load settings and schema is useless. */
export const isFinal = (error: Error, { config }: ServiceSettings): boolean =>
  isLoginRefused(error) ||
  error instanceof UnsupportedPostgres ||
  (isUnreachable(error) && !config.dbPoolAutomaticRecovery)

export type LiveSettingsOptions = {
  readonly env: Environment
  readonly configFile: string | undefined
  readonly loaded: LoadedConfig
  readonly database: Pick<Database, 'read'>
  /** Receives each warning once. */
  readonly onWarning: (message: string) => void
  readonly createVerifier?: (config: Config, previous?: JwtVerifier) => JwtVerifier
}

/**
 * A source of settings: initially those of environment and file, at each reload those of the database, too.
 *
 * @throws SecretError when the secret is unusable; loading `loaded` has already checked that
 */
export function liveSettings(options: LiveSettingsOptions): SettingsSource<ServiceSettings> {
  const { env, configFile, loaded, database, onWarning, createVerifier = createJwtVerifier } = options
  const knownWarnings = new Set(loaded.warnings)
  const initial: ServiceSettings = {
    config: loaded.config,
    roleSettings: noRoleSettings,
    verifier: createVerifier(loaded.config),
    cursorSecrets: cursorSecrets(loaded.config),
    checksSessions: loaded.config.authSessionsCheckAccessTokens,
  }
  let { roleSettings, verifier } = initial
  let stored: Awaited<ReturnType<typeof readDatabaseSettings>> = []
  const read: ReadSettings<ServiceSettings> = async (onInvalid) => {
    const readOrKeep = async <T>(query: () => Promise<T>, last: T): Promise<T> => {
      try {
        return await query()
      } catch (error) {
        if (isUnavailable(error)) throw error
        onInvalid(error instanceof Error ? error : new Error(String(error)))
        return last
      }
    }
    let current = loadConfig({ env, file: configFile, previous: loaded })
    const { dbConfig, dbPreConfig } = current.config
    // Read separately, so that a failing pre-config function does not affect the settings of roles.
    stored = dbConfig
      ? await readOrKeep(() => database.read((query) => readDatabaseSettings(query, dbPreConfig)), stored)
      : []
    roleSettings = dbConfig ? await readOrKeep(() => database.read(readRoleSettings), roleSettings) : noRoleSettings
    current = withDatabaseSettings(current, stored)
    for (const warning of [...current.warnings, ...roleSettings.warnings]) {
      if (knownWarnings.has(warning)) continue
      knownWarnings.add(warning)
      onWarning(warning)
    }
    verifier = createVerifier(current.config, verifier)
    const { config } = current
    return {
      config,
      roleSettings,
      verifier,
      cursorSecrets: cursorSecrets(config),
      checksSessions: config.authSessionsCheckAccessTokens,
    }
  }
  return { initial, read }
}
