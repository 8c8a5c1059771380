// The settings and the schema that a request uses from beginning to end. A reload replaces them as a whole.
import type { SchemaCache } from '../schema-cache/schema-cache.ts'
import { PlanCache } from './cache/plan-cache.ts'
import type { Database } from './database.ts'
import { ReadableColumns } from './readable-columns.ts'
import type { LoadSettings, RestSettings, RoleSettings } from './settings.ts'
import { SettingsStatements } from './sql/settings.ts'

/** Settings that are read together. Programs may extend the type. */
export type LoadedSettings = {
  readonly config: RestSettings & LoadSettings
  readonly roleSettings: RoleSettings
}

/** Settings and schema, with the plans and statements derived from them. */
export class Snapshot<Loaded extends LoadedSettings = LoadedSettings> {
  readonly loaded: Loaded
  readonly config: Loaded['config']
  readonly roleSettings: RoleSettings
  /** Undefined until it is loaded for the first time. */
  readonly schemaCache: SchemaCache | undefined
  readonly plans: PlanCache
  /** The statements that set role, claims and headers for a transaction. */
  readonly settings: SettingsStatements

  /** Undefined unless `db-select-readable-columns` is on. */
  readonly readableColumns: ReadableColumns | undefined

  constructor(loaded: Loaded, cache: SchemaCache | undefined) {
    this.loaded = loaded
    this.config = loaded.config
    this.roleSettings = loaded.roleSettings
    this.schemaCache = cache
    this.plans = new PlanCache(loaded.config.planCacheMaxEntries)
    this.readableColumns = loaded.config.dbSelectReadableColumns ? new ReadableColumns() : undefined
    this.settings = new SettingsStatements(loaded.config, loaded.roleSettings)
  }
}

/** The database with its current snapshot. */
export type EngineState = {
  readonly database: Database
  /** The current snapshot. A request reads it once. */
  readonly snapshot: Snapshot
  /** Called when a request has lost its database connection. */
  recover(): void
}
