// All settings with their values and origins, without secrets.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/config.ts'
import { readDatabaseSettings } from '../../config/database-settings.ts'
import { loadConfig, settingSource, withDatabaseSettings, type LoadedConfig } from '../../config/load.ts'
import { settingVariables, type Setting, type SettingKey } from '../../config/setting.ts'
import { settingKeys, settings } from '../../config/settings.ts'
import type { Client } from '../../postgres/connection/client.ts'
import { isOfEmbedded } from '../../running/embedded-environment.ts'
import { scrub } from '../../running/operations/log-line.ts'
import type { ServedSettings } from '../../running/serve-tools.ts'
import type { SettingState } from '../../services/console/operation-protocol.ts'

/** @param client connected as the login role */
export async function settingStates(served: ServedSettings, client: Client): Promise<readonly SettingState[]> {
  const { config, env, configFile } = served
  const given = loadConfig({ env, file: configFile })
  const stored = config.dbConfig ? await readStored(client, given.config) : []
  const next = withDatabaseSettings(given, stored)
  const fixed = settingKeys.map((key) => stateOf(key, served, next))
  const own = config.appSettings.map(([name, value]) => appSetting(name, value))
  return [...fixed, ...own]
}

/** The settings of the database, on a connection of their own. */
async function readStored(client: Client, { dbPreConfig }: Config): Promise<readonly (readonly [string, string])[]> {
  await client.query('begin read only')
  try {
    return await readDatabaseSettings(
      async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows,
      dbPreConfig,
    )
  } finally {
    await client.query('rollback')
  }
}

/** Settings whose values are secrets, or contain some that `scrub` does not find. */
const secretName = /secret(?!-is-base64)|smtp-pass$|jwt-keys$|access-key|encryption|test-otp$/

/** Parameters of connection strings, in URLs or as `name=value`. */
const passwordParameter = /\b((?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&"']+)/gi

/** A value without the passwords in URLs and connection strings, API keys and JWTs. */
export const withoutPasswords = (value: string): string => scrub(value).replace(passwordParameter, '$1***')

function stateOf(key: SettingKey, { config, env }: ServedSettings, next: LoadedConfig): SettingState {
  const setting: Setting<unknown> = settings[key]
  const { name, description, change, type } = setting
  const isSecret = secretName.test(name)
  const source = settingSource(next, key) ?? null
  const isSet = !isDeepStrictEqual(config[key], setting.default)
  return {
    name,
    variables: settingVariables(setting),
    description,
    value: isSecret && isSet ? null : withoutPasswords(type.dump(config[key])),
    isSecret,
    isSet,
    origin: originOf(source, env),
    source,
    change,
    isWaiting: !isDeepStrictEqual(config[key], next.config[key]),
  }
}

function originOf(source: string | null, env: ServedSettings['env']): SettingState['origin'] {
  if (source === null) return 'default'
  if (isOfEmbedded(source, env)) return 'embedded'
  if (source.endsWith(' in the database')) return 'database'
  return source.includes(' in ') ? 'file' : 'environment'
}

/** Values for SQL, whose names people choose. */
function appSetting(name: string, value: string): SettingState {
  const isSecret = /secret|key|pass|token|credential|salt/i.test(name)
  return {
    name,
    variables: [],
    description: `A value for SQL: current_setting('${name}').`,
    value: isSecret ? null : withoutPasswords(JSON.stringify(value)),
    isSecret,
    isSet: true,
    origin: 'environment',
    source: null,
    change: 'reload',
    isWaiting: false,
  }
}
