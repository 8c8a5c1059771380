// Signed cookies over text: signing, verifying, and reading the header. Nothing here knows of requests or sessions.
import { sign, unsign } from 'cookie-signature'

export type CookieValue = {
  readonly id: string
  /** Seconds since 1970. */
  readonly expires: number
}

export type Verified = { readonly kind: 'valid'; readonly value: CookieValue } | { readonly kind: 'forged' | 'expired' }

/**
 * `id.expires.signature`. The signature covers the cookie's name, too, so that it is good for no other cookie.
 *
 * @param secrets the newest first: it signs
 */
export function signCookie(name: string, { id, expires }: CookieValue, secrets: readonly string[]): string {
  const [newest] = secrets
  if (newest === undefined) throw new Error('there is no secret to sign cookies with')
  return sign(`${name}=${id}.${expires}`, newest).slice(name.length + 1)
}

/** Whether one of the secrets signed the text and its time has not come. Each secret takes the same time, fit or not. */
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

/** Every value that a Cookie header has for a name (RFC 6265, section 5.4: there may be several). */
export function cookieValues(header: string | undefined, name: string): string[] {
  const values: string[] = []
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) values.push(pair.slice(equals + 1).trim())
  }
  return values
}

/** A Set-Cookie header for the whole site, out of reach of scripts. An age of zero takes the cookie away. */
export const setCookie = (name: string, text: string, maxAge: number, secure: boolean): string =>
  `${name}=${text}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
