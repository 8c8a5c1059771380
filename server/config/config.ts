// Settings: one readonly record, read once and passed as an argument.
// https://docs.postgrest.org/en/stable/references/configuration.html
import type { JwtSettings } from '../identity/jwt/jwt.ts'
import type { EngineSettings, PostgrestSettings } from '../rest/settings.ts'
import type { QualifiedIdentifier } from '../catalogue/identifier.ts'
import type { AnalysisSettings } from '../services/analysis/settings.ts'
import type { AuthSettings } from '../services/auth/settings.ts'
import type { FunctionsSettings } from '../services/functions/settings.ts'
import type { McpSettings } from '../services/mcp/settings.ts'
import type { RealtimeSettings } from '../services/realtime/settings.ts'
import type { WebhooksSettings } from '../services/webhooks/settings.ts'
import type { SchedulesSettings } from '../services/schedules/settings.ts'
import type { StorageSettings } from '../services/storage/settings.ts'

export type LogLevel = 'crit' | 'error' | 'warn' | 'info' | 'debug'

/** PostgREST's settings in camel case: `PGRST_DB_ANON_ROLE`, `db-anon-role` -> `dbAnonRole`. */
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
    /** Null when no database is configured, which selects the embedded one. */
    readonly dbUri: string | null
    readonly logLevel: LogLevel
    readonly serverReuseport: boolean
    readonly serverUnixSocket: string | null
    readonly serverUnixSocketMode: number
  }

/** The parts that a server may have or leave out. */
/** `auth` is sign-in with tokens and with cookies, `auth-v1` with tokens only. */
export type ServiceName =
  | 'rest'
  | 'auth'
  | 'auth-v1'
  | 'profiles'
  | 'reports'
  | 'analysis'
  | 'storage'
  | 'realtime'
  | 'webhooks'
  | 'schedules'
  | 'functions'
  | 'mcp'
  | 'console'

export type DocsMode = 'follow-privileges' | 'ignore-privileges'

export type TracesSampler = `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`

/** Settings of traces and of the log of slow statements. */
export type OperationConfig = {
  /** Base URL of the collector. Null: requests are not traced. */
  readonly otelExporterOtlpEndpoint: string | null
  readonly otelExporterOtlpProtocol: 'http/protobuf' | 'http/json'
  readonly otelServiceName: string
  /** Names and values. */
  readonly otelResourceAttributes: readonly (readonly [string, string])[]
  readonly otelTracesSampler: TracesSampler
  /** Fraction of requests, from 0 to 1. */
  readonly otelTracesSamplerArg: number
  readonly otelPropagators: readonly ('tracecontext' | 'baggage' | 'none')[]
  readonly otelSdkDisabled: boolean
  readonly databaseTraceContext: 'none' | 'comment' | 'application-name'
  /** Milliseconds from which statements are logged; 0 logs none. */
  readonly slowQueryThreshold: number
  readonly slowQueryPlan: 'none' | 'redacted' | 'full'
}

/** Settings that PostgREST does not have. */
export type ServiceConfig = EngineSettings &
  AnalysisSettings &
  OperationConfig & {
    /** Mount path of the REST API: `/rest/v1`, or `/` for PostgREST's own paths. */
    readonly restBasePath: string
    /** Folder of the embedded database and the development keys. */
    readonly dataDir: string
    /** Folder of the backups and the archived log of the embedded database. Null: there is no archive. */
    readonly backupDir: string | null
    /** When the console is open. */
    readonly console: 'development' | 'on' | 'off'
    /** Connection string for SQL of the console outside of development. */
    readonly consoleDatabaseUrl: string | null
    /** What the server has; migrations create nothing for the other services. */
    readonly services: readonly ServiceName[]
    /** Whether to migrate when `serve` starts. Always true with the embedded database. */
    readonly migrateOnStart: boolean
    /** Connection string for `migrate`. Defaults to `dbUri` when null. */
    readonly migrationDatabaseUrl: string | null
    /** Connection strings of replicas, for reads. */
    readonly databaseReplicaUrls: readonly string[]
    /** Seconds that a replica may lag behind. */
    readonly databaseReplicaMaxLag: number
    /** Milliseconds that a read waits for a replica to replay its client's last write. */
    readonly databaseReplicaWait: number
    /** Folder of the user's migrations, or `none`. Null: the usual one of the working folder, if it exists. */
    readonly migrationsDir: string | null
    /** Folder of the user's JSON Schemas, or `none`. Null: `schemas` beside the migrations, if it exists. */
    readonly schemasDir: string | null
    /** Milliseconds that requests may be expected to wait before further ones are refused; 0: none is refused. */
    readonly loadSheddingWait: number
    /** Seconds between checks whether the catalog has changed; 0 for no checks. */
    readonly dbReloadInterval: number
    /** Connections in addition to those of `dbPool`. */
    readonly dbPoolReserve: number
    /** Bytes. */
    readonly dbPoolSpillMemory: number
    /** Bytes. */
    readonly dbPoolSpillDisk: number
    /** Whether `/openapi.json` and `/docs` show only what the caller may use, or everything. */
    readonly docsMode: DocsMode
    /** Seconds in which a whole request must arrive. */
    readonly serverRequestTimeout: number
    /** Seconds between the signal that ends the server and its end, in which it serves but is not ready. */
    readonly serverDrainTime: number
    /** Maximum bytes of a request's URL and headers together. */
    /** Maximum bytes of a body, for all routes without a limit of their own. */
    readonly bodyLimit: number
    /** Signing secrets of session cookies, newest first, each at least 32 characters. Empty if not configured. */
    readonly sessionSecrets: readonly string[]
    /** Whether session cookies have the attribute Secure. Null: unless the server listens on loopback. */
    readonly secureCookies: boolean | null
    /** Number of trusted proxies that add entries to `X-Forwarded-For`. */
    readonly trustedProxies: number
    /** Wrong passwords per account and network in 15 minutes. */
    readonly authAccountLimit: number
    /** Wrong passwords per account from all networks in 15 minutes. */
    readonly authAccountTotalLimit: number
    /** Wrong passwords, and registrations, per network in 15 minutes. */
    readonly authAddressLimit: number
    /** Maximum number of passwords of one network that wait to be hashed. */
    readonly authWaitingLimit: number
    /** Number of worker processes. */
    readonly serverWorkers: number
    /** Roles that may have requests explained over HTTP; empty: explaining is off. */
    readonly explainRoles: readonly string[]
  }

export type Config = PostgrestConfig &
  ServiceConfig &
  AuthSettings &
  StorageSettings &
  RealtimeSettings &
  FunctionsSettings &
  WebhooksSettings &
  SchedulesSettings &
  McpSettings
