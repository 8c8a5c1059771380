// The dependencies of the commands, passed in so that tests can replace them.
import type { Readable, Writable } from 'node:stream'
import type { Config } from '../../config/config.ts'
import type { DatabaseRole } from '../../config/database-choice.ts'
import type { ApiKey, ApiKeyLimits } from '../../identity/api-key/api-key.ts'
import type { SchemaFile } from '../../validation/schema-directory.ts'
import type { BodyValidator } from '../../rest/validation.ts'
import type { ScratchDatabase } from '../../running/serve-tools.ts'
import type { ProjectStatus } from '../migrations/project-migrations.ts'
import type { WatchOptions } from '../migrations/watch.ts'
import type { Client } from '../../postgres/connection/client.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { ServeOptions } from '../../running/serve.ts'
import type { DatabaseAddress } from './database-address.ts'
import type { Fixture, Laboratory } from '../policy-tests/laboratory.ts'
import type { Users } from '../users/users.ts'
import type { Termination } from '../../running/termination.ts'

export type NewKey = {
  readonly role: string
  readonly userId?: string
  readonly label: string
  readonly expiresAt?: Date
}

/** What `migrate` does with the files of the project. */
export type MigrateOptions = {
  /** Applies the seed, also if it was changed since it was applied. */
  readonly seed?: boolean
  /** Applies files that are older than one that is applied. */
  readonly includeAll?: boolean
}

export type Migrated = {
  /** File names of the server's migrations, then paths of the project's, in the order applied. */
  readonly applied: readonly string[]
  /** What was done, or remains to be done, so that the server can connect. */
  readonly notes: readonly string[]
}

/** Which connection a command needs. */
export type ConnectionWish = {
  /** `owner` for migrations and keys, `authenticator` for the API's own view of the database. */
  readonly role: DatabaseRole
  /** Whether to create an embedded database if no database is configured and none exists. */
  readonly creates: boolean
  /** Whether to start an embedded database that no other process runs, which keeps `serve` from starting. Defaults to true. */
  readonly starts?: boolean
}

/** The number of added rows, and whether an account exists to own classification runs. */
export type SampleCounts = {
  readonly accounts: number
  readonly reports: number
  readonly runs: number
  readonly hasOwner: boolean
}

/** The operations of commands on a database connection. */
export type DatabaseOperations = {
  readonly query: RunClientQuery
  readonly migrate: (options?: MigrateOptions) => Promise<Migrated>
  /** The files that `migrate` would apply. */
  readonly pendingMigrations: (options?: MigrateOptions) => Promise<readonly string[]>
  /** Compares the files of the project with the database. */
  readonly migrationStatus: () => Promise<ProjectStatus>
  /** Records a file of the project as applied, without running it. Returns its path. */
  readonly acceptMigration: (name: string) => Promise<string>
  readonly createApiKey: (wanted: NewKey) => Promise<ApiKey & { readonly key: string }>
  readonly listApiKeys: () => Promise<readonly ApiKey[]>
  /** Returns false for an unknown or already revoked key. */
  readonly revokeApiKey: (id: string) => Promise<boolean>
  /** Replaces the limits of a key, undefined for none; false for an unknown key. */
  readonly setApiKeyLimits: (id: string, limits: ApiKeyLimits | undefined) => Promise<boolean>
  /** Adds missing sample data. The account with that address, or the development user, owns the runs. */
  readonly addSampleData: (email: string | undefined) => Promise<SampleCounts>
  /** Runs a transaction that is rolled back. */
  readonly scratch: ScratchDatabase['scratch']
}

/** What the databases of policy tests are made of, and where. */
export type LaboratoryWish = {
  /** Server for the databases; undefined for the embedded one. */
  readonly dbUrl: string | undefined
  readonly fixture: Fixture
  /** Number of connections, each to its own copy. */
  readonly jobs: number
}

export type Dependencies = {
  readonly version: string
  /** Standard output, for results. */
  readonly print: (text: string) => void
  /** Standard error, for everything else. */
  readonly printError: (text: string) => void
  /** Prints warnings. Throws one error that lists every invalid value. */
  readonly loadConfig: (file: string | undefined) => Config
  /** The configuration, with the settings in the database if `db-config` is on. `dbUri` replaces `db-uri`. */
  readonly withDatabaseSettings: (file: string | undefined, dbUri?: string) => Promise<Config>
  /** Formats the settings, with `json` as a JSON object. */
  readonly dumpConfig: (config: Config, json: boolean) => string
  readonly exampleConfig: (json: boolean) => string
  /** The schema cache as JSON. */
  readonly dumpSchema: (config: Config) => Promise<string>
  readonly serve: (options: ServeOptions) => Promise<void>
  /** Runs `use` with a connection. Throws CommandError when no database is configured. */
  readonly withDatabase: <T>(
    config: Config,
    wish: ConnectionWish,
    use: (session: DatabaseOperations) => Promise<T>,
  ) => Promise<T>
  /** Runs `use` with the accounts of the database, as the role that serves requests. */
  readonly withUsers: <T>(config: Config, use: (users: Users) => Promise<T>) => Promise<T>
  /** Like `withDatabase`, for programs that connect themselves, or several times. */
  readonly withAddress: <T>(
    config: Config,
    wish: ConnectionWish,
    use: (address: DatabaseAddress) => Promise<T>,
  ) => Promise<T>
  /** Connects to an address, and closes the connection afterwards. */
  readonly connectTo: <T>(address: DatabaseAddress, use: (client: Client) => Promise<T>) => Promise<T>
  /** Sets up databases for policy tests, and removes them after `use`. */
  readonly withLaboratory: <T>(
    config: Config,
    wish: LaboratoryWish,
    use: (laboratory: Laboratory) => Promise<T>,
  ) => Promise<T>
  /** Creates a folder and its parents, if they are missing. */
  readonly makeFolder: (path: string) => Promise<void>
  /** Whether a database is available: a configured one, or an embedded one. */
  readonly hasDatabase: (config: Config) => Promise<boolean>
  /** All migrations, those of the server and those of the project, in order. */
  readonly allMigrations: (config: Config) => Promise<readonly string[]>
  /** Applies files of the project whenever they are saved, until the signal. */
  readonly watchMigrations: (config: Config, options: WatchOptions) => Promise<void>
  /** The status of the response to a GET request. */
  readonly fetchStatus: (address: Address) => Promise<number>
  /** The JSON Schemas of the configured services. */
  readonly tableSchemas: (config: Config) => Promise<readonly SchemaFile[]>
  /** Standard output, for results that are not text, or too long for `print`. */
  readonly output: Writable
  /** Standard error, like `printError`. */
  readonly errors: Writable
  /** Calls the listener at SIGINT, instead of ending the process. Returns what restores the former behaviour. */
  readonly onInterrupt: (listener: () => void) => () => void
  /** Standard input, and whether it is a terminal. */
  readonly input: Readable & { readonly isTTY?: boolean }
  /** Environment variables of this process. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Validates bodies like the configured services. */
  readonly bodyValidator: (config: Config) => Promise<BodyValidator>
  /** Handles the signals that end the process, instead of an immediate end. */
  readonly watchTermination: () => Pick<Termination, 'signal' | 'dispose'>
}

export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly path: string }
  | { readonly kind: 'socket'; readonly socket: string; readonly path: string }
