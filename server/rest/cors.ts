// Cross-origin requests. https://fetch.spec.whatwg.org/#http-cors-protocol,
// https://docs.postgrest.org/en/v14/references/api/cors.html

type Header = readonly [string, string]

const methods = 'GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD'
const simpleRequestHeaders = 'Accept, Accept-Language, Content-Language'
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

/** Headers that every answer to a request with an `Origin` gets. */
export function corsHeaders(origin: string, allowed: readonly string[]): readonly Header[] {
  const headers = originHeaders(origin, allowed)
  return headers ? [...headers, ['Access-Control-Expose-Headers', exposed]] : []
}

/**
 * The answer to a preflight request: OPTIONS with an `Origin` and an `Access-Control-Request-Method`.
 *
 * @param requested value of `Access-Control-Request-Headers`
 * @returns headers of a 200 without a body; undefined when the origin is not allowed, then OPTIONS is an ordinary request
 */
export function preflightHeaders(
  origin: string,
  requested: string | undefined,
  allowed: readonly string[],
): readonly Header[] | undefined {
  const headers = originHeaders(origin, allowed)
  if (!headers) return undefined
  const asked = requested === undefined ? [] : requested.split(',').map((name) => name.trim())
  return [
    ...headers,
    ['Access-Control-Allow-Headers', ['Authorization', ...asked, simpleRequestHeaders].join(', ')],
    ['Access-Control-Allow-Methods', methods],
    ['Access-Control-Max-Age', maxAge],
  ]
}
