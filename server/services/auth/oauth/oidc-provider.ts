// A provider of OpenID Connect: discovery, the authorization code flow, and verification of ID tokens.
import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { JSONWebKeySet, JWTPayload } from 'jose'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote'
import { jwtVerify } from 'jose/jwt/verify'
import type * as OpenId from 'openid-client'
import { tracedFetch } from '../../traced-fetch.ts'
import { issuerNames, knownMetadata } from './known-endpoints.ts'
import type { CallbackChecks, IdentityProvider, ProviderTokens } from './identity-provider.ts'
import { isAcceptedTenant, isOfManyTenants } from './microsoft.ts'
import type { ProviderClaims } from './provider-user.ts'

export type OidcOptions = {
  readonly issuer: string
  readonly clientId: string
  /** Empty for a public client. Read at each request. */
  readonly secret: () => string
  /** Whether the user information completes the claims of ID tokens. */
  readonly userInformation: boolean
  /** Reads claims of its own as those of OpenID Connect. */
  readonly read?: (claims: ProviderClaims) => ProviderClaims
}

/** Seconds that a request to a provider may take. */
const timeout = 10
/** Seconds by which the clock of a provider may differ, as openid-client assumes for the tokens that it verifies itself. */
const clockTolerance = 30
/** Milliseconds after which the provider is discovered again. */
const maxAge = 3_600_000
/** Milliseconds before each further attempt to reach a provider, within its time. */
const retries: readonly number[] = [200, 800]
/** Milliseconds after which a provider that could not be reached in the background is discovered again. */
const pauseAfterFailure = 30_000

/** Algorithms of signatures that a public key verifies. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** Loaded at first use: most servers have no providers, and loading takes 50 ms. */
const openId = (): Promise<typeof OpenId> => import('openid-client')

/** How to reach a provider. */
type Connection = {
  readonly configuration: OpenId.Configuration
  readonly keys: ReturnType<typeof createRemoteJWKSet>
}

/**
 * A provider, reached by what its discovery document says. Endpoints that are known without it are used until it has been
 * read, and after an hour it is read again in the background: a provider whose document is not available is usable as soon
 * as its other endpoints answer.
 */
export class OidcProvider implements IdentityProvider {
  readonly #options: OidcOptions
  readonly #now: () => number
  #connection: Connection | undefined
  #discovering: Promise<Connection> | undefined
  /** When the document is read again. */
  #staleAt = 0

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
    const { configuration } = await this.#connect()
    return client.buildAuthorizationUrl(configuration, parameters).href
  }

  /**
   * Exchanges the code of a callback, and returns the claims of the user, completed by those of the user information.
   *
   * @param callback the redirect URI with the parameters of the callback
   * @param checks what the callback and the ID token must contain
   * @throws the error of openid-client
   */
  async exchange(callback: URL, checks: CallbackChecks): Promise<ProviderTokens> {
    const client = await openId()
    const { configuration } = await this.#connect()
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      expectedState: checks.state,
      expectedNonce: checks.nonce,
      pkceCodeVerifier: checks.codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw new TypeError('the provider returned no ID token')
    this.#requireTenant(configuration, claims, undefined, undefined)
    const { read = (it: ProviderClaims) => it } = this.#options
    return {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      claims: read(await this.#completed(configuration, tokens.access_token, claims)),
    }
  }

  /** Many providers have address and profile only in the user information. */
  async #completed(
    configuration: OpenId.Configuration,
    accessToken: string,
    claims: OpenId.IDToken,
  ): Promise<ProviderClaims> {
    const hasAddress = claims.email !== undefined && claims.email_verified !== undefined
    if (hasAddress || !this.#options.userInformation || configuration.serverMetadata().userinfo_endpoint === undefined)
      return claims
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
    const { configuration, keys } = await this.#connect()
    const { issuer } = configuration.serverMetadata()
    const { payload } = await jwtVerify(token, keys, {
      ...(isOfManyTenants(issuer) ? {} : { issuer: issuerNames(issuer) }),
      algorithms,
      clockTolerance,
      requiredClaims: ['exp', 'iat', 'aud', 'iss'],
    })
    this.#requireTenant(configuration, payload, keys.jwks(), decodeProtectedHeader(token).kid)
    if (accessToken !== undefined && payload.at_hash !== undefined) {
      const expected = accessTokenHash(accessToken, decodeProtectedHeader(token).alg ?? '')
      const given = Buffer.from(typeof payload.at_hash === 'string' ? payload.at_hash : '')
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new TypeError('the access token is not that of the ID token')
      }
    }
    return payload
  }

  /** @throws TypeError if claims are those of a tenant of Microsoft that the settings do not let in */
  #requireTenant(
    configuration: OpenId.Configuration,
    claims: JWTPayload,
    keys: JSONWebKeySet | undefined,
    keyId: string | undefined,
  ): void {
    const documented = configuration.serverMetadata().issuer
    if (!isOfManyTenants(documented)) return
    const tenants = { configured: this.issuer, documented, keys, keyId }
    if (!isAcceptedTenant(claims, tenants)) throw new TypeError('the ID token is not of a tenant that is let in')
  }

  /** @throws the error of the discovery of a provider about which nothing is known */
  async #connect(): Promise<Connection> {
    // What was discovered meanwhile precedes.
    const assumed = this.#connection ? undefined : await this.#assumed()
    const known = (this.#connection ??= assumed)
    if (!known) return this.#discover()
    if (this.#now() >= this.#staleAt) void this.#discover().catch(() => undefined)
    return known
  }

  /** Discovers the provider, once for concurrent callers. */
  #discover(): Promise<Connection> {
    this.#discovering ??= this.#discoverNow()
      .then(
        (connection) => {
          this.#staleAt = this.#now() + maxAge
          return (this.#connection = connection)
        },
        (error: unknown) => {
          this.#staleAt = this.#now() + pauseAfterFailure
          throw error
        },
      )
      .finally(() => (this.#discovering = undefined))
    return this.#discovering
  }

  async #discoverNow(): Promise<Connection> {
    const { issuer, clientId, secret } = this.#options
    const client = await openId()
    const configuration = await retried(() =>
      client.discovery(new URL(issuer), clientId, undefined, authentication(client, secret), {
        timeout,
        [client.customFetch]: tracedFetch,
        // The operator has chosen the scheme.
        execute: this.#isInsecure ? [client.allowInsecureRequests] : [],
      }),
    )
    return this.#connectionOf(client, configuration)
  }

  /** A connection by endpoints that are known without discovery; undefined if there are none. */
  async #assumed(): Promise<Connection | undefined> {
    const { issuer, clientId, secret } = this.#options
    const metadata = knownMetadata(issuer)
    if (!metadata) return undefined
    const client = await openId()
    // As if it were discovered: the library then accepts the issuers of Microsoft's tenants.
    const configuration = await client.discovery(new URL(issuer), clientId, undefined, authentication(client, secret), {
      [client.customFetch]: () => Promise.resolve(Response.json(metadata)),
    })
    return this.#connectionOf(client, configuration)
  }

  #connectionOf(client: typeof OpenId, configuration: OpenId.Configuration): Connection {
    configuration.timeout = timeout
    configuration[client.customFetch] = tracedFetch
    if (this.#isInsecure) client.allowInsecureRequests(configuration)
    // Verifies signatures of ID tokens, too, although they come from the provider directly.
    client.enableNonRepudiationChecks(configuration)
    const { jwks_uri: address } = configuration.serverMetadata()
    if (address === undefined) throw new TypeError(`the provider ${this.#options.issuer} has no jwks_uri`)
    const last = this.#connection
    // Keys that are known stay known when their address is not available.
    if (last?.configuration.serverMetadata().jwks_uri === address) return { configuration, keys: last.keys }
    const keys = createRemoteJWKSet(new URL(address), {
      timeoutDuration: timeout * 1000,
      [customFetch]: tracedFetch,
    })
    return { configuration, keys }
  }

  get #isInsecure(): boolean {
    return new URL(this.#options.issuer).protocol === 'http:'
  }
}

/** How the client proves its secret, by the methods of the provider. Basic is the default of OpenID Connect. */
function authentication(client: typeof OpenId, secretOf: () => string): OpenId.ClientAuth {
  return (server, ...rest) => {
    const secret = secretOf()
    if (secret === '') {
      client.None()(server, ...rest)
      return
    }
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const isPost = supported.includes('client_secret_post') && !supported.includes('client_secret_basic')
    const proof = isPost ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret)
    proof(server, ...rest)
  }
}

/** Tries again when a provider cannot be reached, but not after the time that one request may take. */
async function retried<T>(task: () => Promise<T>): Promise<T> {
  const end = performance.now() + timeout * 1000
  for (const delay of retries) {
    try {
      return await task()
    } catch (error) {
      if (performance.now() + delay > end) throw error
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
