// The settings and the schema that a request uses from beginning to end. A reload replaces them as a whole.
import { randomBytes } from 'node:crypto'
import type { SchemaCache } from '../schema-cache/schema-cache.ts'
import { PlanCache } from './cache/plan-cache.ts'
import type { Database } from './database.ts'
import { PageCursors } from './request/page-cursor.ts'
import type { LoadSettings, RestSettings, RoleSettings } from './settings.ts'
import { SettingsStatements } from './sql/settings.ts'

/** Settings that are read together. Programs may extend the type. */
export type LoadedSettings = {
  readonly config: RestSettings & LoadSettings
  readonly roleSettings: RoleSettings
  /** Secrets of the cursors of pages, the current one first. Without one, cursors are valid in this process only. */
  readonly cursorSecrets?: readonly Uint8Array[]
}

/** The secret of cursors without a configured one. */
const processSecret = randomBytes(32)

/** Settings and schema, with the plans and statements derived from them. */
export class Snapshot<Loaded extends LoadedSettings = LoadedSettings> {
  readonly loaded: Loaded
  readonly config: Loaded['config']
  readonly roleSettings: RoleSettings
  /** Undefined until it is loaded for the first time. */
  readonly schemaCache: SchemaCache | undefined
  readonly plans: PlanCache
  readonly cursors: PageCursors
  /** The statements that set role, claims and headers for a transaction. */
  readonly settings: SettingsStatements

  constructor(loaded: Loaded, cache: SchemaCache | undefined) {
    this.loaded = loaded
    this.config = loaded.config
    this.roleSettings = loaded.roleSettings
    this.schemaCache = cache
    this.plans = new PlanCache(loaded.config.planCacheMaxEntries)
    const { cursorSecrets = [] } = loaded
    this.cursors = new PageCursors(cursorSecrets.length === 0 ? [processSecret] : cursorSecrets)
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
