// Settings: one readonly record, read once and passed as an argument.
// https://docs.postgrest.org/en/v16/references/configuration.html
import type { JwtSettings } from '../identity/jwt/jwt.ts'
import type { EngineSettings, PostgrestSettings } from '../rest/settings.ts'
import type { QualifiedIdentifier } from '../schema-cache/identifier.ts'
import type { AnalysisSettings } from '../services/analysis/settings.ts'

export type LogLevel = 'crit' | 'error' | 'warn' | 'info' | 'debug'

/** PostgREST's settings under their own names, camel-cased: `PGRST_DB_ANON_ROLE`, `db-anon-role` -> `dbAnonRole`. */
export type PostgrestConfig = PostgrestSettings &
  JwtSettings & {
    readonly adminServerHost: string
    readonly adminServerPort: number | null
    readonly adminServerUnixSocket: string | null
    readonly adminServerUnixSocketMode: number
    readonly dbChannel: string
    readonly dbChannelEnabled: boolean
    readonly dbConfig: boolean
    readonly dbHoistedTxSettings: readonly string[]
    readonly dbPool: number
    readonly dbPoolAutomaticRecovery: boolean
    /** Seconds. */
    readonly dbPoolMaxIdletime: number
    /** Seconds. */
    readonly dbPoolMaxLifetime: number
    readonly dbPreConfig: QualifiedIdentifier | null
    /** Null: no database is configured, the embedded one is used. */
    readonly dbUri: string | null
    readonly logLevel: LogLevel
    readonly serverReuseport: boolean
    readonly serverUnixSocket: string | null
    readonly serverUnixSocketMode: number
  }

export type DocsMode = 'follow-privileges' | 'ignore-privileges'

/** Settings of this program's own. */
export type ServiceConfig = EngineSettings &
  AnalysisSettings & {
    /** Mount path of the REST API: `/rest/v1`, or `/` for PostgREST's own paths. */
    readonly restBasePath: string
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
    /** Seconds in which a request must have arrived as a whole. */
    readonly serverRequestTimeout: number
    /** Maximum bytes of a request's URL and headers together. */
    readonly requestHeaderLimit: number
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
  }

export type Config = PostgrestConfig & ServiceConfig
