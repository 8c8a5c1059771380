// The providers of the settings.
import type { AuthSettings, ProviderSettings } from '../settings.ts'
import { appleSecret } from './apple.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { issuerNames, knownIssuer, serviceIssuer } from './known-endpoints.ts'
import { oauthService } from './known-services.ts'
import { isTenantOf } from './microsoft.ts'
import { OAuthProvider } from './oauth-provider.ts'
import { OidcProvider } from './oidc-provider.ts'
import type { ProviderClaims } from './provider-user.ts'
import { tokenClaims } from './token-claims.ts'
import { TwitterProvider } from './twitter-provider.ts'

/** A provider that is enabled. */
export type Provider = {
  /** In lower case: `google`. */
  readonly name: string
  readonly oidc: IdentityProvider
  /** What every sign-in asks for. */
  readonly scopes: readonly string[]
  /** Further parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>
  /** At least one; the first is used for sign-in, tokens for all are accepted. */
  readonly clientIds: readonly string[]
  /** Undefined for `/callback` of the service. */
  readonly redirectUri: string | undefined
  readonly skipNonceCheck: boolean
  readonly emailOptional: boolean
  /** Reads claims of its ID tokens as those of OpenID Connect. */
  readonly claims: (claims: ProviderClaims) => ProviderClaims
}

/** Why a provider cannot be used, in GoTrue's words. */
export class UnsupportedProvider extends Error {
  readonly kind: 'unknown' | 'disabled' | 'incomplete'

  constructor(kind: UnsupportedProvider['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** Providers of GoTrue, which are disabled unless they are in the settings. */
const known: ReadonlySet<string> = new Set([
  'apple',
  'azure',
  'bitbucket',
  'discord',
  'facebook',
  'figma',
  'fly',
  'github',
  'gitlab',
  'google',
  'kakao',
  'keycloak',
  'linkedin',
  'linkedin_oidc',
  'notion',
  'slack',
  'slack_oidc',
  'snapchat',
  'spotify',
  'twitch',
  'twitter',
  'vercel_marketplace',
  'workos',
  'x',
  'zoom',
])

type ProvidersSettings = Pick<AuthSettings, 'authProviders' | 'authExternalAllowedIdTokenIssuers'>

/** Names of providers in requests: `custom:` stands before those that a client's types do not know. */
export const settingName = (name: string): string => name.toLowerCase().replace(/^custom:/, '')

export class Providers {
  readonly #settings: () => ProvidersSettings
  readonly #now: () => number
  /** Providers by what they are discovered with, so that changed settings take effect. */
  readonly #oidc = new Map<string, OidcProvider>()

  /** @param now milliseconds since 1970 */
  constructor(settings: () => ProvidersSettings, now: () => number = Date.now) {
    this.#settings = settings
    this.#now = now
  }

  /**
   * A provider by the name in a request.
   *
   * @throws UnsupportedProvider
   */
  find(name: string): Provider {
    const key = settingName(name)
    const settings = this.#settings().authProviders.get(key)
    if (!settings && !known.has(key)) throw new UnsupportedProvider('unknown', `Provider ${name} could not be found`)
    if (settings?.enabled !== true) throw new UnsupportedProvider('disabled', 'provider is not enabled')
    return this.#provider(key, settings)
  }

  /**
   * The provider whose ID tokens are accepted by the name of their issuer: one that is enabled, or that is not enabled but
   * whose issuer is one of GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS; the issuer is its name then. Undefined for any other
   * issuer: only the settings say which client ids a token may be for.
   *
   * @throws UnsupportedProvider if the provider has no client id
   */
  findByIssuer(issuer: string): Provider | undefined {
    const { authProviders, authExternalAllowedIdTokenIssuers: allowed } = this.#settings()
    const same = [...authProviders].filter(([name, settings]) => isNameOf(issuer, issuerOf(name, settings)))
    const [enabled] = same.filter(([, settings]) => settings.enabled)
    if (enabled) return this.#provider(...enabled)
    const [complete] = same.filter(([, { clientIds }]) => clientIds.length > 0)
    return complete && allowed.includes(issuer) ? this.#provider(...complete, issuer) : undefined
  }

  /** The issuers of GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS whose tokens are refused, because no provider has client ids for them. */
  issuersWithoutClients(): readonly string[] {
    const { authProviders, authExternalAllowedIdTokenIssuers: allowed } = this.#settings()
    const complete = [...authProviders].filter(([, { clientIds }]) => clientIds.length > 0)
    const issuers = new Set(complete.map(([name, settings]) => issuerOf(name, settings)))
    return allowed.filter((issuer) => !issuers.has(issuer))
  }

  /**
   * @param name of the provider's settings
   * @param calledName how accounts call the provider
   */
  #provider(name: string, settings: ProviderSettings, calledName = name): Provider {
    const { clientIds, redirectUri, skipNonceCheck, emailOptional } = settings
    const [clientId] = clientIds
    if (clientId === undefined) throw new UnsupportedProvider('incomplete', 'missing OAuth client ID')
    const service = oauthService(name, settings.url)
    return {
      name: calledName,
      scopes: service?.scopes ?? (name === 'apple' ? appleScopes : usualScopes),
      parameters: name === 'apple' ? byForm : (service?.parameters ?? {}),
      oidc: this.#identityProvider(name, settings, clientId),
      clientIds,
      redirectUri: redirectUri === '' ? undefined : redirectUri,
      // Facebook's apps cannot choose the nonce.
      skipNonceCheck: skipNonceCheck || name === 'facebook',
      emailOptional,
      claims: (claims) => tokenClaims(name, claims),
    }
  }

  #identityProvider(name: string, settings: ProviderSettings, clientId: string): IdentityProvider {
    const { url, secret } = settings
    if (name === 'twitter') return new TwitterProvider(url, { clientId, secret }, this.#now)
    const service = oauthService(name, url)
    const hasIssuer = URL.canParse(issuerOf(name, settings))
    if (service) {
      return new OAuthProvider(
        service,
        { clientId, secret },
        hasIssuer ? this.#oidcOf(name, settings, clientId) : undefined,
      )
    }
    if (!hasIssuer) throw new UnsupportedProvider('incomplete', `unable to find URL for the ${name} provider`)
    return this.#oidcOf(name, settings, clientId)
  }

  #oidcOf(name: string, settings: ProviderSettings, clientId: string): OidcProvider {
    const issuer = issuerOf(name, settings)
    const { secret, keyId, teamId, privateKey } = settings
    const key = JSON.stringify([name, issuer, clientId, secret, keyId, teamId, privateKey])
    const existing = this.#oidc.get(key)
    if (existing) return existing
    // Only an operator's settings add to it.
    if (this.#oidc.size >= maxProviders) this.#oidc.clear()
    const options = {
      issuer,
      clientId,
      secret: name === 'apple' ? () => appleSecret(settings, clientId, this.#now) : () => secret,
      // Only a tenant's ID tokens say whether it owns the domain of an address.
      userInformation: name !== 'azure',
      read: (claims: ProviderClaims) => tokenClaims(name, claims),
    }
    const created = new OidcProvider(options, this.#now)
    this.#oidc.set(key, created)
    return created
  }
}

const maxProviders = 100
/** The issuer of a provider's ID tokens; empty if it has none. */
function issuerOf(name: string, { url }: ProviderSettings): string {
  if (name === 'twitter') return ''
  return oauthService(name, url) ? serviceIssuer(name, url) : knownIssuer(name, url)
}

/** Whether ID tokens of a provider may name an issuer. */
const isNameOf = (issuer: string, configured: string): boolean =>
  issuerNames(configured).includes(issuer) || isTenantOf(configured, issuer)

/** `openid` makes the provider issue an ID token. */
const usualScopes = ['openid', 'email', 'profile'] as const

/** Apple has no scope `profile`, and sends addresses and names only by a form. */
const appleScopes = ['openid', 'email', 'name'] as const
const byForm = { response_mode: 'form_post' } as const
