// Signatures of OAuth 1.0a (RFC 5849, section 3.4) with HMAC-SHA1, the only method of Twitter.
import { createHmac } from 'node:crypto'

export type SignedRequest = {
  readonly method: 'GET' | 'POST'
  /** With its query, which is signed, too. */
  readonly url: URL
  /** `oauth_consumer_key` and the like, with nonce and time. */
  readonly parameters: Readonly<Record<string, string>>
  readonly consumerSecret: string
  /** Of the request token or the access token; empty before there is one. */
  readonly tokenSecret: string
  /** Of a body that is a form. */
  readonly form?: URLSearchParams
}

/** Percent-encoding of RFC 3986, section 2.3. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`)

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/** The header `Authorization` of a request. */
export function signedAuthorization(request: SignedRequest): string {
  const parameters = { ...request.parameters, oauth_signature: signature(request) }
  const fields = Object.entries(parameters).map(([name, value]) => `${encode(name)}="${encode(value)}"`)
  return `OAuth ${fields.join(', ')}`
}

function signature({
  method,
  url,
  parameters,
  consumerSecret,
  tokenSecret,
  form = new URLSearchParams(),
}: SignedRequest) {
  const pairs = [...Object.entries(parameters), ...url.searchParams, ...form]
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
  const base = [method, url.origin + url.pathname, pairs.join('&')].map(encode).join('&')
  return createHmac('sha1', `${encode(consumerSecret)}&${encode(tokenSecret)}`)
    .update(base)
    .digest('base64')
}
