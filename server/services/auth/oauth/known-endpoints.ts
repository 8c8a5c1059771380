// Endpoints of providers as their documentation names them, for the time in which their discovery document is not available.
//
// https://developers.google.com/identity/openid-connect/openid-connect
// https://developer.apple.com/documentation/signinwithapplerestapi
// https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
// https://docs.slack.dev/authentication/sign-in-with-slack/
// https://vercel.com/docs/integrations/marketplace-api
import type { ServerMetadata } from 'openid-client'
import { microsoftIssuer, microsoftMetadata } from './microsoft.ts'

const googleIssuer = 'https://accounts.google.com'
const appleIssuer = 'https://appleid.apple.com'

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
  [appleIssuer]: {
    authorization_endpoint: 'https://appleid.apple.com/auth/authorize',
    token_endpoint: 'https://appleid.apple.com/auth/token',
    jwks_uri: 'https://appleid.apple.com/auth/keys',
    token_endpoint_auth_methods_supported: [...post],
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
  'https://gitlab.com': { jwks_uri: 'https://gitlab.com/oauth/discovery/keys' },
  'https://id.twitch.tv/oauth2': { jwks_uri: 'https://id.twitch.tv/oauth2/keys' },
  'https://kauth.kakao.com': { jwks_uri: 'https://kauth.kakao.com/.well-known/jwks.json' },
  'https://www.facebook.com': { jwks_uri: 'https://www.facebook.com/.well-known/oauth/openid/jwks/' },
  'https://marketplace.vercel.com': {
    authorization_endpoint: 'https://api.vercel.com/oauth/v2/authorization',
    token_endpoint: 'https://api.vercel.com/oauth/v2/accessToken',
    jwks_uri: 'https://marketplace.vercel.com/.well-known/jwks',
    token_endpoint_auth_methods_supported: [...post],
  },
}

/** The issuers of providers whose settings name none, by the names of GoTrue's settings. */
const issuers: Readonly<Record<string, string>> = {
  google: googleIssuer,
  apple: appleIssuer,
  linkedin_oidc: 'https://www.linkedin.com/oauth',
  slack_oidc: 'https://slack.com',
  vercel_marketplace: 'https://marketplace.vercel.com',
}

/** The issuers of ID tokens that apps get from services whose users sign in without OpenID Connect. */
const idTokenIssuers: Readonly<Record<string, string>> = {
  facebook: 'https://www.facebook.com',
  gitlab: 'https://gitlab.com',
  kakao: 'https://kauth.kakao.com',
  slack: 'https://slack.com',
  snapchat: 'https://accounts.snapchat.com/accounts/oauth2/token',
  twitch: 'https://id.twitch.tv/oauth2',
}

/** Further names of an issuer in its ID tokens. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  [googleIssuer]: ['accounts.google.com'],
  [appleIssuer]: ['https://account.apple.com'],
}

/**
 * The issuer of the ID tokens of a service whose users sign in without OpenID Connect; empty if it issues none.
 *
 * @param url that the settings name; empty for none
 */
export function serviceIssuer(name: string, url: string): string {
  // Servers of GitLab of one's own have their issuer, too.
  if (name === 'gitlab' && url !== '') return url
  return Object.hasOwn(idTokenIssuers, name) ? (idTokenIssuers[name] ?? '') : ''
}

/**
 * The issuer of a provider of OpenID Connect; empty if it is not known.
 *
 * @param url that the settings name; empty for none
 */
export function knownIssuer(name: string, url: string): string {
  if (name === 'azure') return microsoftIssuer(url)
  return url === '' && Object.hasOwn(issuers, name) ? (issuers[name] ?? '') : url
}

/** The names by which ID tokens of an issuer call it. */
export const issuerNames = (issuer: string): string[] => [
  issuer,
  ...(Object.hasOwn(aliases, issuer) ? (aliases[issuer] ?? []) : []),
]

/** What the discovery document of a known issuer says; undefined for any other issuer. */
export function knownMetadata(issuer: string): ServerMetadata | undefined {
  if (Object.hasOwn(byIssuer, issuer)) return { issuer, ...byIssuer[issuer] }
  return microsoftMetadata(issuer)
}
