// Loads the schema cache, and keeps it up to date, for an engine that runs inside another program.
import { SingleFlight } from '../common/single-flight.ts'
import { loadSchemaCache } from '../schema-cache/load.ts'
import type { SchemaCache } from '../schema-cache/schema-cache.ts'
import type { ChannelEvent, EngineDatabase } from './database.ts'
import { readRoleSettings } from './role-settings.ts'
import type { LoadSettings, RestSettings, RoleSettings } from './settings.ts'
import { Snapshot, type EngineState } from './snapshot.ts'

export type SchemaEvent =
  | { readonly kind: 'schema cache loaded'; readonly milliseconds: number; readonly cache: SchemaCache }
  /** The last schema cache stays in use; loading is tried again after the pause. */
  | { readonly kind: 'schema cache failed'; readonly error: Error; readonly retrySeconds: number }
  /** Notifications of the channel may be missed; listening begins again after the pause. */
  | { readonly kind: 'channel lost'; readonly error: string; readonly retrySeconds: number }

const maxRetrySeconds = 32
/** Milliseconds after a load in which lost connections cause no further one. */
const calm = 1000
const noRoleSettings: RoleSettings = { settings: new Map(), isolationLevels: new Map() }

export class SchemaLoader implements EngineState {
  readonly database: EngineDatabase
  readonly #settings: RestSettings & LoadSettings
  readonly #observe: (event: SchemaEvent) => void
  readonly #loading = new SingleFlight(() => this.#load())
  #snapshot: Snapshot
  #retrySeconds = 1
  #hasFailed = false
  #hasMissed = false
  #loadedAt = 0
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #stopListening: (() => Promise<void>) | undefined

  /** @param observe must not throw */
  constructor(database: EngineDatabase, settings: RestSettings & LoadSettings, observe: (event: SchemaEvent) => void) {
    this.database = database
    this.#settings = settings
    this.#observe = observe
    this.#snapshot = new Snapshot({ config: settings, roleSettings: noRoleSettings, cache: undefined })
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  /** Begins to listen, and tries to load once. When that fails, goes on trying in the background. */
  async start(): Promise<void> {
    const { dbChannel, dbChannelEnabled } = this.#settings
    // First, so that no change of the schema is missed.
    if (dbChannelEnabled) {
      this.#stopListening = await this.database.listen(dbChannel, (event) => this.#hear(event))
    }
    await this.reload()
  }

  /** Loads the schema cache again. Resolves after an attempt that began after this call; never rejects. */
  reload(): Promise<void> {
    clearTimeout(this.#timer)
    return this.#loading.run()
  }

  recover(): void {
    if (this.#hasFailed || !this.#snapshot.cache || this.#loading.isRunning) return
    if (performance.now() - this.#loadedAt >= calm) void this.reload()
  }

  /** Ends listening and retrying. What is loaded stays in use. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#stopListening?.()
    await this.#loading.settled()
  }

  #hear(event: ChannelEvent): void {
    if (this.#isStopped) return
    switch (event.kind) {
      case 'listening':
        if (this.#hasMissed) void this.reload()
        this.#hasMissed = false
        return
      case 'lost':
        this.#hasMissed = true
        this.#observe({ kind: 'channel lost', error: event.error, retrySeconds: event.retrySeconds })
        return
      case 'notified':
        // Others may use the channel for messages of their own. The settings are those of `createRest`.
        if (event.payload === '' || event.payload === 'reload schema') void this.reload()
        return
      default:
        event satisfies never
    }
  }

  async #load(): Promise<void> {
    if (this.#isStopped) return
    const start = performance.now()
    const { dbSchemas, dbExtraSearchPath, dbHoistedTxSettings, dbConfig } = this.#settings
    try {
      const roleSettings = dbConfig ? await this.database.read(readRoleSettings) : noRoleSettings
      const cache = await this.database.read((query) =>
        loadSchemaCache(query, {
          schemas: dbSchemas,
          extraSearchPath: dbExtraSearchPath,
          hoistedSettings: dbHoistedTxSettings,
        }),
      )
      const isFirst = this.#snapshot.cache === undefined
      this.#snapshot = new Snapshot({ config: this.#settings, roleSettings, cache })
      if (!isFirst) this.database.renewConnections()
      this.#hasFailed = false
      this.#loadedAt = performance.now()
      this.#observe({ kind: 'schema cache loaded', milliseconds: this.#loadedAt - start, cache })
    } catch (error) {
      this.#retryLater(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #retryLater(error: Error): void {
    if (this.#isStopped) return
    const retrySeconds = this.#hasFailed ? Math.min(this.#retrySeconds * 2, maxRetrySeconds) : 1
    this.#hasFailed = true
    this.#retrySeconds = retrySeconds
    this.#timer = setTimeout(() => void this.reload(), retrySeconds * 1000)
    this.#observe({ kind: 'schema cache failed', error, retrySeconds })
  }
}
