// A provider of OpenID Connect: discovery, the authorization code flow, and verification of ID tokens.
import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createRemoteJWKSet, customFetch, decodeProtectedHeader, jwtVerify, type JWTPayload } from 'jose'
import type * as OpenId from 'openid-client'
import { tracedFetch } from '../../../common/traced-fetch.ts'
import type { ProviderClaims } from './provider-user.ts'

export type OidcOptions = {
  readonly issuer: string
  readonly clientId: string
  /** Empty for a public client. */
  readonly secret: string
}

/** What a provider returned for a code. */
export type ProviderTokens = {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly claims: ProviderClaims
}

/** Seconds that a request to a provider may take. */
const timeout = 10
/** Milliseconds after which the provider is discovered again. */
const maxAge = 3_600_000
/** Milliseconds before each further attempt to reach a provider. */
const retries: readonly number[] = [200, 800]

/** Algorithms of signatures that a public key verifies. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** Loaded at first use: most servers have no providers, and loading takes 50 ms. */
const openId = (): Promise<typeof OpenId> => import('openid-client')

type Discovered = {
  readonly configuration: OpenId.Configuration
  readonly keys: ReturnType<typeof createRemoteJWKSet>
  readonly at: number
}

export class OidcProvider {
  readonly #options: OidcOptions
  readonly #now: () => number
  #discovered: Discovered | undefined
  #discovering: Promise<Discovered> | undefined

  constructor(options: OidcOptions, now: () => number = Date.now) {
    this.#options = options
    this.#now = now
  }

  get issuer(): string {
    return this.#options.issuer
  }

  /**
   * The URL at which the user signs in.
   *
   * @param parameters of the authorization request, besides `client_id` and `response_type`
   */
  async authorizationUrl(parameters: Readonly<Record<string, string>>): Promise<string> {
    const client = await openId()
    const { configuration } = await this.#discover()
    return client.buildAuthorizationUrl(configuration, parameters).href
  }

  /**
   * Exchanges the code of a callback, and returns the claims of the user, completed by those of the user information.
   *
   * @param callback the redirect URI with the parameters of the callback
   * @param checks what the callback and the ID token must contain
   * @throws the error of openid-client
   */
  async exchange(
    callback: URL,
    checks: { readonly state: string; readonly nonce: string; readonly codeVerifier: string },
  ): Promise<ProviderTokens> {
    const client = await openId()
    const { configuration } = await this.#discover()
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      expectedState: checks.state,
      expectedNonce: checks.nonce,
      pkceCodeVerifier: checks.codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw new TypeError('the provider returned no ID token')
    return {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      claims: await this.#completed(configuration, tokens.access_token, claims),
    }
  }

  /** Many providers have address and profile only in the user information. */
  async #completed(
    configuration: OpenId.Configuration,
    accessToken: string,
    claims: OpenId.IDToken,
  ): Promise<ProviderClaims> {
    const hasAddress = claims.email !== undefined && claims.email_verified !== undefined
    if (hasAddress || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
    const client = await openId()
    const information = await client.fetchUserInfo(configuration, accessToken, claims.sub)
    // Whether an address is verified is said by the same source as the address.
    const source = claims.email === undefined || claims.email === information.email ? information : claims
    return { ...information, ...claims, email: source.email, email_verified: source.email_verified }
  }

  /**
   * Verifies signature, issuer and time of an ID token. The caller must check audience and nonce.
   *
   * @param accessToken must be that of the claim `at_hash`, if both exist
   * @throws Error if the token is not valid
   */
  async verifyIdToken(token: string, accessToken: string | undefined): Promise<JWTPayload> {
    const { configuration, keys } = await this.#discover()
    const { issuer } = configuration.serverMetadata()
    const { payload } = await jwtVerify(token, keys, {
      // Google has both forms.
      issuer: issuer === googleIssuer ? [issuer, 'accounts.google.com'] : issuer,
      algorithms,
      requiredClaims: ['exp', 'iat', 'aud'],
    })
    if (accessToken !== undefined && payload.at_hash !== undefined) {
      const expected = accessTokenHash(accessToken, decodeProtectedHeader(token).alg ?? '')
      const given = Buffer.from(typeof payload.at_hash === 'string' ? payload.at_hash : '')
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new TypeError('the access token is not that of the ID token')
      }
    }
    return payload
  }

  /** Discovers the provider, once for concurrent callers, and again after an hour. A failure is not remembered. */
  async #discover(): Promise<Discovered> {
    const known = this.#discovered
    if (known && this.#now() - known.at < maxAge) return known
    this.#discovering ??= this.#discoverNow().finally(() => (this.#discovering = undefined))
    try {
      return (this.#discovered = await this.#discovering)
    } catch (error) {
      // What was discovered before is better than nothing.
      if (known) return known
      throw error
    }
  }

  async #discoverNow(): Promise<Discovered> {
    const { issuer, clientId, secret } = this.#options
    const url = new URL(issuer)
    const client = await openId()
    const found = await retried(() =>
      client.discovery(url, clientId, undefined, client.None(), {
        timeout,
        [client.customFetch]: tracedFetch,
        // The operator has chosen the scheme.
        execute: url.protocol === 'http:' ? [client.allowInsecureRequests] : [],
      }),
    )
    const metadata = found.serverMetadata()
    const configuration = new client.Configuration(
      metadata,
      clientId,
      undefined,
      authentication(client, metadata, secret),
    )
    configuration.timeout = timeout
    configuration[client.customFetch] = tracedFetch
    if (url.protocol === 'http:') client.allowInsecureRequests(configuration)
    // Verifies signatures of ID tokens, too, although they come from the provider directly.
    client.enableNonRepudiationChecks(configuration)
    if (metadata.jwks_uri === undefined) throw new TypeError(`the provider ${issuer} has no jwks_uri`)
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), {
      timeoutDuration: timeout * 1000,
      [customFetch]: tracedFetch,
    })
    return { configuration, keys, at: this.#now() }
  }
}

export const googleIssuer = 'https://accounts.google.com'

/** How the client proves its secret. Basic is the default of OpenID Connect. */
function authentication(client: typeof OpenId, metadata: OpenId.ServerMetadata, secret: string): OpenId.ClientAuth {
  if (secret === '') return client.None()
  const supported = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return supported.includes('client_secret_post') && !supported.includes('client_secret_basic')
    ? client.ClientSecretPost(secret)
    : client.ClientSecretBasic(secret)
}

/** Tries again when a provider cannot be reached. */
async function retried<T>(task: () => Promise<T>): Promise<T> {
  for (const delay of retries) {
    try {
      return await task()
    } catch {
      await pause(delay)
    }
  }
  return task()
}

/** https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken */
function accessTokenHash(accessToken: string, algorithm: string): Buffer {
  const bits = /(?:256|384|512)$/.exec(algorithm)?.[0] ?? '512'
  const hash = createHash(`sha${bits}`).update(accessToken, 'ascii').digest()
  return Buffer.from(hash.subarray(0, hash.length / 2).toString('base64url'))
}
