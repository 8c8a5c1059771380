import type { Setting } from './setting.ts'

/** A setting that PostgREST does not have, and that takes effect with a restart. */
export const service = <T>(setting: Omit<Setting<T>, 'origin' | 'change'>): Setting<T> => ({
  ...setting,
  origin: 'rowhouse',
  change: 'restart',
})
