// The table of all settings. Reading, dumping, the example file and the README's table follow from it.
import { postgrestSettings } from './postgrest-settings.ts'
import { serviceSettings } from './service-settings.ts'
import type { Setting, SettingKey, Settings } from './setting.ts'

export const settings: Settings = { ...postgrestSettings, ...serviceSettings }

export const settingKeys = Object.keys(settings) as SettingKey[]

export const allSettings: readonly Setting<unknown>[] = settingKeys.map((key) => settings[key])

/** Names that PostgREST knows or knew, accepted here and said to be without effect. */
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

/** Of the Haskell runtime that PostgREST is built with. */
export const ignoredVariables: readonly string[] = ['GHCRTS']
