// Settings: one readonly record, read once and passed as an argument.
// https://docs.postgrest.org/en/v16/references/configuration.html
import type { QualifiedIdentifier } from '../schema-cache/identifier.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'

export type LogLevel = 'crit' | 'error' | 'warn' | 'info' | 'debug'
export type OpenApiMode = 'follow-privileges' | 'ignore-privileges' | 'disabled'

/** PostgREST's settings under their own names, camel-cased: `PGRST_DB_ANON_ROLE`, `db-anon-role` -> `dbAnonRole`. */
export type PostgrestConfig = {
  readonly adminServerHost: string
  readonly adminServerPort: number | null
  readonly adminServerUnixSocket: string | null
  readonly adminServerUnixSocketMode: number
  /** `app.settings.*`: full names and values. */
  readonly appSettings: readonly (readonly [string, string])[]
  readonly clientErrorVerbosity: 'verbose' | 'minimal'
  readonly dbAggregatesEnabled: boolean
  /** Null: requests without credentials are refused. */
  readonly dbAnonRole: string | null
  readonly dbChannel: string
  readonly dbChannelEnabled: boolean
  readonly dbConfig: boolean
  readonly dbExtraSearchPath: readonly string[]
  readonly dbHoistedTxSettings: readonly string[]
  readonly dbMaxRows: number | null
  readonly dbPlanEnabled: boolean
  readonly dbPool: number
  /** Seconds. */
  readonly dbPoolAcquisitionTimeout: number
  readonly dbPoolAutomaticRecovery: boolean
  /** Seconds. */
  readonly dbPoolMaxIdletime: number
  /** Seconds. */
  readonly dbPoolMaxLifetime: number
  readonly dbPreConfig: QualifiedIdentifier | null
  readonly dbPreRequest: QualifiedIdentifier | null
  readonly dbPreparedStatements: boolean
  readonly dbRootSpec: QualifiedIdentifier | null
  /** At least one. */
  readonly dbSchemas: readonly string[]
  readonly dbTxEnd: 'commit' | 'commit-allow-override' | 'rollback' | 'rollback-allow-override'
  /** Null: no database is configured, the embedded one is used. */
  readonly dbUri: string | null
  readonly jwtAud: string | null
  readonly jwtCacheMaxEntries: number
  readonly jwtRoleClaimKey: string
  /** The secret, or a JWK or JWKS as JSON text; decoded when it was base64. */
  readonly jwtSecret: string | Buffer | null
  readonly jwtSecretIsBase64: boolean
  readonly logLevel: LogLevel
  readonly logQuery: boolean
  readonly openapiMode: OpenApiMode
  readonly openapiSecurityActive: boolean
  readonly openapiServerProxyUri: string | null
  readonly serverCorsAllowedOrigins: readonly string[]
  readonly serverHost: string
  readonly serverPort: number
  readonly serverReuseport: boolean
  readonly serverTimingEnabled: boolean
  readonly serverTraceHeader: string | null
  readonly serverUnixSocket: string | null
  readonly serverUnixSocketMode: number
  readonly urlUseLegacyTargetNames: boolean
}

export type DocsMode = 'follow-privileges' | 'ignore-privileges'

/** Settings of this program's own. */
export type ServiceConfig = {
  /** Folder of the embedded database and the development keys. */
  readonly dataDir: string
  /** Migrate when `serve` starts. Always true with the embedded database. */
  readonly migrateOnStart: boolean
  /** Connection for `migrate`; the same as `dbUri` when null. */
  readonly migrationDatabaseUrl: string | null
  /** Connections beside those of `dbPool`. */
  readonly dbPoolReserve: number
  /** Bytes. */
  readonly dbPoolSpillMemory: number
  /** Bytes. */
  readonly dbPoolSpillDisk: number
  /** What `/openapi.json` and `/docs` show: what the caller may use, or everything. */
  readonly docsMode: DocsMode
  /** Mount path of the REST API: `/rest/v1`, or `/` for PostgREST's own paths. */
  readonly restBasePath: string
  /** Bytes. */
  readonly restBodyLimit: number
  /** Bytes of large request bodies of the REST API that the process holds at one time. */
  readonly restBodyBudget: number
  /** Seconds in which a request must have arrived as a whole. */
  readonly serverRequestTimeout: number
  /** Maximum bytes of a request's URL and headers together. */
  readonly requestHeaderLimit: number
  /** Maximum number of request shapes whose plan or rejection is cached; 0 for none. */
  readonly planCacheMaxEntries: number
  /** Bytes; for every other route. */
  readonly bodyLimit: number
  /** Signing secrets of session cookies, the newest first; each at least 32 characters. Empty: none configured. */
  readonly sessionSecrets: readonly string[]
  /** Whether session cookies are marked Secure; null: unless the server listens on loopback. */
  readonly secureCookies: boolean | null
  /** Proxies in front of the server whose entries in `X-Forwarded-For` are believed. */
  readonly trustedProxies: number
  /** Wrong passwords for one account from one network in a quarter of an hour. */
  readonly authAccountLimit: number
  /** Wrong passwords for one account from all networks. */
  readonly authAccountTotalLimit: number
  /** Wrong passwords from one network, and registrations. */
  readonly authAddressLimit: number
  /** Processes that serve. */
  readonly serverWorkers: number
  /** Which brief statements share connections. */
  readonly dbPoolSharing: 'all' | 'reads' | 'none'
  /** Mount path of the image analysis; `/` for the root. */
  readonly imageBasePath: string
  /** Paths of ONNX files; null: none. */
  readonly imageClassifier: string | null
  readonly imageDetector: string | null
  /** Whether images are analysed by models alone, and never by the baseline. */
  readonly imageRequireModel: boolean
  /** Whether callers without credentials may have images analysed. */
  readonly imageAnonymous: boolean
  /** Images that one caller may send in a minute. */
  readonly imageRateLimit: number
  /** Bytes of one image. */
  readonly imageFileLimit: number
  /** Bytes of a body with several images. */
  readonly imageBodyLimit: number
  /** Images in one request. */
  readonly imageBatchLimit: number
  /** Megapixels of one image. */
  readonly imagePixelLimit: number
  /** Images that may wait for their analysis. */
  readonly imageQueueLimit: number
  /** Seconds in which an image is analysed. */
  readonly imageTimeout: number
  /** Bytes of uploads that the process holds at one time. */
  readonly imageBodyBudget: number
  /** WebSocket connections at one time. */
  readonly imageSocketLimit: number
  /** Threads that decode and analyse an image. */
  readonly imageThreads: number
}

export type Config = PostgrestConfig & ServiceConfig

/** Settings of database roles that take part in every transaction of theirs. Read from the database. */
export type RoleSettings = {
  /** Settings to set, by role: [name, value]. */
  readonly settings: ReadonlyMap<string, readonly (readonly [string, string])[]>
  readonly isolationLevels: ReadonlyMap<string, IsolationLevel>
}
