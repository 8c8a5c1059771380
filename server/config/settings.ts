// The table of all settings, from which loading, the dump, the example file and the guides' tables derive.
import { authSettings } from './auth-settings.ts'
import { functionsSettings } from './functions-settings.ts'
import { mcpSettings } from './mcp-settings.ts'
import { postgrestSettings } from './postgrest-settings.ts'
import { realtimeSettings } from './realtime-settings.ts'
import { schedulesSettings } from './schedules-settings.ts'
import { serviceSettings } from './service-settings.ts'
import type { Setting, SettingKey, Settings } from './setting.ts'
import { storageSettings } from './storage-settings.ts'
import { webhooksSettings } from './webhooks-settings.ts'

/** Those that PostgREST does not have. */
export const ownSettings = {
  ...serviceSettings,
  ...authSettings,
  ...storageSettings,
  ...realtimeSettings,
  ...functionsSettings,
  ...webhooksSettings,
  ...schedulesSettings,
  ...mcpSettings,
}

export const settings: Settings = { ...postgrestSettings, ...ownSettings }

export const settingKeys = Object.keys(settings) as SettingKey[]

export const allSettings: readonly Setting<unknown>[] = settingKeys.map((key) => settings[key])

/** Current and former settings of PostgREST that are accepted and ignored, with a warning. */
export const ignoredSettings: readonly { readonly name: string; readonly reason: string }[] = [
  {
    name: 'internal-schema-cache-query-sleep',
    reason: "slows PostgREST's schema cache down for its own tests",
  },
  {
    name: 'internal-schema-cache-query-sleep-before-queries',
    reason: "slows PostgREST's schema cache down for its own tests",
  },
  { name: 'admin-server-config-enabled', reason: 'removed in PostgREST 13' },
  { name: 'jwt-cache-max-lifetime', reason: 'replaced by jwt-cache-max-entries in PostgREST 14' },
  { name: 'db-use-legacy-gucs', reason: 'removed in PostgREST 12' },
  { name: 'raw-media-types', reason: 'removed in PostgREST 12: media types are domains' },
]

/** Variables of PostgREST's Haskell runtime. */
export const ignoredVariables: readonly string[] = ['GHCRTS']
