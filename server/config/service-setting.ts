import type { Setting, SettingType } from './setting.ts'

/** A setting that PostgREST does not have, and that takes effect with a restart. */
export const service = <T>(setting: Omit<Setting<T>, 'origin' | 'change'>): Setting<T> => ({
  ...setting,
  origin: 'rowhouse',
  change: 'restart',
})

/**
 * A setting of one of Supabase's services, which takes effect after a reload; of environment and file only, unless `words`
 * says otherwise.
 *
 * @param variable name in the environment. In the configuration file it has dashes and is in lower case
 */
export const supabaseSetting = <T>(
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
