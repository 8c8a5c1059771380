// Cross-origin requests. https://fetch.spec.whatwg.org/#http-cors-protocol,
// https://docs.postgrest.org/en/stable/references/api/cors.html

type Header = readonly [string, string]

const methods = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']
const simpleRequestHeaders = ['Accept', 'Accept-Language', 'Content-Language']
const exposed =
  'Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit'
const maxAge = String(24 * 60 * 60)

/**
 * The headers that allow an origin.
 *
 * @param allowed origins that may send credentials; empty: every origin, without credentials
 * @returns the headers, or undefined when the origin is not allowed
 */
function originHeaders(origin: string, allowed: readonly string[]): readonly Header[] | undefined {
  if (allowed.length === 0) return [['Access-Control-Allow-Origin', '*']]
  if (!allowed.includes(origin)) return undefined
  return [
    ['Access-Control-Allow-Origin', origin],
    ['Access-Control-Allow-Credentials', 'true'],
  ]
}

/** Headers that PostgREST does not have. They are exposed only where a response has them. */
const extensions: ReadonlySet<string> = new Set([
  'ETag',
  'Link',
  'Rows-Truncated',
  'Idempotency-Replayed',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Rowhouse-Position',
])

/**
 * Headers of every response to a request with an `Origin` header, unless its method is OPTIONS.
 *
 * @param own the headers of the response
 */
export function corsHeaders(
  origin: string,
  allowed: readonly string[],
  own: readonly Header[] = [],
): readonly Header[] {
  const headers = originHeaders(origin, allowed)
  if (!headers) return []
  const names = own.map(([name]) => name).filter((name) => extensions.has(name))
  return [
    ...headers,
    ['Access-Control-Expose-Headers', exposed],
    // Beside PostgREST's line, which stays as it is.
    ...(names.length === 0 ? [] : [['Access-Control-Expose-Headers', names.join(', ')] as const]),
  ]
}

/** A preflight request: OPTIONS with the headers `Origin` and `Access-Control-Request-Method`. */
export type Preflight = {
  readonly origin: string
  /** `Access-Control-Request-Method` */
  readonly method: string
  /** `Access-Control-Request-Headers` */
  readonly headers: string | undefined
}

/**
 * The response to a preflight request.
 *
 * @returns headers of a response with status 200 and no body; undefined when origin, method or headers are not allowed,
 *   so that the request is handled like any other OPTIONS request
 */
export function preflightHeaders(preflight: Preflight, allowed: readonly string[]): readonly Header[] | undefined {
  const headers = originHeaders(preflight.origin, allowed)
  const names = preflight.headers === undefined ? [] : allowedNames(preflight.headers)
  if (!headers || !names || !methods.includes(preflight.method)) return undefined
  return [
    ...headers,
    ['Access-Control-Allow-Methods', methods.join(', ')],
    ...(preflight.headers === undefined ? [] : [['Access-Control-Allow-Headers', names.join(', ')] as const]),
    ['Access-Control-Max-Age', maxAge],
  ]
}

const namePrefix = /^[!#$%&'*+\-.0-9A-Z^_`a-z|~]+/

/** The requested header names and those that are always allowed; undefined when an item is not a header name. */
function allowedNames(list: string): readonly string[] | undefined {
  const requested = ['Authorization', ...(list === '' ? [] : list.split(',').map((name) => name.trim()))]
  const known = new Set(requested.map((name) => name.toLowerCase()))
  const names = [...requested, ...simpleRequestHeaders.filter((name) => !known.has(name.toLowerCase()))]
  // An empty item ends the list; an item that is more than a name is not allowed.
  for (const name of requested) {
    const [word] = namePrefix.exec(name) ?? []
    if (word === undefined) return names
    if (word !== name) return undefined
  }
  return names
}
