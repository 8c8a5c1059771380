// The settings and the schema that a request uses from beginning to end. A reload replaces them as a whole.
import { randomBytes } from 'node:crypto'
import type { SchemaCache } from '../catalogue/schema-cache.ts'
import { PlanCache } from './cache/plan-cache.ts'
import type { BatchDatabase } from './database.ts'
import type { PageCursors } from './extensions/keyset-pages/page-cursor.ts'
import type { PositionTokens } from './extensions/read-your-writes/position-token.ts'
import type { ReadableColumns } from './extensions/readable-columns/readable-columns.ts'
import type { LoadSettings, RestSettings, RoleSettings } from './settings.ts'
import { stricterLimit, type Limits } from '../identity/limits.ts'
import type { Identity } from '../identity/identity.ts'
import { SettingsStatements } from './sql/settings.ts'

/** Settings that are read together. Programs may extend the type. */
export type LoadedSettings = {
  readonly config: RestSettings & LoadSettings
  readonly roleSettings: RoleSettings
  /**
   * Secrets of the cursors of pages and of the positions of writes, the current one first. Without one, these are valid in
   * this process only.
   */
  readonly cursorSecrets?: readonly Uint8Array[]
  /** Whether a token that names a session is valid only while the session is. True by default. */
  readonly checksSessions?: boolean
  /** Whether the server writes the JSON of rows where it can. True by default; false only for tests that compare both ways. */
  readonly encodesRows?: boolean
}

/** The secret of cursors and positions without a configured one. */
const processSecret = randomBytes(32)

/** What extensions keep as long as settings and schema are the same. */
export type SnapshotParts = {
  readonly cursors?: PageCursors
  readonly positions?: PositionTokens
  readonly readableColumns?: ReadableColumns
}

/** @param secrets at least one; the first one signs */
export type PartsOf = (config: RestSettings, secrets: readonly Uint8Array[]) => SnapshotParts

const noParts: PartsOf = () => ({})

/** Settings and schema, with the plans and statements derived from them. */
export class Snapshot<Loaded extends LoadedSettings = LoadedSettings> {
  readonly loaded: Loaded
  readonly config: Loaded['config']
  readonly roleSettings: RoleSettings
  /** Undefined until it is loaded for the first time. */
  readonly schemaCache: SchemaCache | undefined
  readonly plans: PlanCache
  /** Undefined without the extension, as the two after it. */
  readonly cursors: PageCursors | undefined
  readonly positions: PositionTokens | undefined
  /** Also undefined unless `db-select-readable-columns` is on. */
  readonly readableColumns: ReadableColumns | undefined
  /** Whether there is no pre-request function, or it is declared stable or immutable. */
  readonly mayRepeatPreRequest: boolean
  /** Whether the sessions of tokens are checked: the database has `auth.check_session`, and the settings ask for it. */
  readonly checksSessions: boolean
  readonly encodesRows: boolean
  /** The statements that set role, claims and headers for a transaction. */
  readonly settings: SettingsStatements
  /** By the values of their limits. */
  readonly #limited = new Map<string, Snapshot<Loaded>>()
  readonly #partsOf: PartsOf

  /**
   * @param partsOf creates what extensions keep
   * @param last the plans of the snapshot before, or of the one without limits
   * @param bytesOfPlan see `PlanCache`
   */
  constructor(
    loaded: Loaded,
    cache: SchemaCache | undefined,
    partsOf: PartsOf = noParts,
    last?: PlanCache,
    bytesOfPlan?: number,
  ) {
    this.loaded = loaded
    this.config = loaded.config
    this.roleSettings = loaded.roleSettings
    this.schemaCache = cache
    this.plans = new PlanCache(loaded.config.planCacheMaxEntries, last, bytesOfPlan)
    const { cursorSecrets = [] } = loaded
    const secrets = cursorSecrets.length === 0 ? [processSecret] : cursorSecrets
    const { cursors, positions, readableColumns } = partsOf(loaded.config, secrets)
    this.#partsOf = partsOf
    this.cursors = cursors
    this.positions = positions
    this.readableColumns = readableColumns
    const { dbPreRequest } = loaded.config
    const stable = cache?.stablePreRequest
    this.mayRepeatPreRequest =
      dbPreRequest === null || (stable?.schema === dbPreRequest.schema && stable.name === dbPreRequest.name)
    this.checksSessions = cache?.checksSessions === true && loaded.checksSessions !== false
    this.encodesRows = loaded.encodesRows !== false
    this.settings = new SettingsStatements(loaded.config, loaded.roleSettings)
  }

  /** The limits of the role and of the API key of a request; undefined for none. */
  limitsOf({ role, key }: Identity): RequestLimits | undefined {
    const { limits } = this.roleSettings
    if (key === undefined && limits.size === 0) return undefined
    const ofRole = limits.get(role)
    return ofRole || key ? { ofRole, key } : undefined
  }

  /** Whether the requests per second of the role, the user or the API key are limited. */
  isRated(identity: Identity): boolean {
    const { ofRole, key } = this.limitsOf(identity) ?? {}
    return (ofRole?.rate ?? ofRole?.userRate ?? key?.limits.rate) !== undefined
  }

  /**
   * The snapshot for requests with limits: `db-max-rows`, `db-max-cost` and `db-max-embed-depth` are those of the role.
   * An API key can only lower them. Its plans are separate, because statements and rejections depend on the limits.
   */
  limitedTo({ ofRole, key }: RequestLimits): Snapshot<Loaded> {
    const { config } = this
    const strictest = (name: 'maxRows' | 'maxCost' | 'maxEmbedDepth', setting: number | null): number | null => {
      const base = ofRole?.[name] === undefined ? setting : ofRole[name]
      return stricterLimit(base, key?.limits[name]) ?? null
    }
    const dbMaxRows = strictest('maxRows', config.dbMaxRows)
    const dbMaxCost = strictest('maxCost', config.dbMaxCost)
    const dbMaxEmbedDepth = strictest('maxEmbedDepth', config.dbMaxEmbedDepth)
    const isSame =
      dbMaxRows === config.dbMaxRows && dbMaxCost === config.dbMaxCost && dbMaxEmbedDepth === config.dbMaxEmbedDepth
    if (isSame) return this
    const name = `${dbMaxRows} ${dbMaxCost} ${dbMaxEmbedDepth}`
    let limited = this.#limited.get(name)
    if (!limited) {
      const loaded = { ...this.loaded, config: { ...config, dbMaxRows, dbMaxCost, dbMaxEmbedDepth } }
      limited = new Snapshot(loaded, this.schemaCache, this.#partsOf, this.plans, bytesOfLimitedPlan)
      // Many API keys may each have limits of their own.
      if (this.#limited.size >= mostLimited) this.#limited.clear()
      this.#limited.set(name, limited)
    }
    return limited
  }
}

/** Maximum number of snapshots for limits, each with a plan cache. */
const mostLimited = 50
/** Bytes of their plans on average: fewer than of those without limits, because there may be many caches. */
const bytesOfLimitedPlan = 2 * 1024

/** The limits that apply to a request. */
export type RequestLimits = {
  readonly ofRole: Limits | undefined
  readonly key: Identity['key']
}

/** The database with its current snapshot. */
export type EngineState = {
  readonly database: BatchDatabase
  /** The current snapshot. A request reads it once. */
  readonly snapshot: Snapshot
  /** Called when a request has lost its database connection. */
  recover(): void
}
