// What the engine works on: settings and schema as they were when a request began. They are replaced as a whole.
import type { SchemaCache } from '../schema-cache/schema-cache.ts'
import { PlanCache } from './cache/plan-cache.ts'
import type { Database } from './database.ts'
import type { LoadSettings, RestSettings, RoleSettings } from './settings.ts'
import { SettingsStatements } from './sql/settings.ts'

/** Settings that are read together. A program may add what it derives from them. */
export type LoadedSettings = {
  readonly config: RestSettings & LoadSettings
  readonly roleSettings: RoleSettings
}

/** Settings and schema, with the plans and statements that belong to them. */
export class Snapshot<Loaded extends LoadedSettings = LoadedSettings> {
  readonly loaded: Loaded
  readonly config: Loaded['config']
  readonly roleSettings: RoleSettings
  /** Undefined until it was loaded for the first time. */
  readonly schemaCache: SchemaCache | undefined
  readonly plans: PlanCache
  /** The statements that set role, claims and headers for a transaction. */
  readonly settings: SettingsStatements

  constructor(loaded: Loaded, cache: SchemaCache | undefined) {
    this.loaded = loaded
    this.config = loaded.config
    this.roleSettings = loaded.roleSettings
    this.schemaCache = cache
    this.plans = new PlanCache(loaded.config.planCacheMaxEntries)
    this.settings = new SettingsStatements(loaded.config, loaded.roleSettings)
  }
}

/** The database and what is known of it at the moment. */
export type EngineState = {
  readonly database: Database
  /** The current one; a request reads it once. */
  readonly snapshot: Snapshot
  /** Hears that a request found the database gone. */
  recover(): void
}
