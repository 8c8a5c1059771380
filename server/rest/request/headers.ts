// Reads the headers of a request in one pass.
import type { HttpRequest, RequestConditions } from './api-request.ts'
import { lenientUtf8Text } from './query-string.ts'

type Pair = readonly [string, string]

/** The headers that affect how a request is parsed. The first of repeated headers wins. */
export type RequestHeaders = {
  readonly accept: string | undefined
  readonly acceptProfile: string | undefined
  readonly contentProfile: string | undefined
  readonly contentType: string | undefined
  readonly range: string | undefined
  /** Repeated headers are joined. */
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly prefer: readonly string[]
  /** All headers except cookies, decoded as UTF-8. */
  readonly others: readonly Pair[]
  readonly cookies: readonly Pair[]
}

/** Reads headers whose values have one character per byte, as in Node, and decodes them as UTF-8. */
export function readHeaders(headers: HttpRequest['headers']): RequestHeaders {
  const prefer: string[] = []
  const others: Pair[] = []
  let cookie: string | undefined
  let accept: string | undefined
  let acceptProfile: string | undefined
  let contentProfile: string | undefined
  let contentType: string | undefined
  let range: string | undefined
  let ifMatch: string | undefined
  let ifNoneMatch: string | undefined
  for (const header of headers) {
    const [name, value] = header
    switch (name) {
      case 'cookie':
        cookie ??= value
        continue
      case 'accept':
        accept ??= value
        break
      case 'accept-profile':
        acceptProfile ??= lenientUtf8Text(value)
        break
      case 'content-profile':
        contentProfile ??= lenientUtf8Text(value)
        break
      case 'content-type':
        contentType ??= value
        break
      case 'range':
        range ??= value
        break
      case 'if-match':
        ifMatch = ifMatch === undefined ? value : `${ifMatch}, ${value}`
        break
      case 'if-none-match':
        ifNoneMatch = ifNoneMatch === undefined ? value : `${ifNoneMatch}, ${value}`
        break
      case 'prefer':
        prefer.push(value)
        break
    }
    const text = lenientUtf8Text(value)
    others.push(text === value ? header : [name, text])
  }
  const cookies = cookie === undefined ? [] : parseCookies(cookie)
  // All fields in one literal, because every request reads them.
  return {
    accept,
    acceptProfile,
    contentProfile,
    contentType,
    range,
    ifMatch,
    ifNoneMatch,
    prefer,
    others,
    cookies,
  }
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
