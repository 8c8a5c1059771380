// Loads settings and schema cache at the start, and reloads them when they may have changed.
import { SingleFlight } from '../common/single-flight.ts'
import { readCatalogVersion, type CatalogVersion } from '../catalogue/catalog-version.ts'
import { loadSchemaCache, paceAfter, SchemaCacheMemory } from '../catalogue/load.ts'
import type { SchemaCache } from '../catalogue/schema-cache.ts'
import type { EngineDatabase } from './database.ts'
import { Snapshot, type EngineState, type LoadedSettings, type PartsOf } from './snapshot.ts'
import type { Traffic } from './traffic.ts'

export type LoaderEvent<Loaded extends LoadedSettings = LoadedSettings> =
  | { readonly kind: 'schema cache loaded'; readonly milliseconds: number; readonly cache: SchemaCache }
  /** The previous schema cache stays in use. Loading is retried after the delay; null: not at all. */
  | { readonly kind: 'schema cache failed'; readonly error: Error; readonly retrySeconds: number | null }
  /** Requests use new connections from now on. */
  | { readonly kind: 'connections renewed' }
  | { readonly kind: 'settings read'; readonly settings: Loaded }
  /** At least one setting keeps its previous value. */
  | { readonly kind: 'settings invalid'; readonly error: Error }
  | { readonly kind: 'gave up'; readonly error: Error }

/**
 * Reads the settings. Calls `onInvalid` with the error of each part that is invalid and keeps its previous value.
 *
 * @throws the error of an invalid value or of the connection, as a rejection: all settings keep their previous values
 */
export type ReadSettings<Loaded extends LoadedSettings> = (onInvalid: (error: Error) => void) => Promise<Loaded>

export type SettingsSource<Loaded extends LoadedSettings> = {
  /** Used until the settings are read for the first time. */
  readonly initial: Loaded
  readonly read: ReadSettings<Loaded>
}

export type SchemaLoaderOptions<Loaded extends LoadedSettings> = {
  readonly database: EngineDatabase
  readonly settings: SettingsSource<Loaded>
  /** Creates what extensions keep with a snapshot. */
  readonly partsOf?: PartsOf
  /** The requests that a reload leaves the processors. */
  readonly traffic: Traffic
  /** Whether an error of reading the settings means that the database is unavailable, so that loading fails, too. */
  readonly isUnavailable: (error: unknown) => boolean
  /** Whether retrying is pointless. */
  readonly isFinal: (error: Error, settings: Loaded) => boolean
  /** Must not throw. */
  readonly observe: (event: LoaderEvent<Loaded>) => void
}

const maxRetrySeconds = 32
/** Milliseconds after loading during which a lost connection does not trigger a reload. */
const minRecoveryInterval = 1000
/**
 * Milliseconds over which connections are replaced, at most: half the time of loading. New connections take the longer
 * for their first statements, the larger the catalog is; all at once would make requests wait.
 */
const longestRenewal = 3000

/** The cause of a `ConnectionError`, whose own message is for clients. */
const causeOf = (error: Error): Error => (error.cause instanceof Error ? error.cause : error)

const errorOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

export class SchemaLoader<Loaded extends LoadedSettings> implements EngineState {
  readonly database: EngineDatabase
  /** Resolves with the error when loading has failed and retrying is pointless. */
  readonly gaveUp: Promise<Error>
  readonly #options: SchemaLoaderOptions<Loaded>
  readonly #settings: SingleFlight = new SingleFlight(() => this.#readSettings())
  readonly #schema: SingleFlight = new SingleFlight(() => this.#load())
  readonly #memory = new SchemaCacheMemory()
  #snapshot: Snapshot<Loaded>
  /** The error of reading the settings, if the database was unavailable. */
  #unavailable: Error | undefined
  #retrySeconds = 1
  #hasFailed = false
  #catalogVersion: CatalogVersion | undefined
  #loadedAt = 0
  #timer: NodeJS.Timeout | undefined
  readonly #stopping = new AbortController()
  /** Ends the pauses between connections that are being replaced. */
  #hurrying = new AbortController()
  #resolveGaveUp: (error: Error) => void = () => undefined

  constructor(options: SchemaLoaderOptions<Loaded>) {
    this.database = options.database
    this.#options = options
    this.#snapshot = new Snapshot(options.settings.initial, undefined, options.partsOf)
    this.gaveUp = new Promise((resolve) => (this.#resolveGaveUp = resolve))
  }

  get snapshot(): Snapshot<Loaded> {
    return this.#snapshot
  }

  /** Whether there is no schema cache yet, or the last attempt to load it failed. */
  get isPending(): boolean {
    return this.#hasFailed || this.#snapshot.schemaCache === undefined
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  /**
   * The version of the catalog before settings and schema cache were loaded from it; undefined if it was not read,
   * because the setting `dbReloadInterval` was 0.
   */
  get catalogVersion(): CatalogVersion | undefined {
    return this.#catalogVersion
  }

  /** Reloads the settings. If a value is invalid, keeps the previous settings. Never rejects. */
  reloadSettings(): Promise<void> {
    return this.#settings.run()
  }

  /**
   * Reloads the schema cache, and with the setting `dbConfig` all settings, then replaces all connections. If loading fails, keeps the previous schema cache
   * and retries after 1, 2, 4 … 32 seconds. Resolves after an attempt that began after this call; calls during an
   * attempt share the next one, which the current one then no longer delays by replacing connections slowly. Never rejects.
   */
  reload(): Promise<void> {
    clearTimeout(this.#timer)
    this.#hurrying.abort()
    return this.#schema.run()
  }

  /** Reloads after a request has lost its connection, because the schema may have changed in the meantime. */
  recover(): void {
    if (this.isPending || this.#schema.isRunning || performance.now() - this.#loadedAt < minRecoveryInterval) return
    void this.reload()
  }

  /** Stops loading and retrying. */
  giveUp(error: Error): void {
    if (this.#isStopped) return
    this.#stop()
    this.#options.observe({ kind: 'gave up', error })
    this.#resolveGaveUp(error)
  }

  /** Stops loading and retrying. The current schema cache stays in use. */
  async stop(): Promise<void> {
    this.#stop()
    await this.#schema.settled()
    await this.#settings.settled()
  }

  #stop(): void {
    this.#stopping.abort()
    this.#hurrying.abort()
    clearTimeout(this.#timer)
  }

  async #readSettings(): Promise<void> {
    const { settings, partsOf, isUnavailable, observe } = this.#options
    const onInvalid = (error: Error): void => observe({ kind: 'settings invalid', error })
    this.#unavailable = undefined
    try {
      const next = await settings.read(onInvalid)
      this.#snapshot = new Snapshot(next, this.#snapshot.schemaCache, partsOf, this.#snapshot.plans)
      observe({ kind: 'settings read', settings: next })
    } catch (error) {
      if (isUnavailable(error)) this.#unavailable = errorOf(error)
      // While the schema cache is loading, `#load` reports that the database is unavailable.
      if (!this.#unavailable || !this.#schema.isRunning) onInvalid(errorOf(error))
    }
  }

  async #load(): Promise<void> {
    if (this.#isStopped) return
    this.#hurrying = new AbortController()
    const start = performance.now()
    const previous = this.#snapshot.schemaCache
    try {
      const version = await this.#readVersion()
      // Without settings in the database, those of files wait for `reloadSettings`, as in PostgREST.
      if (!previous || this.#snapshot.config.dbConfig) await this.#settings.run()
      if (this.#unavailable) throw this.#unavailable
      const { config } = this.#snapshot
      const pace = paceAfter(previous, () => this.#isStopped || this.#options.traffic.isQuiet)
      const cache = await this.database.read(
        (query) =>
          loadSchemaCache(
            query,
            {
              schemas: config.dbSchemas,
              extraSearchPath: config.dbExtraSearchPath,
              hoistedSettings: config.dbHoistedTxSettings,
              preRequest: config.dbPreRequest,
            },
            pace,
            this.#memory,
          ),
        // With rests, it takes seconds.
        pace.batchRest !== undefined,
      )
      this.#snapshot = new Snapshot(this.#snapshot.loaded, cache, this.#options.partsOf, this.#snapshot.plans)
      this.#catalogVersion = version
      this.#hasFailed = false
      this.#loadedAt = performance.now()
      const milliseconds = this.#loadedAt - start
      if (previous) {
        await this.database.renewConnections(Math.min(milliseconds / 2, longestRenewal), this.#hurrying.signal)
        this.#options.observe({ kind: 'connections renewed' })
      }
      this.#options.observe({ kind: 'schema cache loaded', milliseconds, cache })
    } catch (error) {
      this.#fail(errorOf(error))
    }
  }

  /** The version before loading: whatever changes during loading must differ from it. The checks report its errors. */
  async #readVersion(): Promise<CatalogVersion | undefined> {
    if (this.#snapshot.config.dbReloadInterval === 0) return undefined
    return this.database.read(readCatalogVersion).catch(() => undefined)
  }

  #fail(error: Error): void {
    const isFinal = this.#options.isFinal(error, this.#snapshot.loaded)
    const retrySeconds = this.#hasFailed ? Math.min(this.#retrySeconds * 2, maxRetrySeconds) : 1
    this.#hasFailed = true
    this.#retrySeconds = retrySeconds
    this.#options.observe({ kind: 'schema cache failed', error, retrySeconds: isFinal ? null : retrySeconds })
    if (isFinal) this.giveUp(causeOf(error))
    else if (!this.#isStopped) this.#timer = setTimeout(() => void this.reload(), retrySeconds * 1000)
  }
}
