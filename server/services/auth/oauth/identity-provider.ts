// What the service needs of a provider, whether it speaks OpenID Connect or OAuth 2.0 with an API of its own.
import type { JWTPayload } from 'jose'
import type { ProviderClaims } from './provider-user.ts'

/** What a provider returned for a code. */
export type ProviderTokens = {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly claims: ProviderClaims
}

/** What a callback and the ID token must contain. */
export type CallbackChecks = {
  readonly state: string
  readonly nonce: string
  /** The secret of PKCE, or what was kept of a request token. */
  readonly codeVerifier: string
}

/** Where a sign-in with OAuth 1.0a continues, and what its callback is checked with. */
export type RequestToken = { readonly url: string; readonly kept: string }

export type IdentityProvider = {
  /** Who vouches for the claims; part of the data of an identity. */
  readonly issuer: string
  /**
   * The URL at which the user signs in.
   *
   * @param parameters of the authorization request, besides `client_id` and `response_type`
   */
  readonly authorizationUrl: (parameters: Readonly<Record<string, string>>) => Promise<string>
  /**
   * Begins a sign-in with OAuth 1.0a, in place of `authorizationUrl`.
   *
   * @param callback the redirect URI with the state of the flow, which is returned to
   * @throws Error if the provider gives no token
   */
  readonly requestToken?: (callback: string) => Promise<RequestToken>
  /**
   * Exchanges the code of a callback, and returns the claims of the user.
   *
   * @param callback the redirect URI with the parameters of the callback
   * @throws ProviderError if the user has refused; the error of openid-client, or of the request for the user
   */
  readonly exchange: (callback: URL, checks: CallbackChecks) => Promise<ProviderTokens>
  /**
   * Verifies signature, issuer and time of an ID token. The caller must check audience and nonce.
   *
   * @param accessToken must be that of the claim `at_hash`, if both exist
   * @throws Error if the token is not valid
   */
  readonly verifyIdToken: (token: string, accessToken: string | undefined) => Promise<JWTPayload>
}
