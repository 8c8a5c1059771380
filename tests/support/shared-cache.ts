// A cache between many clients and a service, which stores and reuses whatever RFC 9111 allows it to.
import type { Answer, Call } from './call.ts'

export type CachedRequest = { readonly path: string; readonly headers: Readonly<Record<string, string>> }

type Stored = { readonly request: CachedRequest; readonly answer: Answer }

/** Statuses that a cache may store without explicit freshness. RFC 9110, section 15.1 */
const heuristic = new Set([200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501])

function directivesOf({ headers }: Answer): ReadonlyMap<string, string> {
  const parts = (headers.get('cache-control') ?? '').toLowerCase().split(/\s*,\s*/)
  return new Map(parts.filter(Boolean).map((part) => [part.split('=')[0] ?? '', part.split('=')[1] ?? '']))
}

const headerOf = ({ headers }: CachedRequest, name: string): string | undefined =>
  Object.entries(headers).find(([other]) => other.toLowerCase() === name)?.[1]

/** RFC 9111, section 3 */
function mayStore(request: CachedRequest, answer: Answer): boolean {
  const directives = directivesOf(answer)
  if (directives.has('no-store') || directives.has('private')) return false
  const isShared = ['public', 's-maxage', 'must-revalidate'].some((name) => directives.has(name))
  if (headerOf(request, 'authorization') !== undefined && !isShared) return false
  return isShared || directives.has('max-age') || heuristic.has(answer.status)
}

/** RFC 9111, section 4.1 */
function isVariant(request: CachedRequest, { request: stored, answer }: Stored): boolean {
  const names = (answer.headers.get('vary') ?? '')
    .toLowerCase()
    .split(/\s*,\s*/)
    .filter(Boolean)
  return names.every((name) => name !== '*' && headerOf(request, name) === headerOf(stored, name))
}

/** Without `no-cache`, any age is fresh: the clock of the test stands still. */
const isFresh = (answer: Answer): boolean => !directivesOf(answer).has('no-cache')

export class SharedCache {
  readonly #call: Call
  readonly #stored = new Map<string, Stored[]>()
  /** How many responses came from the cache: fresh ones, and those that the service confirmed. */
  readonly used = { fresh: 0, confirmed: 0 }

  constructor(call: Call) {
    this.#call = call
  }

  /** Answers a GET request: from the cache, after a validation, or by the service. */
  async get(request: CachedRequest): Promise<Answer> {
    const known = this.#stored.get(request.path) ?? []
    const fresh = known.find((stored) => isVariant(request, stored) && isFresh(stored.answer))
    if (fresh) {
      this.used.fresh++
      return fresh.answer
    }
    // Offers the tags of all stored responses, whoever they were for. RFC 9111, section 4.3.1
    const tags = known.flatMap(({ answer }) => answer.headers.get('etag') ?? [])
    const headers: Record<string, string> = { ...request.headers }
    if (tags.length > 0) headers['If-None-Match'] = [...new Set(tags)].join(', ')
    const answer = await this.#call('GET', request.path, { headers })
    if (answer.status === 304) {
      const tag = answer.headers.get('etag')
      const selected = known.find((stored) => stored.answer.headers.get('etag') === tag)
      if (!selected) throw new Error(`304 with the unknown tag ${tag}`)
      this.used.confirmed++
      // The headers of the 304 replace those of the stored response. RFC 9111, section 3.2
      const updated = new Headers(selected.answer.headers)
      answer.headers.forEach((value, name) => updated.set(name, value))
      return { ...selected.answer, headers: updated }
    }
    if (mayStore(request, answer)) this.#stored.set(request.path, [{ request, answer }, ...known].slice(0, 50))
    return answer
  }
}
