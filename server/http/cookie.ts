// Signs and verifies cookies, and reads and writes their headers. Independent of requests and sessions.
import { sign, unsign } from 'cookie-signature'

export type CookieValue = {
  readonly id: string
  /** Seconds since 1970. */
  readonly expires: number
}

export type Verified = { readonly kind: 'valid'; readonly value: CookieValue } | { readonly kind: 'forged' | 'expired' }

/**
 * `id.expires.signature`. The signature covers the cookie's name, so that it is not valid for other cookies.
 *
 * @param secrets newest first; the newest signs
 */
export function signCookie(name: string, { id, expires }: CookieValue, secrets: readonly string[]): string {
  const [newest] = secrets
  if (newest === undefined) throw new Error('there is no secret to sign cookies with')
  return sign(`${name}=${id}.${expires}`, newest).slice(name.length + 1)
}

/** Verifies a signed cookie. Compares the signature in constant time, and always tries all secrets. */
export function verifyCookie(name: string, text: string, secrets: readonly string[], now: number): Verified {
  let signed: string | undefined
  for (const secret of secrets) {
    const plain = unsign(`${name}=${text}`, secret)
    if (plain !== false) signed = plain
  }
  if (signed === undefined) return { kind: 'forged' }
  const dot = signed.lastIndexOf('.')
  const value = { id: signed.slice(name.length + 1, dot), expires: Number(signed.slice(dot + 1)) }
  return value.expires > now ? { kind: 'valid', value } : { kind: 'expired' }
}

/** All values of a name in a Cookie header, which may have several (RFC 6265, section 5.4). */
export function cookieValues(header: string | undefined, name: string): string[] {
  const values: string[] = []
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) values.push(pair.slice(equals + 1).trim())
  }
  return values
}

/**
 * A Set-Cookie header for the whole site, not readable by scripts. A `maxAge` of zero deletes the cookie.
 *
 * @param sameSite `Strict`: also links of other sites do not send it
 */
export const setCookie = (
  name: string,
  text: string,
  maxAge: number,
  secure: boolean,
  sameSite: 'Lax' | 'Strict' = 'Lax',
): string => `${name}=${text}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`
