// The definition of a setting. The table of all settings is in `settings.ts`.
import type { AuthSettingFamilies } from '../services/auth/settings.ts'
import type { Config } from './config.ts'

/** A raw value: a string from the environment or the database, any of these types from the configuration file. */
export type GivenValue = boolean | number | string | readonly GivenValue[]

export type Reading<T> =
  | { readonly kind: 'value'; readonly value: T }
  /** Set to an empty value, which is the same as not set. */
  | { readonly kind: 'unset' }
  | { readonly kind: 'invalid'; readonly message: string }
  /** A value of another type in the configuration file, for which PostgREST uses the default. */
  | { readonly kind: 'mistyped' }

export type SettingType<T> = {
  /** Name of the type in messages. */
  readonly name: string
  readonly read: (given: GivenValue) => Reading<T>
  /** Reads the contents of a file. With it, the value may be `@` and the path of the file. */
  readonly readContents?: (contents: Buffer) => Reading<T>
  /** Formats a value as PostgREST's `--dump-config` does. */
  dump(this: void, value: T): string
}

export type Setting<T> = {
  /** Name in the configuration file: `db-pool`. */
  readonly name: string
  readonly type: SettingType<T>
  readonly default: T
  /** Older names, used when the name itself has no value. */
  readonly aliases?: readonly string[]
  /** Whether older names take precedence, as for one of PostgREST's settings. */
  readonly aliasesFirst?: boolean
  /** Environment variables, in addition to `PGRST_DB_POOL` and the like for PostgREST's settings. */
  readonly variables?: readonly string[]
  readonly origin: 'postgrest' | 'rowhouse'
  /**
   * When a new value takes effect: after a restart, after a reload, or after a reload that also reads the database. Only
   * settings of the last kind can be set in the database.
   */
  readonly change: 'restart' | 'reload' | 'database'
  readonly description: string
  /** The default in words, if it is not a constant. */
  readonly defaultInWords?: string
  /** Value for the example file, in the file's notation. Defaults to `default`. */
  readonly example?: string
}

/** All settings except those whose names are not fixed: `app.settings.*`, and those of providers, hooks and mails. */
export type SettingKey = Exclude<keyof Config, 'appSettings' | keyof AuthSettingFamilies>
export type Settings = { readonly [K in SettingKey]: Setting<Config[K]> }

const variableName = (name: string): string => `PGRST_${name.toUpperCase().replaceAll('-', '_')}`

/** Environment variables of a setting, the main one first. They must not have different values. */
export function settingVariables({ name, origin, variables = [] }: Setting<unknown>): readonly string[] {
  return origin === 'postgrest' ? [variableName(name), ...variables] : variables
}

/** The environment variable of an older name. */
export const aliasVariable = variableName

/** Name in the database, after `pgrst.`: `db_pool`. */
export const databaseName = (name: string): string => name.replaceAll('-', '_')
