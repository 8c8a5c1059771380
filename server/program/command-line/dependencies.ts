// What the commands need from the other rooms, handed in so that each command can be run without them.
import type { Config } from '../../config/config.ts'
import type { DatabaseRole } from '../../config/database-choice.ts'
import type { ApiKey } from '../../identity/api-key/api-key.ts'
import type { Query } from '../operations/exposure.ts'

export type ServeOptions = {
  readonly configFile?: string
  readonly json?: boolean
  /** Adds the sample data to a database without reports and classification runs. */
  readonly sample?: boolean
}

export type NewKey = {
  readonly role: string
  readonly userId?: string
  readonly label: string
  readonly expiresAt?: Date
}

export type Migrated = {
  /** File names, in the order applied. */
  readonly applied: readonly string[]
  /** What was done, or is left to do, so that the server can connect. */
  readonly notes: readonly string[]
}

/** Which connection a command needs. */
export type ConnectionWish = {
  /** `owner` for migrations and keys, `authenticator` for what the API itself can see. */
  readonly role: DatabaseRole
  /** Whether an embedded database is created when no setting names a database and there is none yet. */
  readonly creates: boolean
}

/** Rows that were added, and whether there is an account to own classification runs. */
export type SampleCounts = {
  readonly accounts: number
  readonly reports: number
  readonly runs: number
  readonly hasOwner: boolean
}

/** What the commands do with a connection to the database. */
export type Session = {
  readonly query: Query
  readonly migrate: () => Promise<Migrated>
  readonly pendingMigrations: () => Promise<readonly string[]>
  readonly createApiKey: (wanted: NewKey) => Promise<ApiKey & { readonly key: string }>
  readonly listApiKeys: () => Promise<readonly ApiKey[]>
  /** False: no such key, or revoked before. */
  readonly revokeApiKey: (id: string) => Promise<boolean>
  /** Adds what is missing of the sample data; the account of that address, or the development user, gets the runs. */
  readonly addSampleData: (email: string | undefined) => Promise<SampleCounts>
}

export type Dependencies = {
  readonly version: string
  /** Standard output, for results. */
  readonly print: (text: string) => void
  /** Standard error, for everything else. */
  readonly printError: (text: string) => void
  /** Prints the warnings. Throws one error that names every bad value. */
  readonly loadConfig: (file: string | undefined) => Config
  /** The configuration with the settings that the database holds, where it is asked for them. */
  readonly withDatabaseSettings: (file: string | undefined) => Promise<Config>
  /** With `json`, as a JSON object. */
  readonly dumpConfig: (config: Config, json: boolean) => string
  readonly exampleConfig: (json: boolean) => string
  /** The schema cache as JSON. */
  readonly dumpSchema: (config: Config) => Promise<string>
  readonly serve: (options: ServeOptions) => Promise<void>
  /** Lends a connection. Throws CommandError when no setting names the database. */
  readonly withDatabase: <T>(config: Config, wish: ConnectionWish, use: (session: Session) => Promise<T>) => Promise<T>
  /** Whether some database is there to be asked: one that a setting names, or an embedded one. */
  readonly hasDatabase: (config: Config) => Promise<boolean>
  /** File names of all migrations, in order. */
  readonly allMigrations: () => Promise<readonly string[]>
  /** Status of the answer to a GET. */
  readonly fetchStatus: (address: Address) => Promise<number>
}

export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly path: string }
  | { readonly kind: 'socket'; readonly socket: string; readonly path: string }
