// A provider of OAuth 2.0 without OpenID Connect: the authorization code flow, and the user by the API of the service.
import type * as OpenId from 'openid-client'
import { limitedBytes } from '../../limited-bytes.ts'
import { tracedFetch } from '../../traced-fetch.ts'
import type { CallbackChecks, IdentityProvider, ProviderTokens } from './identity-provider.ts'
import type { OAuthService } from './known-services.ts'

/** Seconds that a request to a service may take. */
const timeout = 10
/** Bytes of an answer of its API. */
const limit = 1024 * 1024

/** Loaded at first use: most servers have no providers. */
const openId = (): Promise<typeof OpenId> => import('openid-client')

export class OAuthProvider implements IdentityProvider {
  readonly issuer: string
  readonly #service: OAuthService
  readonly #secret: string
  readonly #configuration: (client: typeof OpenId) => OpenId.Configuration

  constructor(service: OAuthService, clientId: string, secret: string) {
    this.issuer = service.issuer
    this.#service = service
    this.#secret = secret
    const metadata = {
      issuer: service.server,
      authorization_endpoint: service.authorizationEndpoint,
      token_endpoint: service.tokenEndpoint,
    }
    this.#configuration = (client) => {
      const proof =
        service.authentication === 'basic' ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret)
      const configuration = new client.Configuration(
        metadata,
        clientId,
        undefined,
        secret === '' ? client.None() : proof,
      )
      configuration.timeout = timeout
      configuration[client.customFetch] = tracedFetch
      if (service.tokenEndpoint.startsWith('http:')) client.allowInsecureRequests(configuration)
      return configuration
    }
  }

  async authorizationUrl(parameters: Readonly<Record<string, string>>): Promise<string> {
    const client = await openId()
    const url = client.buildAuthorizationUrl(this.#configuration(client), parameters)
    // It is for ID tokens.
    url.searchParams.delete('nonce')
    return url.href
  }

  async exchange(callback: URL, { state, codeVerifier }: CallbackChecks): Promise<ProviderTokens> {
    const client = await openId()
    const tokens = await client.authorizationCodeGrant(this.#configuration(client), callback, {
      expectedState: state,
      pkceCodeVerifier: codeVerifier,
    })
    const { access_token: token, refresh_token: refreshToken } = tokens
    const credentials = { secret: this.#secret, token }
    const claims = await this.#service.claims((address) => readApi(address, token), credentials)
    return { accessToken: token, refreshToken, claims }
  }

  verifyIdToken(): Promise<never> {
    return Promise.reject(new TypeError(`${this.#service.server} issues no ID tokens`))
  }
}

/** @throws Error for a status other than 200, for an answer that is too long, and for one that is no JSON */
async function readApi(address: string, token: string): Promise<unknown> {
  const signal = AbortSignal.timeout(timeout * 1000)
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json', 'User-Agent': 'rowhouse' }
  const response = await tracedFetch(address, { headers, signal, redirect: 'error' })
  const { origin, pathname } = new URL(address)
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel()
    throw new TypeError(`${origin}${pathname} answered with status ${response.status}`)
  }
  const body = await limitedBytes(response.body, limit, () => new TypeError(`${origin}${pathname} answered too much`))
  return JSON.parse(body.toString())
}
