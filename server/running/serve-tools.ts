// What a server does for people: the command line passes it to `serve`, and loads each part when it is needed.
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/config-sources.ts'
import type { EmbeddedDatabase } from '../postgres/embedded/embedded.ts'
import type { ScratchTransaction } from '../postgres/scratch-transaction.ts'
import type { RestTransaction } from '../rest/database.ts'
import type { LimitsOptions } from '../rest/extensions/limits/extension.ts'
import type { Identify, RestObservation } from '../rest/handler.ts'
import type { Answering } from '../rest/rest-request.ts'
import type { Snapshot } from '../rest/snapshot.ts'
import type { BodyValidator } from '../rest/validation.ts'
import type { ConsoleTools } from '../services/console/console-tools.ts'
import type { Log } from './operations/log.ts'

/** The database that is served. */
export type ServedDatabase = {
  readonly config: Config
  readonly env: Environment
  /** Connection string of the role that owns the schemas. */
  readonly owner: string
  /** Undefined for a database of one's own. */
  readonly embedded: EmbeddedDatabase | undefined
  readonly log: Log
}

export type Greeting = {
  /** Address of the server. */
  readonly url: string
  /** Whether standard output is a terminal; otherwise, the output is JSON. */
  readonly isForPeople: boolean
  /** Whether sample data is added at the start. */
  readonly hasSample: boolean
}

/** A database on which transactions are rolled back: see `Database.scratch`. */
export type ScratchDatabase = {
  readonly scratch: <T>(
    transaction: Pick<RestTransaction, 'caller' | 'isolation'>,
    use: (transaction: ScratchTransaction) => Promise<T>,
  ) => Promise<T>
}

/** What explains requests instead of the engine. */
export type ExplainingOptions = {
  readonly database: ScratchDatabase
  readonly snapshot: () => Snapshot
  readonly validator: BodyValidator
  readonly identify: Identify
  /** How requests per second are counted, as those that take effect. */
  readonly counting: LimitsOptions['counting']
  /** Roles that may have requests explained; none: explaining is off. */
  readonly roles: () => readonly string[]
  /** Called once for each explained request, before its response is sent. */
  readonly onRequest: (observation: RestObservation) => void
}

/** The settings that are served, for tools that look at them. */
export type ServedSettings = {
  /** The current ones. */
  readonly config: Config
  readonly env: Environment
  readonly configFile: string | undefined
  /** Connection string of the login role. */
  readonly uri: string
}

/** The database and the settings that the console works with. */
export type ConsoleToolsOptions = Omit<ServedSettings, 'config'> & {
  /** The current settings. */
  readonly config: () => Config
  /** Whether the console may do what only development allows. */
  readonly isDevelopment: boolean
  /** Connection string of the role that owns the schemas, during development; otherwise null. */
  readonly ownerUri: string | null
  readonly database: ScratchDatabase
  readonly snapshot: () => Snapshot
  readonly validator: BodyValidator
}

export type ServeTools = {
  /** Applies pending migrations of the server and of the project. */
  readonly migrate: (database: ServedDatabase) => Promise<void>
  /** Says which files of the project are not applied. Never rejects. */
  readonly warnOfPending: (database: ServedDatabase) => Promise<void>
  /** Applies the project's migrations whenever they are saved, until the signal. Never rejects. */
  readonly watchMigrations: (database: ServedDatabase, signal: AbortSignal) => Promise<void>
  /** Adds the sample data to a database without reports and classification runs. */
  readonly addSampleData: (database: ServedDatabase) => Promise<void>
  /** Creates the development keys unless they exist, and prints them and the addresses of the server. */
  readonly greet: (database: ServedDatabase, greeting: Greeting) => Promise<void>
  /** Creates what answers the requests that ask for an explanation. */
  readonly explain: (options: ExplainingOptions) => Promise<Answering>
  /** Creates what answers requests and undoes them. */
  readonly preview: (options: Omit<ExplainingOptions, 'roles'>) => Promise<Answering>
  /** What the console shows of the command line. */
  readonly console: (options: ConsoleToolsOptions) => Promise<ConsoleTools>
}
