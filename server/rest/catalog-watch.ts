// Reloads settings and schema cache when the system catalog has changed, for connections that cannot listen, and for
// changes that nobody announces.
import { longestTimer } from '../common/timers.ts'
import { repeat } from '../common/repeated-task.ts'
import { changedCatalogs, readCatalogVersion, type CatalogVersion } from '../catalogue/catalog-version.ts'
import type { EngineDatabase } from './database.ts'
import type { LoadSettings } from './settings.ts'

export type CatalogWatchEvent =
  /** Settings and schema cache are reloaded. */
  | { readonly kind: 'catalog changed'; readonly catalogs: readonly string[] }
  /** The next check follows after the interval. */
  | { readonly kind: 'catalog check failed'; readonly error: Error }

/** What is reloaded. */
export type WatchedCache = {
  /** The version of the catalog before the schema cache was loaded from it; undefined if it is not known. */
  readonly catalogVersion: CatalogVersion | undefined
  /** Whether loading failed, and is retried anyway. */
  readonly isPending: boolean
  readonly reload: () => Promise<void>
}

/** Compares the version of the catalog with that of the schema cache from time to time. */
export class CatalogWatch {
  readonly #database: Pick<EngineDatabase, 'read'>
  readonly #cache: WatchedCache
  readonly #observe: (event: CatalogWatchEvent) => void
  #interval = 0
  #end: (() => Promise<void>) | undefined
  /** Resolves when no check of an earlier interval is in progress. */
  #earlier: Promise<unknown> = Promise.resolve()
  #isStopped = false

  /** @param observe must not throw */
  constructor(
    database: Pick<EngineDatabase, 'read'>,
    cache: WatchedCache,
    observe: (event: CatalogWatchEvent) => void,
  ) {
    this.#database = database
    this.#cache = cache
    this.#observe = observe
  }

  /** Applies the setting. */
  follow({ dbReloadInterval: interval }: Pick<LoadSettings, 'dbReloadInterval'>): void {
    if (this.#isStopped || interval === this.#interval) return
    this.#interval = interval
    this.#earlier = Promise.all([this.#earlier, this.#end?.()])
    const pause = Math.min(interval * 1000, longestTimer)
    this.#end =
      interval === 0
        ? undefined
        : repeat({
            run: () => this.#check(),
            pause: () => pause,
            onError: (error) =>
              this.#observe({
                kind: 'catalog check failed',
                error: error instanceof Error ? error : new Error(String(error)),
              }),
          })
  }

  /** Stops checking, and resolves when a check in progress has ended; `follow` has no effect afterwards. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all([this.#earlier, this.#end?.()])
  }

  async #check(): Promise<void> {
    if (this.#cache.isPending) return
    const current = await this.#database.read(readCatalogVersion)
    // A reload during the check may have seen a later version.
    const { catalogVersion: loaded } = this.#cache
    const catalogs = loaded ? changedCatalogs(loaded, current) : []
    if (loaded && catalogs.length === 0) return
    if (loaded) this.#observe({ kind: 'catalog changed', catalogs })
    await this.#cache.reload()
  }
}
