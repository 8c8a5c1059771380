// What a setting is, and how a given value is read. The table of all of them is in `settings.ts`.
import type { Config } from './config.ts'

/** A value as it was given: text from the environment or the database, any of these from the configuration file. */
export type GivenValue = boolean | number | string | readonly GivenValue[]

export type Reading<T> =
  | { readonly kind: 'value'; readonly value: T }
  /** Given, but empty: the same as not given. */
  | { readonly kind: 'unset' }
  | { readonly kind: 'fault'; readonly message: string }
  /** A value of another type in the configuration file: PostgREST takes the default then. */
  | { readonly kind: 'mistyped' }

export type Kind<T> = {
  /** As the README's table names it. */
  readonly name: string
  readonly read: (given: GivenValue) => Reading<T>
  /** As PostgREST's `--dump-config` writes it. */
  dump(this: void, value: T): string
}

export type Setting<T> = {
  /** Name in the configuration file: `db-pool`. */
  readonly name: string
  readonly kind: Kind<T>
  readonly default: T
  /** Older names, looked at when the name itself has no value. */
  readonly aliases?: readonly string[]
  /** PostgREST asks for one of its settings under the older name first. */
  readonly aliasesFirst?: boolean
  /** PostgREST's settings are `PGRST_DB_POOL` in the environment; ours are named here, and so are our further names. */
  readonly variables?: readonly string[]
  readonly origin: 'postgrest' | 'rowhouse'
  /**
   * When a new value counts: after a restart, after a reload, or after a reload that also reads it from the database.
   * Only the last ones can be set in the database.
   */
  readonly change: 'restart' | 'reload' | 'database'
  readonly description: string
  /** The default in words, where it is not a constant. */
  readonly defaultInWords?: string
  /** Value in the example file, in the file's notation; otherwise the default. */
  readonly example?: string
}

/** Settings that are read one by one. `app.settings.*` is a family of names. */
export type SettingKey = Exclude<keyof Config, 'appSettings'>
export type Settings = { readonly [K in SettingKey]: Setting<Config[K]> }

const variableName = (name: string): string => `PGRST_${name.toUpperCase().replaceAll('-', '_')}`

/** Variables that hold the setting itself, the first of them its main name. Two of them must not differ. */
export function settingVariables({ name, origin, variables = [] }: Setting<unknown>): readonly string[] {
  return origin === 'postgrest' ? [variableName(name), ...variables] : variables
}

/** Variables of the older names, each looked at on its own. */
export const aliasVariable = variableName

/** Name in the database, after `pgrst.`: `db_pool`. */
export const databaseName = (name: string): string => name.replaceAll('-', '_')
