// What the engine works on: settings and schema as they were when a request began. They are replaced as a whole.
import type { SchemaCache } from '../schema-cache/schema-cache.ts'
import { PlanCache } from './cache/plan-cache.ts'
import type { Database } from './database.ts'
import type { RestSettings, RoleSettings } from './settings.ts'
import { SettingsStatements } from './sql/settings.ts'

export type SnapshotParts<Settings extends RestSettings = RestSettings> = {
  readonly config: Settings
  readonly roleSettings: RoleSettings
  /** Undefined until it was loaded for the first time. */
  readonly cache: SchemaCache | undefined
}

/** Settings and schema, with the plans and statements that belong to them. */
export class Snapshot<Settings extends RestSettings = RestSettings> implements SnapshotParts<Settings> {
  readonly config: Settings
  readonly roleSettings: RoleSettings
  readonly cache: SchemaCache | undefined
  readonly plans: PlanCache
  /** What a transaction is told of a request. */
  readonly settings: SettingsStatements

  constructor({ config, roleSettings, cache }: SnapshotParts<Settings>) {
    this.config = config
    this.roleSettings = roleSettings
    this.cache = cache
    this.plans = new PlanCache(config.planCacheMaxEntries)
    this.settings = new SettingsStatements(config, roleSettings)
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
