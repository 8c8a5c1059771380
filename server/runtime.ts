// What a running server holds: a pool, and snapshots of settings and schema that are replaced as a whole. A request
// finishes on the snapshot it began with.
import type pg from 'pg'
import type { Config, RoleSettings } from './config/config.ts'
import { withConnection } from './database/pool.ts'
import type { JwtVerifier } from './identity/jwt.ts'
import { loadSchemaCache } from './schema-cache/load.ts'
import type { SchemaCache } from './schema-cache/schema-cache.ts'

export type Snapshot = {
  readonly config: Config
  readonly roleSettings: RoleSettings
  readonly verifier: JwtVerifier
  /** Undefined until it was loaded for the first time. */
  readonly cache: SchemaCache | undefined
}

export type RuntimeEvent =
  | { readonly kind: 'schema cache loaded'; readonly milliseconds: number; readonly cache: SchemaCache }
  | { readonly kind: 'schema cache failed'; readonly error: Error; readonly retrySeconds: number }
  | { readonly kind: 'config reloaded' }
  | { readonly kind: 'config invalid'; readonly error: Error }

type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

const maxRetrySeconds = 32

/** Runs `use` in a read-only transaction on a connection of the pool. */
export function readOnly<T>(pool: pg.Pool, use: (query: Query) => Promise<T>): Promise<T> {
  return withConnection(
    pool,
    async (client) => {
      await client.query('begin isolation level repeatable read read only')
      try {
        return await use(async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows)
      } finally {
        await client.query('rollback')
      }
    },
    () => true,
  )
}

export class Runtime {
  readonly pool: pg.Pool
  readonly #observe: (event: RuntimeEvent) => void
  readonly #readConfig: () => Promise<Omit<Snapshot, 'cache'>>
  #snapshot: Snapshot
  #loading: Promise<void> | undefined
  #again = false
  #retrySeconds = 1
  #failed = false
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  /** `readConfig` reads the settings anew from environment, file and database; it rejects when a value is wrong. */
  constructor(
    pool: pg.Pool,
    initial: Omit<Snapshot, 'cache'>,
    readConfig: () => Promise<Omit<Snapshot, 'cache'>>,
    observe: (event: RuntimeEvent) => void,
  ) {
    this.pool = pool
    this.#snapshot = { ...initial, cache: undefined }
    this.#readConfig = readConfig
    this.#observe = observe
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  /** Whether the schema cache is being loaded, or waits to be loaded again after a failure. */
  get isLoading(): boolean {
    return this.#loading !== undefined || this.#failed
  }

  /** Seconds after which a client should try again while there is no schema cache, or no database. */
  get retrySeconds(): number {
    return this.#retrySeconds
  }

  /** Reads the settings again. Wrong values leave the old ones in force. */
  async reloadConfig(): Promise<void> {
    try {
      const next = await this.#readConfig()
      this.#snapshot = { ...next, cache: this.#snapshot.cache }
      if (this.#snapshot.cache) this.#observe({ kind: 'config reloaded' })
    } catch (error) {
      this.#observe({ kind: 'config invalid', error: error instanceof Error ? error : new Error(String(error)) })
    }
  }

  /**
   * Loads the schema cache anew. A failed load keeps the old one, and is tried again after 1, 2, 4 … 32 seconds. Calls
   * during a load cause one more load after it.
   */
  reloadSchema(): Promise<void> {
    if (this.#loading) {
      this.#again = true
      return this.#loading
    }
    clearTimeout(this.#timer)
    this.#loading = this.#loadSchema().finally(() => {
      this.#loading = undefined
      if (!this.#again || this.#stopped) return
      this.#again = false
      void this.reloadSchema()
    })
    return this.#loading
  }

  async #loadSchema(): Promise<void> {
    const { config } = this.#snapshot
    const start = performance.now()
    try {
      const cache = await readOnly(this.pool, (query) =>
        loadSchemaCache(query, {
          schemas: config.dbSchemas,
          extraSearchPath: config.dbExtraSearchPath,
          hoistedSettings: config.dbHoistedTxSettings,
        }),
      )
      this.#snapshot = { ...this.#snapshot, cache }
      this.#retrySeconds = 1
      this.#failed = false
      this.#observe({ kind: 'schema cache loaded', milliseconds: performance.now() - start, cache })
    } catch (error) {
      const retrySeconds = this.#retrySeconds
      this.#failed = true
      this.#retrySeconds = Math.min(retrySeconds * 2, maxRetrySeconds)
      this.#observe({
        kind: 'schema cache failed',
        error: error instanceof Error ? error : new Error(String(error)),
        retrySeconds,
      })
      if (!this.#stopped) this.#timer = setTimeout(() => void this.reloadSchema(), retrySeconds * 1000)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#loading
    await this.pool.end()
  }
}
