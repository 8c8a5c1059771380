// The cookies of a session, and which cookies of a request are trusted.
//
// With `Secure` cookies, a session has two: `session` and `__Host-session`. Browsers accept the latter only from this
// very host, for all of its paths, over TLS. `session` has no such guarantee: a neighbouring subdomain can set it for
// the whole domain, and so sign a visitor in to the account of another user. Browsers must therefore send
// `__Host-session`; only programs, which send just the cookies that they received, may send `session` without it.
// https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { cookieValues, setCookie, signCookie, verifyCookie, type CookieValue } from '../../http/cookie.ts'

export type CookieSettings = {
  /** Newest first. Empty when sessions are not set up. */
  readonly sessionSecrets: readonly string[]
  readonly secureCookies: boolean
}

const plainName = 'session'
const hostName = '__Host-session'
/** The form of every genuine cookie: id, expiry, signature. Text of another form needs no computation of a signature. */
const genuineForm = /^[\w-]{1,100}\.\d{1,12}\.[\w+/]{43}$/

const now = (): number => Math.floor(Date.now() / 1000)
const namesOf = ({ secureCookies }: CookieSettings): readonly string[] =>
  secureCookies ? [plainName, hostName] : [plainName]

/** Sets the cookies of a session on the response. The signature covers the name, so neither is valid as the other. */
export function sendSessionCookies(response: ServerResponse, value: CookieValue, settings: CookieSettings): void {
  for (const name of namesOf(settings)) {
    const text = signCookie(name, value, settings.sessionSecrets)
    response.appendHeader('Set-Cookie', setCookie(name, text, value.expires - now(), settings.secureCookies))
  }
}

/** Deletes the cookies, and replaces any that were already set on the response. */
export function clearSessionCookies(response: ServerResponse, settings: CookieSettings): void {
  response.setHeader(
    'Set-Cookie',
    namesOf(settings).map((name) => setCookie(name, '', 0, settings.secureCookies)),
  )
}

/**
 * The values of a request's genuine cookies that have not expired, each once. Checks all cookies of the name, so that no
 * number of forged ones for a path of the site hides the genuine one. The size of a header bounds their number.
 */
export function sessionCookies(headers: IncomingHttpHeaders, settings: CookieSettings): CookieValue[] {
  const name = believedName(headers, settings)
  const found: CookieValue[] = []
  for (const text of new Set(cookieValues(headers.cookie, name))) {
    if (!genuineForm.test(text)) continue
    const verified = verifyCookie(name, text, settings.sessionSecrets, now())
    if (verified.kind === 'valid') found.push(verified.value)
  }
  return found
}

/** Any cookie of the stricter name, even a forged one, excludes the other name. */
function believedName(headers: IncomingHttpHeaders, { secureCookies }: CookieSettings): string {
  if (!secureCookies) return plainName
  return isBrowser(headers) || cookieValues(headers.cookie, hostName).length > 0 ? hostName : plainName
}

/**
 * Whether a browser sent the request. Over TLS, every current browser sends `Sec-Fetch-Site`; `User-Agent` identifies
 * older ones. No page of another site can remove these headers.
 */
const isBrowser = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-fetch-site'] !== undefined ||
  headers.origin !== undefined ||
  headers['user-agent']?.startsWith('Mozilla/') === true
