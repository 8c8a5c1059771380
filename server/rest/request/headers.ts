// Reads the headers of a request in one pass.
import type { HttpRequest, RequestConditions } from './api-request.ts'
import { lenientUtf8Text } from './query-string.ts'

type Pair = readonly [string, string]

/** The headers that affect how a request is parsed. The first of repeated headers wins. */
export type RequestHeaders = {
  accept?: string
  acceptProfile?: string
  contentProfile?: string
  contentType?: string
  range?: string
  /** Repeated headers are joined. */
  ifMatch?: string
  ifNoneMatch?: string
  readonly prefer: string[]
  /** All headers except cookies, decoded as UTF-8. */
  readonly others: Pair[]
  readonly cookies: readonly Pair[]
}

/** Reads headers whose values have one character per byte, as in Node, and decodes them as UTF-8. */
export function readHeaders(headers: HttpRequest['headers']): RequestHeaders {
  const prefer: string[] = []
  const others: Pair[] = []
  let cookie: string | undefined
  const found: Omit<RequestHeaders, 'cookies'> = { prefer, others }
  for (const header of headers) {
    const [name, value] = header
    switch (name) {
      case 'cookie':
        cookie ??= value
        continue
      case 'accept':
        found.accept ??= value
        break
      case 'accept-profile':
        found.acceptProfile ??= lenientUtf8Text(value)
        break
      case 'content-profile':
        found.contentProfile ??= lenientUtf8Text(value)
        break
      case 'content-type':
        found.contentType ??= value
        break
      case 'range':
        found.range ??= value
        break
      case 'if-match':
        found.ifMatch = found.ifMatch === undefined ? value : `${found.ifMatch}, ${value}`
        break
      case 'if-none-match':
        found.ifNoneMatch = found.ifNoneMatch === undefined ? value : `${found.ifNoneMatch}, ${value}`
        break
      case 'prefer':
        prefer.push(value)
        break
    }
    const text = lenientUtf8Text(value)
    others.push(text === value ? header : [name, text])
  }
  return { ...found, cookies: cookie === undefined ? [] : parseCookies(cookie) }
}

/** The conditions of a request on entity tags; undefined without any. */
export function conditionsOf({ ifMatch, ifNoneMatch }: RequestHeaders): RequestConditions | undefined {
  return ifMatch === undefined && ifNoneMatch === undefined ? undefined : { ifMatch, ifNoneMatch }
}

/** Parses a `Cookie` header. Removes quotes around values. RFC 6265, section 4.2. */
function parseCookies(header: string): Pair[] {
  const parts = header.split(';')
  // A separator at the end does not begin another cookie.
  if (parts.at(-1) === '') parts.pop()
  return parts.map((part) => {
    const equals = part.indexOf('=')
    const name = equals === -1 ? part : part.slice(0, equals)
    const value = equals === -1 ? '' : part.slice(equals + 1)
    const quoted = value.length > 1 && value.startsWith('"') && value.endsWith('"')
    return [lenientUtf8Text(name.replace(/^ +/, '')), lenientUtf8Text(quoted ? value.slice(1, -1) : value)]
  })
}
