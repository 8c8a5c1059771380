// Plans and statements by the shape of requests, or why they are refused. What is kept knows no caller and no value: it
// is made from the shape alone, with markers for the values, and holds for one snapshot of settings and schema.
import type { RunHistory } from '../database/run-history.ts'
import { SecondChanceCache } from '../second-chance-cache.ts'
import { ApiError } from './errors.ts'
import type { CrudPlan } from './plan/plan.ts'
import type { ApiRequest } from './request/api-request.ts'
import { hasMarker, marker, withValues } from './request-shape.ts'
import type { Statement } from './sql/fragment.ts'

/** Where a value of the statement comes from: a value of the shape by its number, the body, or always the same. */
type Source = number | 'body' | { readonly constant: string | Buffer | null }

export type PreparedShape = {
  readonly request: ApiRequest
  readonly plan: CrudPlan
  readonly text: string
  readonly sources: readonly Source[]
  readonly history: RunHistory
}

/** Where each value of a statement that was made with markers comes from; undefined when that cannot be told. */
export function sourcesOf(statement: Statement, count: number, bodyMarker: string | undefined): Source[] | undefined {
  if (hasMarker(statement.text)) return undefined
  const markers = new Map(Array.from({ length: count }, (_, index) => [marker(index), index]))
  const found = new Set<number>()
  const sources: Source[] = []
  for (const value of statement.values) {
    if (typeof value !== 'string' || !hasMarker(value)) {
      sources.push({ constant: value })
      continue
    }
    const index = markers.get(value)
    if (index !== undefined) found.add(index)
    else if (value !== bodyMarker) return undefined
    sources.push(index ?? 'body')
  }
  // A value that the statement does not have has been used in some other way.
  return found.size === count ? sources : undefined
}

/** The statement of a shape with the values of one request. */
export function bind({ text, sources }: PreparedShape, values: readonly string[], body: string | null): Statement {
  return {
    text,
    values: sources.map((source) =>
      typeof source === 'number' ? (values[source] ?? null) : source === 'body' ? body : source.constant,
    ),
  }
}

/** The error of a shape with the values of one request in its texts. */
export function refuse(error: ApiError, values: readonly string[]): ApiError {
  if (values.length === 0) return error
  const { message, details, hint } = error
  return new ApiError({
    ...error,
    message: withValues(message, values),
    details: typeof details === 'string' ? withValues(details, values) : details,
    hint: hint === null ? null : withValues(hint, values),
  })
}

/** What is known of a shape: how to carry it out, why it is refused, or that it is no use to know it. */
export type KnownShape = PreparedShape | ApiError | 'unsuitable'

const capacity = 1000

/** Shapes of one snapshot. */
export class PlanCache {
  /** Shapes that were met once: most one-off requests never come again. */
  readonly #met = new Set<string>()
  readonly #shapes = new SecondChanceCache<KnownShape>(capacity)

  get(key: string): KnownShape | undefined {
    return this.#shapes.get(key)
  }

  /** Whether the shape has been met before. */
  meet(key: string): boolean {
    if (this.#met.delete(key)) return true
    if (this.#met.size >= capacity) this.#met.clear()
    this.#met.add(key)
    return false
  }

  add(key: string, shape: KnownShape): void {
    this.#shapes.add(key, shape)
  }
}
