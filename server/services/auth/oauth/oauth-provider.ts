// A provider of OAuth 2.0 without OpenID Connect: the authorization code flow, and the user by the API of the service.
import type { JWTPayload } from 'jose'
import type * as OpenId from 'openid-client'
import { limitedBytes } from '../../limited-bytes.ts'
import { tracedFetch } from '../../traced-fetch.ts'
import type { CallbackChecks, IdentityProvider, ProviderTokens } from './identity-provider.ts'
import type { OAuthService } from './known-services.ts'
import type { Json } from './service-users.ts'

/** Seconds that a request to a service may take. */
export const timeout = 10
/** Bytes of an answer. */
const limit = 1024 * 1024

/** Loaded at first use: most servers have no providers. */
const openId = (): Promise<typeof OpenId> => import('openid-client')

export type OAuthClient = { readonly clientId: string; readonly secret: string }

export class OAuthProvider implements IdentityProvider {
  readonly issuer: string
  readonly #service: OAuthService
  readonly #client: OAuthClient
  readonly #idTokens: IdentityProvider | undefined
  readonly #configuration: (client: typeof OpenId) => OpenId.Configuration

  /** @param idTokens verifies the ID tokens that apps get from the service; undefined if it issues none */
  constructor(service: OAuthService, credentials: OAuthClient, idTokens: IdentityProvider | undefined) {
    const { clientId, secret } = credentials
    this.issuer = service.issuer
    this.#service = service
    this.#client = credentials
    this.#idTokens = idTokens
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
      configuration[client.customFetch] = tokensAsSpecified
      if (service.tokenEndpoint.startsWith('http:')) client.allowInsecureRequests(configuration)
      return configuration
    }
  }

  async authorizationUrl(parameters: Readonly<Record<string, string>>): Promise<string> {
    const client = await openId()
    const url = client.buildAuthorizationUrl(this.#configuration(client), parameters)
    // It is for ID tokens.
    url.searchParams.delete('nonce')
    if (url.searchParams.get('scope') === '') url.searchParams.delete('scope')
    return url.href
  }

  async exchange(callback: URL, { state, codeVerifier }: CallbackChecks): Promise<ProviderTokens> {
    const client = await openId()
    const answer = await client.authorizationCodeGrant(this.#configuration(client), callback, {
      expectedState: state,
      pkceCodeVerifier: codeVerifier,
    })
    const { access_token: token, refresh_token: refreshToken } = answer
    const claims = await this.#service.user({
      read: (address, headers) => readApi(address, { Authorization: `Bearer ${token}`, ...headers }),
      token,
      answer,
      ...this.#client,
    })
    return { accessToken: token, refreshToken, claims }
  }

  verifyIdToken(token: string, accessToken: string | undefined): Promise<JWTPayload> {
    return (
      this.#idTokens?.verifyIdToken(token, accessToken) ??
      Promise.reject(new TypeError(`${this.#service.server} issues no ID tokens`))
    )
  }
}

/**
 * Sends a request for a token, and returns the answer as RFC 6749 describes it: several services leave out the type, or
 * send the scopes as a list. ID tokens are left out; the user is read from the API.
 */
async function tokensAsSpecified(address: string, options: OpenId.CustomFetchOptions): Promise<Response> {
  const response = await tracedFetch(address, options)
  const { status, headers } = response
  const text = response.body ? await bodyOf(address, response.body) : ''
  const copied = new Headers()
  for (const name of ['content-type', 'www-authenticate']) {
    const value = headers.get(name)
    if (value !== null) copied.set(name, value)
  }
  return new Response(status === 200 ? specified(text) : text, { status, headers: copied })
}

function specified(text: string): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  if (typeof value !== 'object' || value === null) return text
  const { scope } = value as Json
  return JSON.stringify({
    token_type: 'bearer',
    ...value,
    scope: Array.isArray(scope) ? scope.join(' ') : scope,
    id_token: undefined,
  })
}

const bodyOf = async (address: string, body: AsyncIterable<Uint8Array>): Promise<string> => {
  const { origin, pathname } = new URL(address)
  const tooMuch = (): Error => new TypeError(`${origin}${pathname} answered too much`)
  return (await limitedBytes(body, limit, tooMuch)).toString()
}

/**
 * The JSON at an address of a service's API.
 *
 * @throws Error for a status other than 200, for an answer that is too long, and for one that is no JSON
 */
export async function readApi(address: string, more: Readonly<Record<string, string>>): Promise<unknown> {
  const signal = AbortSignal.timeout(timeout * 1000)
  const headers = { Accept: 'application/json', 'User-Agent': 'rowhouse', ...more }
  const response = await tracedFetch(address, { headers, signal, redirect: 'error' })
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel()
    const { origin, pathname } = new URL(address)
    throw new TypeError(`${origin}${pathname} answered with status ${response.status}`)
  }
  return JSON.parse(await bodyOf(address, response.body))
}
