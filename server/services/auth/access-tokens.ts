// Access tokens: signed and verified with the keys of the settings.
import { isApiKey } from '../../identity/api-key/api-key.ts'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import type { Identity } from '../../identity/identity.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { TokenSigner } from '../../identity/jwt/token-signer.ts'
import type { AccessClaims } from './auth-caller.ts'
import { AuthError, authErrors } from './auth-error.ts'

export type AccessTokens = {
  /**
   * Signs claims.
   *
   * @param payload the claims as JSON text, which keeps all digits of numbers
   * @throws AuthError 500 if no key can sign
   */
  readonly sign: (payload: string) => Promise<string>
  /** @throws AuthError 403 `bad_jwt` */
  readonly verify: (token: string) => Promise<AccessClaims>
  /** The algorithm that tokens are signed with; undefined if no key can sign. */
  readonly algorithm: () => string | undefined
  /** The public keys as JSON text: `{"keys": […]}`. */
  readonly jwks: () => string
}

export type AccessTokenOptions = {
  readonly signer: TokenSigner
  /** Algorithms that are accepted; empty for those of the keys. */
  readonly validMethods: () => readonly string[]
  /** The verifier of the REST API, which accepts the same tokens. */
  readonly verifier: () => JwtVerifier
  readonly lookupApiKey: ApiKeyLookup
}

export function createAccessTokens({ signer, validMethods, verifier, lookupApiKey }: AccessTokenOptions): AccessTokens {
  const identify = async (token: string): Promise<Identity> => {
    try {
      return await (isApiKey(token) ? lookupApiKey(token) : verifier().verify(token))
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error
      throw authErrors.badJwt(`invalid JWT: unable to parse or verify signature, ${error.message}`)
    }
  }
  return {
    sign: async (payload) => {
      const token = await signer.sign(payload)
      if (token !== undefined) return token
      throw new AuthError(500, 'unexpected_failure', 'Tokens cannot be signed: the settings have no key that signs')
    },
    verify: async (token) => {
      const { role, claims } = await identify(token)
      const methods = validMethods()
      if (methods.length > 0 && !isApiKey(token) && !methods.includes(algorithmOf(token))) {
        throw authErrors.badJwt('invalid JWT: unable to parse or verify signature, signing method is not accepted')
      }
      const named: AccessClaims = claims
      return isApiKey(token) ? { ...named, role } : named
    },
    algorithm: () => signer.algorithm,
    jwks: () => signer.jwks,
  }
}

/** The algorithm of a token that was verified. */
function algorithmOf(token: string): string {
  const header = JSON.parse(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString()) as { alg?: string }
  return header.alg ?? ''
}
