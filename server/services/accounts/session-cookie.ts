// Which cookies a session has, and which of those that a request carries are believed.
//
// A cookie that is `Secure` also comes under the name `__Host-session`: browsers take one of that name only from this very
// host, for all of its paths, by TLS. `session` has no such guarantee: a neighbouring subdomain can set it for the
// whole domain, and so sign a visitor in to the account of another user. So where both are set, a browser has to
// show `__Host-session`, and `session` alone is for programs, which keep no cookies but those that they were given.
// https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { cookieValues, setCookie, signCookie, verifyCookie, type CookieValue } from '../../http/cookie.ts'

export type CookieSettings = {
  /** The newest first. Empty: there are no sessions. */
  readonly sessionSecrets: readonly string[]
  readonly secureCookies: boolean
}

const plainName = 'session'
const hostName = '__Host-session'
/** Cookies of one name that are looked at. */
const maxCookies = 8

const now = (): number => Math.floor(Date.now() / 1000)
const namesOf = ({ secureCookies }: CookieSettings): readonly string[] =>
  secureCookies ? [plainName, hostName] : [plainName]

/** Sets the cookies of a session on the response. Each is signed for its own name, so that neither passes for the other. */
export function sendSessionCookies(response: ServerResponse, value: CookieValue, settings: CookieSettings): void {
  for (const name of namesOf(settings)) {
    const text = signCookie(name, value, settings.sessionSecrets)
    response.appendHeader('Set-Cookie', setCookie(name, text, value.expires - now(), settings.secureCookies))
  }
}

/** Takes the cookies away, whatever was set on the response before. */
export function clearSessionCookies(response: ServerResponse, settings: CookieSettings): void {
  response.setHeader(
    'Set-Cookie',
    namesOf(settings).map((name) => setCookie(name, '', 0, settings.secureCookies)),
  )
}

/**
 * What the genuine cookies of a request hold that have not expired. A cookie that was set for a part of the site does
 * not hide the genuine one, so there may be several of a name.
 */
export function sessionCookies(headers: IncomingHttpHeaders, settings: CookieSettings): CookieValue[] {
  const name = believedName(headers, settings)
  const found: CookieValue[] = []
  for (const text of cookieValues(headers.cookie, name).slice(0, maxCookies)) {
    const verified = verifyCookie(name, text, settings.sessionSecrets, now())
    if (verified.kind === 'valid') found.push(verified.value)
  }
  return found
}

/** With any cookie of the stricter name, also one that is forged, the other name is not looked at. */
function believedName(headers: IncomingHttpHeaders, { secureCookies }: CookieSettings): string {
  if (!secureCookies) return plainName
  return isBrowser(headers) || cookieValues(headers.cookie, hostName).length > 0 ? hostName : plainName
}

/**
 * Whether a browser sent the request. By TLS, every current one sends `Sec-Fetch-Site`; `User-Agent` tells older ones.
 * No page of another site can take these headers away.
 */
const isBrowser = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-fetch-site'] !== undefined ||
  headers.origin !== undefined ||
  headers['user-agent']?.startsWith('Mozilla/') === true
