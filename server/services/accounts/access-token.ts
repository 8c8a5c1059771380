// Short-lived JWTs for the REST API, for users who are signed in with a cookie.
import { SignJWT } from 'jose'
import type { JwtSettings } from '../../identity/jwt/jwt.ts'
import { signingKey, type SigningKey } from '../../identity/jwt/jwt-signing-key.ts'
import { parseRoleClaim, roleInClaims } from '../../identity/role-claim/role-claim.ts'
import { Failure } from '../../http/envelope.ts'
import { sessionIdentity, type Session } from './session.ts'

export type TokenSettings = Pick<JwtSettings, 'jwtSecret' | 'jwtAud' | 'jwtRoleClaimKey'>

export type AccessToken = {
  readonly access_token: string
  readonly token_type: 'bearer'
  /** Seconds. */
  readonly expires_in: number
}

/** Seconds. A token outlives its session by at most this time. */
const lifetime = 15 * 60

/**
 * Returns a function that signs tokens with the key that the settings use to verify them.
 *
 * @param settings read for each token, because they may change
 * @throws Failure 503 without a secret; 501 when the settings' keys cannot sign, or expect the role in another claim
 */
export function accessTokens(settings: () => TokenSettings): (session: Session) => Promise<AccessToken> {
  let last: { readonly secret: string | Buffer; readonly key: SigningKey | undefined } | undefined
  return async (session) => {
    const { jwtSecret, jwtAud, jwtRoleClaimKey } = settings()
    if (jwtSecret === null) throw new Failure(503, 'Tokens are not set up: there is no JWT secret')
    if (last?.secret !== jwtSecret) last = { secret: jwtSecret, key: signingKey(jwtSecret) }
    const { key } = last
    if (!key) throw new Failure(501, 'Tokens cannot be made here: the keys of the settings can verify, but not sign')
    const { role, claims } = sessionIdentity(session)
    const payload = { ...claims, role, session_id: session.id, ...(jwtAud === null ? {} : { aud: jwtAud }) }
    const roleClaim = parseRoleClaim(jwtRoleClaimKey)
    if (roleClaim.kind === 'invalid' || roleInClaims(roleClaim, payload) !== role) {
      throw new Failure(501, 'Tokens cannot be made here: jwt-role-claim-key looks for the role in another claim')
    }
    const token = await new SignJWT(payload)
      .setProtectedHeader({ alg: key.algorithm, typ: 'JWT', ...(key.kid === undefined ? {} : { kid: key.kid }) })
      .setIssuedAt()
      .setExpirationTime(`${lifetime}s`)
      .sign(key.material)
    return { access_token: token, token_type: 'bearer', expires_in: lifetime }
  }
}
