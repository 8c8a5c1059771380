// The settings of the engine. PostgREST's settings have its names in camel case: `db-anon-role` is `dbAnonRole`.
// https://docs.postgrest.org/en/stable/references/configuration.html
import type { QualifiedIdentifier } from '../catalogue/identifier.ts'
import type { IsolationLevel } from '../catalogue/routine.ts'
import type { Limits } from '../identity/limits.ts'

export type OpenApiMode = 'follow-privileges' | 'ignore-privileges' | 'disabled'

/** Settings that PostgREST has, too. */
export type PostgrestSettings = {
  /** `app.settings.*`: full names and values. */
  readonly appSettings: readonly (readonly [string, string])[]
  readonly clientErrorVerbosity: 'verbose' | 'minimal'
  readonly dbAggregatesEnabled: boolean
  /** Null: requests without credentials are rejected. */
  readonly dbAnonRole: string | null
  readonly dbExtraSearchPath: readonly string[]
  readonly dbMaxRows: number | null
  readonly dbPlanEnabled: boolean
  /** Seconds. Also limits how long a large request body waits for memory. */
  readonly dbPoolAcquisitionTimeout: number
  readonly dbPreRequest: QualifiedIdentifier | null
  readonly dbPreparedStatements: boolean
  readonly dbRootSpec: QualifiedIdentifier | null
  /** At least one. */
  readonly dbSchemas: readonly string[]
  readonly dbTxEnd: 'commit' | 'commit-allow-override' | 'rollback' | 'rollback-allow-override'
  readonly logQuery: boolean
  readonly openapiMode: OpenApiMode
  readonly openapiSecurityActive: boolean
  readonly openapiServerProxyUri: string | null
  readonly serverCorsAllowedOrigins: readonly string[]
  readonly serverHost: string
  readonly serverPort: number
  readonly serverTimingEnabled: boolean
  readonly serverTraceHeader: string | null
  readonly urlUseLegacyTargetNames: boolean
}

/** Settings that PostgREST does not have. */
export type EngineSettings = {
  /** Maximum number of requests in a batch. */
  readonly batchMaxRequests: number
  /** Maximum size in bytes of a batch, and of the bodies of its responses in total. */
  readonly batchMaxBytes: number
  /** Maximum number of Idempotency-Keys of a caller in 24 hours; 0: unlimited. */
  readonly idempotencyMaxKeys: number
  /** Maximum size in bytes of the body of a response that is kept for an Idempotency-Key. */
  readonly idempotencyMaxBytes: number
  /** Bytes. */
  readonly restBodyLimit: number
  /** Maximum total size in bytes of the large request bodies that the process keeps in memory. */
  readonly restBodyBudget: number
  /** Maximum size in bytes of a body that is imported; 0 for no imports. */
  readonly restImportLimit: number
  /** Maximum number of imports at once in the process. */
  readonly restImportSlots: number
  /** Maximum number of request shapes whose plan or rejection is cached; 0 for none. */
  readonly planCacheMaxEntries: number
  /** Maximum number of bytes of the URL and the headers of a request, also of one in a batch. */
  readonly requestHeaderLimit: number
  /** Name of the column with the version of a row; null: the system column `xmin`. */
  readonly dbVersionColumn: string | null
  /** Which brief statements share connections. */
  readonly dbPoolSharing: 'all' | 'reads' | 'none'
  /** Greatest cost of a statement by the planner's estimate; null: unlimited. */
  readonly dbMaxCost: number | null
  /** Greatest number of embeds inside each other; null: unlimited. */
  readonly dbMaxEmbedDepth: number | null
  /** Whether streamed responses are compressed if the client accepts it. */
  readonly restExportCompression: boolean
  /** Maximum number of responses that are streamed row by row at once; 0 for none. */
  readonly restExportLimit: number
  /** Whether `*` means the columns that the role may read. Otherwise it means all columns, as in PostgREST. */
  readonly dbSelectReadableColumns: boolean
  /** Whether text after a complete value in the query string is ignored, as in PostgREST. Otherwise it is rejected. */
  readonly urlIgnoreTrailingText: boolean
  /** Whether transactions begin with BEGIN even where an implicit transaction would do. */
  readonly dbTxBlock: boolean
}

export type RestSettings = PostgrestSettings & EngineSettings

/** Settings for loading the schema cache. */
export type LoadSettings = {
  /** Channel whose notifications reload the schema cache. */
  readonly dbChannel: string
  readonly dbChannelEnabled: boolean
  /** Whether to read the settings of roles (`alter role … set …`). */
  readonly dbConfig: boolean
  /** Regular expressions of function settings that apply to the whole transaction. */
  readonly dbHoistedTxSettings: readonly string[]
  /** Seconds between checks whether the catalog has changed, which reload the schema cache; 0 for no checks. */
  readonly dbReloadInterval: number
}

const mebibyte = 1024 * 1024

/** The defaults of all settings. */
export const defaultSettings: RestSettings & LoadSettings = {
  appSettings: [],
  batchMaxBytes: 10 * mebibyte,
  batchMaxRequests: 100,
  clientErrorVerbosity: 'verbose',
  dbAggregatesEnabled: false,
  dbAnonRole: null,
  dbChannel: 'pgrst',
  dbChannelEnabled: true,
  dbConfig: true,
  dbExtraSearchPath: ['public'],
  dbHoistedTxSettings: ['statement_timeout', 'plan_filter.statement_cost_limit', 'default_transaction_isolation'],
  dbMaxCost: null,
  dbMaxEmbedDepth: null,
  dbMaxRows: null,
  dbPlanEnabled: false,
  dbPoolAcquisitionTimeout: 10,
  dbPoolSharing: 'all',
  dbPreRequest: null,
  dbPreparedStatements: true,
  dbReloadInterval: 0,
  dbRootSpec: null,
  dbSchemas: ['public'],
  dbSelectReadableColumns: false,
  dbTxBlock: false,
  dbTxEnd: 'commit',
  dbVersionColumn: null,
  idempotencyMaxBytes: mebibyte,
  idempotencyMaxKeys: 100_000,
  logQuery: false,
  openapiMode: 'follow-privileges',
  openapiSecurityActive: false,
  openapiServerProxyUri: null,
  planCacheMaxEntries: 1000,
  requestHeaderLimit: 50 * 1024,
  restBodyBudget: 64 * mebibyte,
  restBodyLimit: 10 * mebibyte,
  restExportCompression: true,
  restExportLimit: 4,
  restImportLimit: 1024 * mebibyte,
  restImportSlots: 4,
  serverCorsAllowedOrigins: [],
  serverHost: '127.0.0.1',
  serverPort: 3000,
  serverTimingEnabled: false,
  serverTraceHeader: null,
  urlIgnoreTrailingText: false,
  urlUseLegacyTargetNames: true,
}

/** Settings of database roles, applied to every transaction of the role. */
export type RoleSettings = {
  /** [name, value] pairs by role. */
  readonly settings: ReadonlyMap<string, readonly (readonly [string, string])[]>
  readonly isolationLevels: ReadonlyMap<string, IsolationLevel>
  /** Limits by role (`pgrst.max_…`); only roles that have limits. */
  readonly limits: ReadonlyMap<string, Limits>
  /** Roles whose reads never run on a replica (`pgrst.read = 'primary'`). */
  readonly readsFromPrimary: ReadonlySet<string>
  /** Describes limits and other settings that were ignored because their value or name is invalid. */
  readonly warnings: readonly string[]
}

export const noRoleSettings: RoleSettings = {
  settings: new Map(),
  isolationLevels: new Map(),
  limits: new Map(),
  readsFromPrimary: new Set(),
  warnings: [],
}
