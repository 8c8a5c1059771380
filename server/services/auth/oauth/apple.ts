// What Apple has that other providers of OpenID Connect do not: a secret that is a JWT, and names in a form.
import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import type { ProviderSettings } from '../settings.ts'
import type { ProviderClaims } from './provider-user.ts'

/** Seconds that a secret made here is valid. Apple accepts up to six months. */
const lifetime = 300

/** Whether the settings have the parts of which the secret is made. */
export const hasAppleKey = ({ keyId, teamId, privateKey }: ProviderSettings): boolean =>
  keyId !== '' && teamId !== '' && privateKey !== ''

/**
 * The secret of a client at Apple: the text of the settings, or a JWT that is signed for each request with their key.
 * https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
 *
 * @param now milliseconds since 1970
 * @throws TypeError for a key that is not one of Apple's: a private key on the curve P-256
 */
export function appleSecret(settings: ProviderSettings, clientId: string, now: () => number): string {
  const { secret, keyId, teamId, privateKey } = settings
  if (!hasAppleKey(settings)) return secret
  const issued = Math.floor(now() / 1000)
  const claims = { iss: teamId, iat: issued, exp: issued + lifetime, aud: 'https://appleid.apple.com', sub: clientId }
  const [header, payload] = [{ alg: 'ES256', kid: keyId, typ: 'JWT' }, claims].map((it) =>
    Buffer.from(JSON.stringify(it)).toString('base64url'),
  )
  const text = `${header}.${payload}`
  const key = { key: applePrivateKey(privateKey), dsaEncoding: 'ieee-p1363' } as const
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

/** @throws TypeError */
export function applePrivateKey(pem: string): KeyObject {
  let key: KeyObject
  try {
    // Variables of many platforms have no line breaks.
    key = createPrivateKey(pem.replaceAll(String.raw`\n`, '\n'))
  } catch {
    throw new TypeError('must be the private key of Apple in PEM: the contents of the file AuthKey_….p8')
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new TypeError('must be a private key on the curve P-256, as those of Apple are')
  }
  return key
}

/**
 * The names in the form of a callback, which has them only when a user signs in for the first time. They are as the
 * browser sent them: not signed, and no more than what the user could enter at Apple.
 */
export function appleNames(user: string | null): ProviderClaims {
  let value: unknown
  try {
    value = JSON.parse(user ?? 'null')
  } catch {
    return {}
  }
  const { name } = (value ?? {}) as { readonly name?: unknown }
  const { firstName, lastName } = (name ?? {}) as { readonly firstName?: unknown; readonly lastName?: unknown }
  const full = [firstName, lastName]
    .filter((it) => typeof it === 'string')
    .join(' ')
    .trim()
  return full === '' ? {} : { name: full }
}

/** When a secret expires, in milliseconds since 1970; undefined if it is no JWT with an end. */
export function secretExpiry(secret: string): number | undefined {
  try {
    const [, payload = ''] = secret.split('.')
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly exp?: unknown }
    return typeof exp === 'number' ? exp * 1000 : undefined
  } catch {
    return undefined
  }
}
