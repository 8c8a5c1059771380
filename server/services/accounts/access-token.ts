// Short-lived JWTs for the REST API, for users who are signed in with a cookie.
import type { JwtSettings } from '../../identity/jwt/jwt.ts'
import type { KeySource } from '../../identity/jwt/key-set.ts'
import type { TokenSigner } from '../../identity/jwt/token-signer.ts'
import { parseRoleClaim, roleInClaims } from '../../identity/role-claim/role-claim.ts'
import { Failure } from '../../http/envelope.ts'
import type { AccountRules } from './account-rules.ts'
import { sessionIdentity, type Session } from './session.ts'

export type TokenSettings = Pick<JwtSettings, 'jwtAud' | 'jwtRoleClaimKey'> & KeySource

export type AccessToken = {
  readonly access_token: string
  readonly token_type: 'bearer'
  /** Seconds. */
  readonly expires_in: number
}

/** Seconds. A token outlives its session by at most this time. */
const lifetime = 15 * 60

/**
 * Returns a function that creates tokens, signed with the same key as those of `/auth/v1`. With a hook for access tokens,
 * the claims are those that it returns.
 *
 * @param settings read for each token, because they may change
 * @throws Failure 503 without a key; the error of the hook; 501 when the settings' keys cannot sign, or expect the role in another claim
 */
export function accessTokens(
  settings: () => TokenSettings,
  signer: TokenSigner,
  customClaims: AccountRules['customClaims'],
): (session: Session) => Promise<AccessToken> {
  return async (session) => {
    const { jwtSecret, authJwtKeys, authJwtSecret, jwtAud, jwtRoleClaimKey } = settings()
    if ((jwtSecret ?? authJwtKeys ?? authJwtSecret) === null) {
      throw new Failure(503, 'Tokens are not set up: there is no JWT secret')
    }
    const { role, claims } = sessionIdentity(session)
    const iat = Math.floor(Date.now() / 1000)
    const aud = jwtAud === null ? {} : { aud: jwtAud }
    const exp = iat + lifetime
    const times = { audience: jwtAud ?? undefined, issuedAt: iat, expiresAt: exp }
    const custom = await customClaims(session, times)
    const payload = custom ?? JSON.stringify({ ...claims, role, session_id: session.id, ...aud, iat, exp })
    const roleClaim = parseRoleClaim(jwtRoleClaimKey)
    const found = roleClaim.kind === 'invalid' ? undefined : roleInClaims(roleClaim, JSON.parse(payload))
    // The hook may choose another role.
    const isFound = custom === undefined ? found === role : found !== undefined
    const token = await signer.sign(payload)
    if (token === undefined) {
      throw new Failure(501, 'Tokens cannot be made here: the keys of the settings can verify, but not sign')
    }
    if (!isFound) {
      throw new Failure(501, 'Tokens cannot be made here: jwt-role-claim-key looks for the role in another claim')
    }
    return { access_token: token, token_type: 'bearer', expires_in: lifetime }
  }
}
