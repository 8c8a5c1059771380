// Time-based one-time passwords (RFC 6238), with the parameters that all authenticator apps support.
import { Secret, TOTP } from 'otpauth'
import { toString as drawQrCode } from 'qrcode'

/** Seconds. */
const period = 30
const parameters = { algorithm: 'SHA1', digits: 6, period } as const

/** What the user's app needs, sent once. */
export type TotpKey = {
  /** An SVG document. Without the sign `#`, because clients put it into a `data:` URL without escaping it. */
  readonly qr_code: string
  /** Base32 without padding. */
  readonly secret: string
  /** `otpauth://totp/…` https://github.com/google/google-authenticator/wiki/Key-Uri-Format */
  readonly uri: string
}

/**
 * A new random key.
 *
 * @param issuer shown by the app, as is `account`
 */
export async function createTotpKey(issuer: string, account: string): Promise<TotpKey> {
  // 160 bits, as RFC 4226, section 4, recommends.
  const secret = new Secret({ size: 20 })
  const uri = new TOTP({ ...parameters, issuer, label: account, secret }).toString()
  const svg = await drawQrCode(uri, { type: 'svg', errorCorrectionLevel: 'M' })
  return {
    qr_code: svg.replaceAll('#ffffff', 'white').replaceAll('#000000', 'black').trim(),
    secret: secret.base32,
    uri,
  }
}

/**
 * The time step that a code is for: this one, the one before or the one after (RFC 6238, section 5.2). Undefined for a
 * wrong code.
 *
 * @param secret Base32
 * @param now milliseconds since 1970
 * @throws TypeError when the secret is not Base32
 */
export function matchingStep(secret: string, code: string, now: number): number | undefined {
  const token = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const delta = TOTP.validate({ ...parameters, token, secret: Secret.fromBase32(secret), timestamp: now, window: 1 })
  return delta === null ? undefined : Math.floor(now / 1000 / period) + delta
}
