// Cross-origin requests. https://fetch.spec.whatwg.org/#http-cors-protocol,
// https://docs.postgrest.org/en/v14/references/api/cors.html

type Header = readonly [string, string]

const methods = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']
const simpleRequestHeaders = ['Accept', 'Accept-Language', 'Content-Language']
const exposed =
  'Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit'
const maxAge = String(24 * 60 * 60)

/**
 * Which origin an answer names as allowed.
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

/** Headers that every answer gets to a request with an `Origin`, unless its method is OPTIONS. */
export function corsHeaders(origin: string, allowed: readonly string[]): readonly Header[] {
  const headers = originHeaders(origin, allowed)
  return headers ? [...headers, ['Access-Control-Expose-Headers', exposed]] : []
}

/** What a preflight request says: OPTIONS with an `Origin` and an `Access-Control-Request-Method`. */
export type Preflight = {
  readonly origin: string
  /** `Access-Control-Request-Method` */
  readonly method: string
  /** `Access-Control-Request-Headers` */
  readonly headers: string | undefined
}

/**
 * The answer to a preflight request.
 *
 * @returns headers of a 200 without a body; undefined when origin, method or headers are refused, then OPTIONS is an
 *   ordinary request
 */
export function preflightHeaders(asked: Preflight, allowed: readonly string[]): readonly Header[] | undefined {
  const headers = originHeaders(asked.origin, allowed)
  const names = asked.headers === undefined ? [] : allowedNames(asked.headers)
  if (!headers || !names || !methods.includes(asked.method)) return undefined
  return [
    ...headers,
    ['Access-Control-Allow-Methods', methods.join(', ')],
    ...(asked.headers === undefined ? [] : [['Access-Control-Allow-Headers', names.join(', ')] as const]),
    ['Access-Control-Max-Age', maxAge],
  ]
}

const namePrefix = /^[!#$%&'*+\-.0-9A-Z^_`a-z|~]+/

/** The names that are asked for, and those that are always allowed; undefined when something else stands among them. */
function allowedNames(list: string): readonly string[] | undefined {
  const asked = ['Authorization', ...(list === '' ? [] : list.split(',').map((name) => name.trim()))]
  const known = new Set(asked.map((name) => name.toLowerCase()))
  const names = [...asked, ...simpleRequestHeaders.filter((name) => !known.has(name.toLowerCase()))]
  // An empty item ends the list, and words beside a name make it another one.
  for (const name of asked) {
    const [word] = namePrefix.exec(name) ?? []
    if (word === undefined) return names
    if (word !== name) return undefined
  }
  return names
}
