// Claims of ID tokens whose names or meaning are a provider's own, read as those of OpenID Connect.
import type { ProviderClaims } from './provider-user.ts'

/** Claims of the protocol, which say nothing about the user. */
const ofProtocol: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'azp', 'iat', 'nbf', 'exp', 'jti', 'typ', 'acr', 'nonce', 'sid', 'session_state'],
  ...['at_hash', 'c_hash', 'auth_time', 'aio', 'rh', 'uti', 'ver', 'sid'],
])

/** All that the profile does not contain. */
const others = (claims: ProviderClaims, inProfile: readonly string[]): object =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !ofProtocol.has(name) && !inProfile.includes(name)))

const only = (claims: ProviderClaims, ...names: readonly string[]): object =>
  Object.fromEntries(names.map((name) => [name, claims[name]]))

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

const slackTeam = 'https://slack.com/team_id'

/** By the name of the provider. What a function returns replaces claims of the token. */
const readers: Readonly<Record<string, (claims: ProviderClaims) => ProviderClaims>> = {
  google: (claims) => ({ custom_claims: only(claims, 'hd') }),
  apple: (claims) => ({
    custom_claims: {
      ...only(claims, 'auth_time', 'transfer_sub'),
      // A boolean, or its text.
      is_private_email: claims.is_private_email === undefined ? undefined : isTrue(claims.is_private_email),
    },
  }),
  azure: (claims) => ({ custom_claims: others(claims, ['name', 'preferred_username']) }),
  keycloak: (claims) => ({ custom_claims: others(claims, ['name', 'email', 'email_verified']) }),
  slack_oidc: (claims) => ({ custom_claims: only(claims, slackTeam) }),
  kakao: ({ nickname }) => ({ name: nickname, preferred_username: nickname }),
  // Facebook passes on confirmed addresses only.
  facebook: ({ email }) => ({ email_verified: isText(email) }),
  vercel_marketplace: (claims) => ({
    // One id for a person in all teams, where the integration may see it.
    sub: isText(claims.global_user_id) ? `global_user_id:${String(claims.global_user_id)}` : claims.sub,
    name: claims.user_name,
    picture: claims.user_avatar_url,
    // Vercel passes on verified addresses only.
    email: claims.user_email,
    email_verified: isText(claims.user_email),
  }),
}

const isTrue = (value: unknown): boolean => value === true || value === 'true'

/** The claims of a token of a provider, by its name in the settings. */
export const tokenClaims = (provider: string, claims: ProviderClaims): ProviderClaims =>
  Object.hasOwn(readers, provider) ? { ...claims, ...readers[provider]?.(claims) } : claims
