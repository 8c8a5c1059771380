// Caches plans, statements and rejections by request shape. They are created from the shape alone, with markers in
// place of the values, and are valid for one snapshot of settings and schema. They contain no data of callers.
import { StatementStats } from '../../common/statement-stats.ts'
import { bytesOfText, longestKey, SecondChanceCache } from '../../common/second-chance-cache.ts'
import type { RowsPlan, RowsRequest } from '../row-transfer.ts'
import { ApiError } from '../errors.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { RequestShape } from '../request/api-request.ts'
import { hasMarker } from './request-values.ts'
import type { Statement } from '../sql/fragment.ts'

/** Where a value of the statement comes from: a value of the request by its index, the body, or a constant. */
type Source = { readonly index: number } | 'body' | { readonly constant: string | Buffer | null }

export type PreparedShape = {
  readonly shape: RequestShape
  /** What kind of body fits the statement; undefined for none. */
  readonly body: { readonly kind: 'json' | 'raw-json'; readonly isObject: boolean } | undefined
  readonly plan: CrudPlan
  readonly hasNoEffect: boolean
  readonly keepsSession: boolean
  readonly text: string
  readonly sources: readonly Source[]
  readonly stats: StatementStats
  /** The rows in place of the statement, and where their values come from. */
  readonly rows?: { readonly plan: RowsPlan; readonly sources: readonly Source[] } | undefined
}

/**
 * Finds where each value of a statement with markers comes from. Returns undefined unless each marker is a separate
 * parameter of the statement.
 *
 * @param markers the values of the request with markers
 */
export function sourcesOf(
  statement: Statement,
  markers: readonly string[],
  bodyMarker: string | undefined,
): Source[] | undefined {
  if (hasMarker(statement.text)) return undefined
  const indexes = new Map(markers.map((text, index) => [text, index]))
  const found = new Set<number>()
  const sources: Source[] = []
  for (const value of statement.values) {
    if (typeof value !== 'string' || !hasMarker(value)) {
      sources.push({ constant: value })
      continue
    }
    const index = indexes.get(value)
    if (index !== undefined) found.add(index)
    else if (value !== bodyMarker) return undefined
    sources.push(index === undefined ? 'body' : { index })
  }
  // A value that is not a parameter of the statement has affected the plan in another way.
  return found.size === markers.length ? sources : undefined
}

/** Fills the values of one request into the sources of a statement. */
export const bind = (
  sources: readonly Source[],
  values: readonly string[],
  body: string | null,
): (string | Buffer | null)[] =>
  sources.map((source) => {
    if (source === 'body') return body
    return 'constant' in source ? source.constant : (values[source.index] ?? '')
  })

/** The rows that may run in place of a statement. Their values are bound when they run. */
export class BoundRows implements RowsRequest {
  readonly plan: RowsPlan
  isGivenUp = false
  readonly #sources: readonly Source[]
  readonly #values: readonly string[]
  readonly #body: string | null

  constructor(rows: NonNullable<PreparedShape['rows']>, values: readonly string[], body: string | null) {
    this.plan = rows.plan
    this.#sources = rows.sources
    this.#values = values
    this.#body = body
  }

  get values(): (string | Buffer | null)[] {
    return bind(this.#sources, this.#values, this.#body)
  }
}

/** Bytes of an entry on average, estimated: the plan of a read of a few columns with a filter has half as many. */
const usualEntry = 32 * 1024
/** Bytes of the statistics of a statement, and of an entry with the text of the statement. */
const bytesOfStats = 200
const usualStats = 4 * 1024
/** Bytes of what is known of rows besides the text of the statement, with an encoder of some ten columns. */
const bytesOfRows = 2 * 1024
/**
 * Estimates of the bytes that a shape and its plan have in memory for each byte of the key, and of the text of the
 * statement. Long select lists have the largest plans.
 */
const keyCost = 16
const textCost = 8

function bytesOfShape(shape: KnownShape): number {
  if (shape === 'uncacheable') return 0
  if (!(shape instanceof ApiError))
    return textCost * (bytesOfText(shape.text) + bytesOfText(shape.rows?.plan.text ?? ''))
  const { message, details, hint } = shape
  return bytesOfText(message) + bytesOfText(JSON.stringify(details ?? null)) + bytesOfText(hint ?? '')
}

/** Whether a request with the key may be cached: a longer one would rather fill the cache than be repeated. */
export const isCacheable = (key: string): boolean => key.length <= longestKey

/** The cached result for a shape: a plan, a rejection, or that neither can be cached. */
export type KnownShape = PreparedShape | ApiError | 'uncacheable'

/**
 * The shapes of one snapshot. From the last one come the keys of its shapes and the statistics of its statements, but no plan: a
 * reload would otherwise make all statements run on connections of their own until they have shown again that they are fast.
 */
export class PlanCache {
  /** Number of lookups so far, and of those that found something. */
  lookups = 0
  hits = 0
  readonly #limit: number
  readonly #bytes: number
  /** Keys of shapes that were seen once. A shape is cached when it is seen again, because many are never repeated. */
  readonly #seen: Set<string>
  readonly #shapes: SecondChanceCache<KnownShape>
  /** By the text of the statement. */
  readonly #stats: SecondChanceCache<StatementStats>
  /** What is known of statements that return rows, also of those whose shapes are not cached. */
  readonly #rows: SecondChanceCache<RowsPlan>

  /**
   * @param limit maximum number of entries; with 0 nothing is cached
   * @param last the cache of the snapshot before, or without the limits of a caller
   * @param bytesOfEntry bytes of an entry on average, which limit the bytes of all entries
   */
  constructor(limit: number, last?: PlanCache, bytesOfEntry = usualEntry) {
    this.#limit = limit
    this.#bytes = limit * bytesOfEntry
    this.#shapes = new SecondChanceCache({ entries: limit, bytes: this.#bytes })
    this.#stats =
      last && last.#limit === limit ? last.#stats : new SecondChanceCache({ entries: limit, bytes: limit * usualStats })
    this.#rows = new SecondChanceCache({ entries: limit, bytes: this.#bytes / 4 })
    const keys = last ? [...last.entries().map(([key]) => key), ...last.#seen] : []
    this.#seen = new Set(keys.slice(0, limit))
  }

  get isOn(): boolean {
    return this.#limit > 0
  }

  /** Estimated bytes of all entries, and the maximum. */
  get bytes(): { readonly used: number; readonly limit: number } {
    return { used: this.#shapes.bytes, limit: this.#bytes }
  }

  get(key: string): KnownShape | undefined {
    const known = this.#shapes.get(key)
    this.lookups++
    if (known !== undefined) this.hits++
    return known
  }

  /** Whether the shape was seen before. Remembers it if not. */
  seenBefore(key: string): boolean {
    if (this.#seen.delete(key)) return true
    if (this.#seen.size >= this.#limit) this.#seen.clear()
    this.#seen.add(key)
    return false
  }

  add(key: string, shape: KnownShape): void {
    this.#shapes.add(key, shape, bytesOfShape(shape) + keyCost * bytesOfText(key))
  }

  /** The statistics of a statement. */
  statsOf(text: string): StatementStats {
    const known = this.#stats.get(text)
    if (known) return known
    const stats = new StatementStats()
    this.#stats.add(text, stats, bytesOfStats)
    return stats
  }

  /**
   * The plan of the rows of a statement: there is one for each form and text, so that rows that cannot be encoded are not tried with
   * every request.
   */
  rowsOf(key: string, create: () => RowsPlan): RowsPlan {
    const known = this.#rows.get(key)
    if (known) return known
    const rows = create()
    this.#rows.add(key, rows, bytesOfText(key) + bytesOfText(rows.text) + bytesOfRows)
    return rows
  }

  /** All entries, for inspection. */
  entries(): (readonly [string, KnownShape])[] {
    return this.#shapes.entries()
  }
}
