// Plans and statements, or rejections, by the shape of requests. They are made from the shape alone, with markers in place
// of the values, and are valid for one snapshot of settings and schema. Nothing of a caller is kept.
import type { StatementStats } from '../../common/statement-stats.ts'
import { SecondChanceCache } from '../../common/second-chance-cache.ts'
import { ApiError } from '../errors.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { RequestShape } from '../request/api-request.ts'
import { hasMarker, marker, withValues, type ValueForm } from './split-request.ts'
import type { Statement } from '../sql/fragment.ts'
import { arrayText } from '../sql/parameter.ts'

/** Where a value of the statement comes from: a value of the shape by its number, the body, or always the same. */
type Source =
  { readonly index: number; readonly form: ValueForm } | 'body' | { readonly constant: string | Buffer | null }

export type PreparedShape = {
  readonly shape: RequestShape
  /** How a body is read that fits the statement. */
  readonly body: { readonly kind: 'json' | 'raw-json'; readonly isObject: boolean } | undefined
  readonly plan: CrudPlan
  readonly hasNoEffect: boolean
  readonly text: string
  readonly sources: readonly Source[]
  readonly stats: StatementStats
}

/** A value as a parameter of the statement. */
function formed(value: string, form: ValueForm): string {
  switch (form) {
    case 'plain':
      return value
    case 'pattern':
      return value.replaceAll('*', '%')
    case 'list':
      return arrayText(value.split(','))
    default:
      return form satisfies never
  }
}

/**
 * Where each value of a statement that was made with markers comes from; undefined unless every marker is found as a
 * parameter of its own.
 *
 * @param forms of the values, in the order of their markers
 */
export function sourcesOf(
  statement: Statement,
  forms: readonly ValueForm[],
  bodyMarker: string | undefined,
): Source[] | undefined {
  if (hasMarker(statement.text)) return undefined
  const markers = new Map(forms.map((form, index) => [formed(marker(index), form), { index, form }]))
  const found = new Set<number>()
  const sources: Source[] = []
  for (const value of statement.values) {
    if (typeof value !== 'string' || !hasMarker(value)) {
      sources.push({ constant: value })
      continue
    }
    const source = markers.get(value)
    if (source) found.add(source.index)
    else if (value !== bodyMarker) return undefined
    sources.push(source ?? 'body')
  }
  // A value that the statement does not have has been used in some other way.
  return found.size === forms.length ? sources : undefined
}

/** The statement of a shape with the values of one request. */
export function bind({ text, sources }: PreparedShape, values: readonly string[], body: string | null): Statement {
  return {
    text,
    values: sources.map((source) => {
      if (source === 'body') return body
      return 'constant' in source ? source.constant : formed(values[source.index] ?? '', source.form)
    }),
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

/** What is known of a shape: how to execute it, why it is rejected, or that neither can be cached. */
export type KnownShape = PreparedShape | ApiError | 'uncacheable'

/** The shapes of one snapshot. */
export class PlanCache {
  readonly #limit: number
  /** Keys of shapes that were seen once: most one-off requests never come again. */
  readonly #seen = new Set<string>()
  readonly #shapes: SecondChanceCache<KnownShape>

  /** @param limit maximum number of entries; with 0 nothing is cached */
  constructor(limit: number) {
    this.#limit = limit
    this.#shapes = new SecondChanceCache(limit)
  }

  get isOn(): boolean {
    return this.#limit > 0
  }

  get(key: string): KnownShape | undefined {
    return this.#shapes.get(key)
  }

  /** Whether the shape was seen before. */
  seenBefore(key: string): boolean {
    if (this.#seen.delete(key)) return true
    if (this.#seen.size >= this.#limit) this.#seen.clear()
    this.#seen.add(key)
    return false
  }

  add(key: string, shape: KnownShape): void {
    this.#shapes.add(key, shape)
  }

  /** All entries, for inspection. */
  entries(): (readonly [string, KnownShape])[] {
    return this.#shapes.entries()
  }
}
