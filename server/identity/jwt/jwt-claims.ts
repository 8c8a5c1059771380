// Validates the registered claims of a token. https://www.rfc-editor.org/rfc/rfc7519#section-4.1
import type { Claims } from '../identity.ts'

/** Seconds by which the clocks of the issuer and of this server may differ. */
const allowedSkew = 30

type Time = number | 'absent' | 'not a number'

export type ClaimChecks = {
  readonly exp: Time
  readonly nbf: Time
  readonly iat: Time
  /** The error of `aud`, or of an ID token, if it has one. Unlike the others it does not depend on the time. */
  readonly audience: string | undefined
}

/** The claim `token_use` of ID tokens of this server. They are for clients, which learn from them who has signed in. */
export const idTokenUse = 'oauth_id_token'

const int64Limit = 2 ** 63

function timeOf(claims: Claims, name: string): Time {
  const value = Object.hasOwn(claims, name) ? claims[name] : null
  if (value === undefined || value === null) return 'absent'
  if (typeof value !== 'number') return 'not a number'
  // PostgREST reads numbers beyond 64 bits as zero. In `exp` they make the token expired. So do fractions there, although
  // they are valid (RFC 7519, section 2, NumericDate).
  return value >= -int64Limit && value < int64Limit ? value : 0
}

function audienceFault(claims: Claims, wanted: string | null): string | undefined {
  if (Object.hasOwn(claims, 'token_use') && claims.token_use === idTokenUse) return 'An ID token is not an access token'
  const value = Object.hasOwn(claims, 'aud') ? claims.aud : null
  if (value === undefined || value === null) return undefined
  const audiences: unknown[] = Array.isArray(value) ? value : [value]
  if (!audiences.every((audience) => typeof audience === 'string')) {
    return "The JWT 'aud' claim must be a string or an array of strings"
  }
  const isMeant = wanted === null || audiences.length === 0 || audiences.includes(wanted)
  return isMeant ? undefined : 'JWT not in audience'
}

/** Reads the claims once, so that `claimsFault` can check them again for each request. */
export const claimChecks = (claims: Claims, audience: string | null): ClaimChecks => ({
  exp: timeOf(claims, 'exp'),
  nbf: timeOf(claims, 'nbf'),
  iat: timeOf(claims, 'iat'),
  audience: audienceFault(claims, audience),
})

const notANumber = (name: string): string => `The JWT '${name}' claim must be a number`

/** PostgREST's message for the first claim that is invalid at `now` (whole seconds since 1970). */
export function claimsFault({ exp, nbf, iat, audience }: ClaimChecks, now: number): string | undefined {
  if (typeof exp === 'number') {
    if (exp < now - allowedSkew) return 'JWT expired'
  } else if (exp !== 'absent') return notANumber('exp')
  if (typeof nbf === 'number') {
    if (nbf > now + allowedSkew) return 'JWT not yet valid'
  } else if (nbf !== 'absent') return notANumber('nbf')
  if (typeof iat === 'number') {
    if (iat > now + allowedSkew) return 'JWT issued at future'
  } else if (iat !== 'absent') return notANumber('iat')
  return audience
}
