// What clients learn of the OAuth server by themselves: RFC 8414 and OpenID Connect Discovery, of which one document is enough.
import type { IncomingMessage } from 'node:http'
import { supportedScopes } from '../../../identity/oauth-scopes.ts'
import type { AuthContext } from '../auth-context.ts'
import { signsIdTokens } from './id-token.ts'
import { authMethods, grantTypes } from './oauth-client.ts'

/** The endpoints have the address at which the request has reached the service, the issuer is that of the tokens. */
export function serverMetadata(context: AuthContext, request: IncomingMessage, algorithms: readonly string[]): object {
  const base = context.externalUrl(request)
  // Without them, a client that asks for all scopes gets what there is.
  const scopes = signsIdTokens(context) ? supportedScopes : supportedScopes.filter((scope) => scope !== 'openid')
  return {
    issuer: context.issuer(),
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    jwks_uri: `${base}/.well-known/jwks.json`,
    userinfo_endpoint: `${base}/oauth/userinfo`,
    ...(context.settings().authOAuthServerAllowDynamicRegistration
      ? { registration_endpoint: `${base}/oauth/clients/register` }
      : {}),
    scopes_supported: scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: grantTypes,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: algorithms,
    token_endpoint_auth_methods_supported: authMethods,
    claims_supported: [
      ...['sub', 'aud', 'iss', 'exp', 'iat', 'auth_time', 'nonce', 'email', 'email_verified', 'phone_number'],
      ...['phone_number_verified', 'name', 'picture', 'preferred_username', 'updated_at'],
    ],
    code_challenge_methods_supported: ['S256', 'plain'],
  }
}
