// Where settings come from: the environment, the configuration file and the database.
import type { GivenValue } from './setting.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The sources of a configuration, kept to apply database settings later. */
export type ConfigSources = {
  readonly environment: Environment
  readonly file: { readonly path: string; readonly values: ReadonlyMap<string, GivenValue> } | undefined
  /** By name without `pgrst.`. */
  readonly database: ReadonlyMap<string, string>
  /** Returns the contents of an `@file`, which is read once. */
  readonly readFile: (path: string) => Buffer
}
