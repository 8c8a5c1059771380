// Endpoints of providers as their documentation names them, for the time in which their discovery document is not available.
//
// https://developers.google.com/identity/openid-connect/openid-connect
// https://developer.apple.com/documentation/signinwithapplerestapi
// https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc
// https://docs.gitlab.com/integration/openid_connect_provider/
// https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
// https://docs.slack.dev/authentication/sign-in-with-slack/
// https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/
// https://developers.kakao.com/docs/latest/en/kakaologin/utilize#oidc
import type { ServerMetadata } from 'openid-client'

export const googleIssuer = 'https://accounts.google.com'

type Endpoints = Pick<
  ServerMetadata,
  | 'authorization_endpoint'
  | 'token_endpoint'
  | 'userinfo_endpoint'
  | 'jwks_uri'
  | 'token_endpoint_auth_methods_supported'
>

const post = ['client_secret_post'] as const
const both = ['client_secret_post', 'client_secret_basic'] as const

const byIssuer: Readonly<Record<string, Endpoints>> = {
  [googleIssuer]: {
    authorization_endpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
    token_endpoint: 'https://oauth2.googleapis.com/token',
    userinfo_endpoint: 'https://openidconnect.googleapis.com/v1/userinfo',
    jwks_uri: 'https://www.googleapis.com/oauth2/v3/certs',
    token_endpoint_auth_methods_supported: [...both],
  },
  'https://appleid.apple.com': {
    authorization_endpoint: 'https://appleid.apple.com/auth/authorize',
    token_endpoint: 'https://appleid.apple.com/auth/token',
    jwks_uri: 'https://appleid.apple.com/auth/keys',
    token_endpoint_auth_methods_supported: [...post],
  },
  'https://gitlab.com': {
    authorization_endpoint: 'https://gitlab.com/oauth/authorize',
    token_endpoint: 'https://gitlab.com/oauth/token',
    userinfo_endpoint: 'https://gitlab.com/oauth/userinfo',
    jwks_uri: 'https://gitlab.com/oauth/discovery/keys',
    token_endpoint_auth_methods_supported: [...both],
  },
  'https://www.linkedin.com/oauth': {
    authorization_endpoint: 'https://www.linkedin.com/oauth/v2/authorization',
    token_endpoint: 'https://www.linkedin.com/oauth/v2/accessToken',
    userinfo_endpoint: 'https://api.linkedin.com/v2/userinfo',
    jwks_uri: 'https://www.linkedin.com/oauth/openid/jwks',
    token_endpoint_auth_methods_supported: [...post],
  },
  'https://slack.com': {
    authorization_endpoint: 'https://slack.com/openid/connect/authorize',
    token_endpoint: 'https://slack.com/api/openid.connect.token',
    userinfo_endpoint: 'https://slack.com/api/openid.connect.userInfo',
    jwks_uri: 'https://slack.com/openid/connect/keys',
    token_endpoint_auth_methods_supported: [...both],
  },
  'https://id.twitch.tv/oauth2': {
    authorization_endpoint: 'https://id.twitch.tv/oauth2/authorize',
    token_endpoint: 'https://id.twitch.tv/oauth2/token',
    userinfo_endpoint: 'https://id.twitch.tv/oauth2/userinfo',
    jwks_uri: 'https://id.twitch.tv/oauth2/keys',
    token_endpoint_auth_methods_supported: [...post],
  },
  'https://kauth.kakao.com': {
    authorization_endpoint: 'https://kauth.kakao.com/oauth/authorize',
    token_endpoint: 'https://kauth.kakao.com/oauth/token',
    userinfo_endpoint: 'https://kapi.kakao.com/v1/oidc/userinfo',
    jwks_uri: 'https://kauth.kakao.com/.well-known/jwks.json',
    token_endpoint_auth_methods_supported: [...post],
  },
}

/** The issuers of providers whose settings name none, by the names of GoTrue's settings. */
const issuers: Readonly<Record<string, string>> = {
  google: googleIssuer,
  apple: 'https://appleid.apple.com',
  gitlab: 'https://gitlab.com',
  kakao: 'https://kauth.kakao.com',
  linkedin_oidc: 'https://www.linkedin.com/oauth',
  slack_oidc: 'https://slack.com',
  twitch: 'https://id.twitch.tv/oauth2',
}

/** Microsoft's tenant as GoTrue's setting names it, without the version of the endpoint. */
const tenantUrl = /^https:\/\/login\.microsoftonline\.com\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/?$/

/**
 * The issuer of a provider; empty if it is not known.
 *
 * @param url that the settings name; empty for none
 */
export function knownIssuer(name: string, url: string): string {
  if (name === 'azure' && tenantUrl.test(url)) return `${url.replace(/\/$/, '')}/v2.0`
  return url === '' && Object.hasOwn(issuers, name) ? (issuers[name] ?? '') : url
}

/** The issuer of one tenant of Microsoft. Those of all tenants (`common`) have no fixed issuer. */
const microsoftTenant = /^(https:\/\/login\.microsoftonline\.com\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/v2\.0$/

/** What the discovery document of a known issuer says; undefined for any other issuer. */
export function knownMetadata(issuer: string): ServerMetadata | undefined {
  const endpoints = Object.hasOwn(byIssuer, issuer) ? byIssuer[issuer] : ofMicrosoft(issuer)
  return endpoints && { issuer, ...endpoints }
}

function ofMicrosoft(issuer: string): Endpoints | undefined {
  const [, tenant] = microsoftTenant.exec(issuer) ?? []
  if (tenant === undefined) return undefined
  return {
    authorization_endpoint: `${tenant}/oauth2/v2.0/authorize`,
    token_endpoint: `${tenant}/oauth2/v2.0/token`,
    userinfo_endpoint: 'https://graph.microsoft.com/oidc/userinfo',
    jwks_uri: `${tenant}/discovery/v2.0/keys`,
    token_endpoint_auth_methods_supported: [...both],
  }
}
