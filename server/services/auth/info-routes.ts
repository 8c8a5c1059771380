// What the service is, which ways to sign in it has, and its public keys.
import { version } from '../../common/version.ts'
import { defineAuthRoute, type AuthRoute } from './auth-route.ts'
import type { AuthSettings } from './settings.ts'

/** Names that clients expect, whether they are configured or not. */
const providerNames = [
  ...['apple', 'azure', 'bitbucket', 'discord', 'facebook', 'snapchat', 'figma', 'fly', 'github', 'gitlab', 'google'],
  ...['keycloak', 'kakao', 'linkedin', 'linkedin_oidc', 'notion', 'spotify', 'slack', 'slack_oidc', 'workos'],
  ...['twitch', 'twitter', 'zoom'],
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
    summary: 'The addresses of the service, as OpenID Connect describes them',
    caller: 'anyone',
    success: [200, 'The configuration.'],
    handler: ({ context, request }) => {
      return { json: openIdConfiguration(context.issuer(), context.externalUrl(request)), headers: cached }
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
  passkeys_enabled: false,
})

const openIdConfiguration = (issuer: string, base: string): object => ({
  issuer,
  authorization_endpoint: `${base}/oauth/authorize`,
  token_endpoint: `${base}/oauth/token`,
  jwks_uri: `${base}/.well-known/jwks.json`,
  userinfo_endpoint: `${base}/oauth/userinfo`,
  scopes_supported: ['openid', 'profile', 'email', 'phone'],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256', 'HS256', 'ES256'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  claims_supported: [
    ...['sub', 'aud', 'iss', 'exp', 'iat', 'auth_time', 'nonce', 'email', 'email_verified', 'phone_number'],
    ...['phone_number_verified', 'name', 'picture', 'preferred_username', 'updated_at'],
  ],
  code_challenge_methods_supported: ['S256', 'plain'],
})
