// What the service is, which ways to sign in it has, and its public keys.
import { version } from '../../common/version.ts'
import type { IncomingMessage } from 'node:http'
import type { AuthContext } from './auth-context.ts'
import { defineAuthRoute, type AuthRoute } from './dialect.ts'
import { serverMetadata } from './oauth-server/discovery.ts'
import { requireOAuthServer } from './oauth-server/oauth-refusal.ts'
import type { AuthSettings } from './settings.ts'

/** Names that clients expect, whether they are configured or not. */
const providerNames = [
  'apple',
  'azure',
  'bitbucket',
  'discord',
  'facebook',
  'snapchat',
  'figma',
  'fly',
  'github',
  'gitlab',
  'google',
  'keycloak',
  'kakao',
  'linkedin',
  'linkedin_oidc',
  'notion',
  'spotify',
  'slack',
  'slack_oidc',
  'workos',
  'twitch',
  'twitter',
  'zoom',
]

const cached = { 'Cache-Control': 'public, max-age=600' }

export const infoRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/health',
    id: 'authHealth',
    summary: 'Check that the sign-in service responds',
    caller: 'anyone',
    success: [200, 'It does.'],
    handler: () => ({
      json: {
        version: `v${version}`,
        name: 'GoTrue',
        description: 'GoTrue is a user registration and authentication API',
      },
    }),
  }),
  defineAuthRoute({
    method: 'get',
    path: '/settings',
    id: 'authSettings',
    summary: 'Show which ways to sign in there are',
    caller: 'anyone',
    success: [200, 'The public settings.'],
    handler: ({ context }) => ({ json: publicSettings(context.settings()) }),
  }),
  defineAuthRoute({
    method: 'get',
    path: '/.well-known/jwks.json',
    id: 'authJwks',
    summary: 'The public keys of access tokens',
    caller: 'anyone',
    success: [200, 'A JSON Web Key Set.'],
    handler: ({ context }) => ({ text: context.accessTokens.jwks(), headers: cached }),
  }),
  defineAuthRoute({
    method: 'get',
    path: '/.well-known/openid-configuration',
    id: 'authOpenIdConfiguration',
    summary: 'The issuer of tokens, the address of its keys, and the OAuth server, as OpenID Connect describes them',
    caller: 'anyone',
    success: [200, 'The configuration.'],
    handler: ({ context, request }) => ({ json: openIdConfiguration(context, request), headers: cached }),
  }),
  defineAuthRoute({
    method: 'get',
    path: '/.well-known/oauth-authorization-server',
    id: 'authOAuthServerMetadata',
    summary: 'The endpoints of the OAuth server, as RFC 8414 describes them',
    caller: 'anyone',
    success: [200, 'The metadata.'],
    errors: { 404: 'The OAuth server is disabled.' },
    handler: ({ context, request }) => {
      requireOAuthServer(context.settings())
      return { json: serverMetadata(context, request, algorithmsOf(context)), headers: cached }
    },
  }),
]

const publicSettings = (settings: AuthSettings): object => ({
  external: {
    anonymous_users: settings.authExternalAnonymousUsersEnabled,
    ...Object.fromEntries(providerNames.map((name) => [name, false])),
    ...Object.fromEntries(Array.from(settings.authProviders, ([name, { enabled }]) => [name, enabled])),
    email: settings.authExternalEmailEnabled,
    phone: settings.authExternalPhoneEnabled,
  },
  disable_signup: settings.authDisableSignup,
  mailer_autoconfirm: settings.authMailerAutoconfirm,
  phone_autoconfirm: settings.authSmsAutoconfirm,
  sms_provider: settings.authSmsProvider ?? '',
  saml_enabled: false,
  passkeys_enabled: settings.authPasskeyEnabled,
})

/** The algorithms of the published keys; HS256 without published keys. */
function algorithmsOf({ accessTokens }: AuthContext): readonly string[] {
  const { keys } = JSON.parse(accessTokens.jwks()) as { readonly keys: readonly { readonly alg: string }[] }
  const algorithms = new Set(keys.map(({ alg }) => alg))
  return algorithms.size === 0 ? ['HS256'] : [...algorithms]
}

/**
 * The metadata of the OAuth server. Without one, what clients need to verify access tokens: the document then names no endpoint
 * and no way to get tokens, because clients would take them for those of the standard.
 */
function openIdConfiguration(context: AuthContext, request: IncomingMessage): object {
  const algorithms = algorithmsOf(context)
  if (context.settings().authOAuthServerEnabled) return serverMetadata(context, request, algorithms)
  return {
    issuer: context.issuer(),
    jwks_uri: `${context.externalUrl(request)}/.well-known/jwks.json`,
    response_types_supported: [],
    grant_types_supported: [],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: algorithms,
    claims_supported: [
      'iss',
      'sub',
      'aud',
      'exp',
      'iat',
      'email',
      'phone',
      'role',
      'aal',
      'amr',
      'session_id',
      'is_anonymous',
      'app_metadata',
      'user_metadata',
    ],
  }
}
