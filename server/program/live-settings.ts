// Reloads settings while the server runs: environment and file, overridden by the database.
import { readDatabaseSettings } from '../config/database-settings.ts'
import { readRoleSettings } from '../rest/role-settings.ts'
import { loadConfig, withDatabaseSettings, type Environment, type LoadedConfig } from '../config/load.ts'
import type { RoleSettings } from '../rest/settings.ts'
import { isUnreachable } from '../postgres/database-error.ts'
import type { ConnectionPool } from '../postgres/pool.ts'
import { createJwtVerifier, type JwtVerifier } from '../identity/jwt/jwt.ts'
import { readOnly, type ReadSettings, type Settings } from './runtime.ts'

export type LiveSettings = {
  /** Settings of environment and file, used until the database has been read. */
  readonly initial: Settings
  readonly read: ReadSettings
}

export type LiveSettingsOptions = {
  readonly env: Environment
  readonly configFile: string | undefined
  readonly loaded: LoadedConfig
  readonly pool: ConnectionPool
  /** Called once with each warning. */
  readonly onWarning: (message: string) => void
  readonly createVerifier?: (settings: Settings['config'], previous?: JwtVerifier) => JwtVerifier
}

const noRoleSettings: RoleSettings = { settings: new Map(), isolationLevels: new Map() }

/** @throws SecretError when the secret cannot be used, which loading has already ruled out */
export function liveSettings(options: LiveSettingsOptions): LiveSettings {
  const { env, configFile, loaded, pool, onWarning, createVerifier = createJwtVerifier } = options
  const knownWarnings = new Set(loaded.warnings)
  const initial: Settings = {
    config: loaded.config,
    roleSettings: noRoleSettings,
    verifier: createVerifier(loaded.config),
  }
  let { roleSettings, verifier } = initial
  let stored: Awaited<ReturnType<typeof readDatabaseSettings>> = []
  const read: ReadSettings = async (onFault) => {
    const readOrKeep = async <T>(query: () => Promise<T>, last: T): Promise<T> => {
      try {
        return await query()
      } catch (error) {
        if (isUnreachable(error)) throw error
        onFault(error instanceof Error ? error : new Error(String(error)))
        return last
      }
    }
    let current = loadConfig({ env, file: configFile, previous: loaded })
    const { dbConfig, dbPreConfig } = current.config
    // Read separately, so that a failing pre-config function does not affect the settings of roles.
    stored = dbConfig
      ? await readOrKeep(() => readOnly(pool, (query) => readDatabaseSettings(query, dbPreConfig)), stored)
      : []
    roleSettings = dbConfig ? await readOrKeep(() => readOnly(pool, readRoleSettings), roleSettings) : noRoleSettings
    current = withDatabaseSettings(current, stored)
    for (const warning of current.warnings) {
      if (knownWarnings.has(warning)) continue
      knownWarnings.add(warning)
      onWarning(warning)
    }
    verifier = createVerifier(current.config, verifier)
    return { config: current.config, roleSettings, verifier }
  }
  return { initial, read }
}
