// How the settings of `/auth/v1` are defined.
import type { AuthSettings } from '../services/auth/settings.ts'
import type { Setting, SettingType } from './setting.ts'

export type AuthSettingTable<Key extends keyof AuthSettings> = { readonly [K in Key]: Setting<AuthSettings[K]> }

/**
 * A setting of `/auth/v1`, which takes effect after a reload; of environment and file only, unless `words` says otherwise.
 *
 * @param variable name in the environment. In the configuration file it has dashes and is in lower case
 */
export const authSetting = <T>(
  variable: string,
  type: SettingType<T>,
  byDefault: T,
  words: Pick<Setting<T>, 'description' | 'defaultInWords' | 'example'> & Partial<Pick<Setting<T>, 'change'>>,
): Setting<T> => ({
  name: variable.toLowerCase().replaceAll('_', '-'),
  variables: [variable],
  type,
  default: byDefault,
  origin: 'rowhouse',
  change: 'reload',
  ...words,
})
