// What a running server holds: a pool, and snapshots of settings and schema that are replaced as a whole. A request
// finishes on the snapshot it began with.
import type { Config } from '../config/config.ts'
import type { Database } from '../rest/database.ts'
import { Snapshot as RestSnapshot, type EngineState, type SnapshotParts } from '../rest/snapshot.ts'
import { isLoginRefused, isUnreachable } from '../postgres/database-error.ts'
import { databaseOn } from '../postgres/request-transaction.ts'
import { withReservedConnection } from '../postgres/lending.ts'
import { flushPool, type ConnectionPool } from '../postgres/pool.ts'
import { requireSupportedVersion, UnsupportedPostgres } from '../postgres/connection/server-version.ts'
import { SingleFlight } from '../common/single-flight.ts'
import { loadSchemaCache } from '../schema-cache/load.ts'
import type { JwtVerifier } from '../identity/jwt/jwt.ts'
import type { SchemaCache } from '../schema-cache/schema-cache.ts'

/** The engine's snapshot, with what verifies tokens. */
export class Snapshot extends RestSnapshot<Config> {
  readonly verifier: JwtVerifier

  constructor({ verifier, ...parts }: Settings & SnapshotParts<Config>) {
    super(parts)
    this.verifier = verifier
  }
}

/** What is read from environment, file and database. */
export type Settings = Omit<SnapshotParts<Config>, 'cache'> & { readonly verifier: JwtVerifier }

export type RuntimeEvent =
  | { readonly kind: 'schema cache loaded'; readonly milliseconds: number; readonly cache: SchemaCache }
  | { readonly kind: 'schema cache failed'; readonly error: Error; readonly retrySeconds: number | null }
  | { readonly kind: 'pool flushed' }
  | { readonly kind: 'config reloaded'; readonly config: Config }
  /** Settings, or a part of them, stay what they were. */
  | { readonly kind: 'config invalid'; readonly error: Error }
  | { readonly kind: 'gave up'; readonly error: Error }

/**
 * Reads the settings anew. `onFault` hears of what the database could not tell, which then stays what it was.
 *
 * Rejects with ConfigError when a value is wrong, and with the error of the connection when there is no database.
 */
export type ReadSettings = (onFault: (error: Error) => void) => Promise<Settings>

type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

const maxRetrySeconds = 32
/** Milliseconds after a load in which lost connections cause no other one. */
const calm = 1000

/** Runs `use` in a read-only transaction on a connection of the pool, or of its reserve. */
export function readOnly<T>(pool: ConnectionPool, use: (query: Query) => Promise<T>): Promise<T> {
  return withReservedConnection(
    pool,
    async (client) => {
      await client.query('begin isolation level repeatable read read only')
      try {
        return await use(async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows)
      } finally {
        // Where it fails, the connection is lost, and that is the error to tell.
        await client.query('rollback').catch(() => undefined)
      }
    },
    () => true,
  )
}

/** What an answer to a client would hide. */
const causeOf = (error: Error): Error => (error.cause instanceof Error ? error.cause : error)

const errorOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

export class Runtime implements EngineState {
  readonly pool: ConnectionPool
  readonly database: Database
  /** Resolves when the database cannot be had, and it is of no use to try again. */
  readonly gaveUp: Promise<Error>
  readonly #observe: (event: RuntimeEvent) => void
  readonly #readSettings: ReadSettings
  readonly #settings: SingleFlight = new SingleFlight(() => this.#refreshSettings())
  readonly #schema: SingleFlight = new SingleFlight(() => this.#loadSchema())
  #snapshot: Snapshot
  /** Why the settings could not be asked for, the last time. */
  #unreachable: Error | undefined
  #retrySeconds = 1
  #failed = false
  #loadedAt = 0
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  #resolveGaveUp: (error: Error) => void = () => undefined

  constructor(
    pool: ConnectionPool,
    initial: Settings,
    readSettings: ReadSettings,
    observe: (event: RuntimeEvent) => void,
  ) {
    this.pool = pool
    this.database = databaseOn(pool)
    this.#snapshot = new Snapshot({ ...initial, cache: undefined })
    this.#readSettings = readSettings
    this.#observe = observe
    this.gaveUp = new Promise((resolve) => (this.#resolveGaveUp = resolve))
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  /** Whether there is no schema cache yet, or the last attempt to load it failed. */
  get isPending(): boolean {
    return this.#failed || this.#snapshot.cache === undefined
  }

  /** Reads the settings again. Wrong values leave the old ones in force. */
  reloadConfig(): Promise<void> {
    return this.#settings.run()
  }

  /**
   * Reads the settings and loads the schema cache anew, on connections of before; then every connection is replaced. A
   * failed load keeps the old cache, and is tried again after 1, 2, 4 … 32 seconds. Calls during a load cause one more
   * load after it.
   */
  reloadSchema(): Promise<void> {
    clearTimeout(this.#timer)
    return this.#schema.run()
  }

  /** A request has found the database gone. It may come back changed, so that everything is read again. */
  recover(): void {
    if (this.isPending || this.#schema.isRunning || performance.now() - this.#loadedAt < calm) return
    void this.reloadSchema()
  }

  /** Ends all attempts to reach the database. */
  giveUp(error: Error): void {
    if (this.#stopped) return
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#observe({ kind: 'gave up', error })
    this.#resolveGaveUp(error)
  }

  async #refreshSettings(): Promise<void> {
    const onFault = (error: Error): void => this.#observe({ kind: 'config invalid', error })
    this.#unreachable = undefined
    try {
      const next = await this.#readSettings(onFault)
      this.#snapshot = new Snapshot({ ...next, cache: this.#snapshot.cache })
      this.#observe({ kind: 'config reloaded', config: next.config })
    } catch (error) {
      if (isUnreachable(error)) this.#unreachable = errorOf(error)
      // Whoever loads the schema tells it, too.
      if (!this.#unreachable || !this.#schema.isRunning) onFault(errorOf(error))
    }
  }

  async #loadSchema(): Promise<void> {
    if (this.#stopped) return
    const start = performance.now()
    const isFirst = this.#snapshot.cache === undefined
    try {
      await withReservedConnection(
        this.pool,
        (client) => requireSupportedVersion(async (text) => (await client.query<Record<string, unknown>>(text)).rows),
        () => true,
      )
      await this.#settings.run()
      if (this.#unreachable) throw this.#unreachable
      const { config } = this.#snapshot
      const cache = await readOnly(this.pool, (query) =>
        loadSchemaCache(query, {
          schemas: config.dbSchemas,
          extraSearchPath: config.dbExtraSearchPath,
          hoistedSettings: config.dbHoistedTxSettings,
        }),
      )
      const { roleSettings, verifier } = this.#snapshot
      this.#snapshot = new Snapshot({ config: this.#snapshot.config, roleSettings, verifier, cache })
      if (!isFirst) {
        flushPool(this.pool)
        this.#observe({ kind: 'pool flushed' })
      }
      this.#retrySeconds = 1
      this.#failed = false
      this.#loadedAt = performance.now()
      this.#observe({ kind: 'schema cache loaded', milliseconds: this.#loadedAt - start, cache })
    } catch (error) {
      this.#schemaFailed(errorOf(error))
    }
  }

  #schemaFailed(error: Error): void {
    const isUseless =
      isLoginRefused(error) ||
      error instanceof UnsupportedPostgres ||
      (isUnreachable(error) && !this.#snapshot.config.dbPoolAutomaticRecovery)
    const retrySeconds = this.#failed ? Math.min(this.#retrySeconds * 2, maxRetrySeconds) : 1
    this.#failed = true
    this.#retrySeconds = retrySeconds
    this.#observe({ kind: 'schema cache failed', error, retrySeconds: isUseless ? null : retrySeconds })
    if (isUseless) this.giveUp(causeOf(error))
    else if (!this.#stopped) this.#timer = setTimeout(() => void this.reloadSchema(), retrySeconds * 1000)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#schema.settled()
    await this.#settings.settled()
    await this.pool.shared.end()
    await this.pool.end()
  }
}
