// The settings that the engine reads. PostgREST's have its names, camel-cased: `db-anon-role` is `dbAnonRole`.
// https://docs.postgrest.org/en/v16/references/configuration.html
import type { QualifiedIdentifier } from '../schema-cache/identifier.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'

export type OpenApiMode = 'follow-privileges' | 'ignore-privileges' | 'disabled'

/** PostgREST's settings that the engine reads. */
export type PostgrestSettings = {
  /** `app.settings.*`: full names and values. */
  readonly appSettings: readonly (readonly [string, string])[]
  readonly clientErrorVerbosity: 'verbose' | 'minimal'
  readonly dbAggregatesEnabled: boolean
  /** Null: requests without credentials are refused. */
  readonly dbAnonRole: string | null
  readonly dbExtraSearchPath: readonly string[]
  readonly dbMaxRows: number | null
  readonly dbPlanEnabled: boolean
  /** Seconds; also the time that a large request body may wait for memory. */
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

/** The engine's own settings. */
export type EngineSettings = {
  /** Mount path of the REST API: `/rest/v1`, or `/` for PostgREST's own paths. */
  readonly restBasePath: string
  /** Bytes. */
  readonly restBodyLimit: number
  /** Bytes of large request bodies of the REST API that the process holds at one time. */
  readonly restBodyBudget: number
  /** Maximum number of request shapes whose plan or rejection is cached; 0 for none. */
  readonly planCacheMaxEntries: number
  /** Which brief statements share connections. */
  readonly dbPoolSharing: 'all' | 'reads' | 'none'
}

export type RestSettings = PostgrestSettings & EngineSettings

/** Settings of database roles that take part in every transaction of theirs. Read from the database. */
export type RoleSettings = {
  /** Settings to set, by role: [name, value]. */
  readonly settings: ReadonlyMap<string, readonly (readonly [string, string])[]>
  readonly isolationLevels: ReadonlyMap<string, IsolationLevel>
}
