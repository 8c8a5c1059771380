// Twitter with OAuth 1.0a, as GoTrue's `twitter`; the provider `x` has OAuth 2.0.
// https://docs.x.com/fundamentals/authentication/oauth-1-0a/obtaining-user-access-tokens
import { randomBytes } from 'node:crypto'
import { limitedBytes } from '../../limited-bytes.ts'
import { tracedFetch } from '../../traced-fetch.ts'
import { ProviderError } from './callback-redirect.ts'
import type { CallbackChecks, IdentityProvider, ProviderTokens, RequestToken } from './identity-provider.ts'
import { readApi, timeout, type OAuthClient } from './oauth-provider.ts'
import { signedAuthorization } from './oauth1-signature.ts'

/** Bytes of an answer that contains a token. */
const limit = 64 * 1024

type Token = { readonly token: string; readonly secret: string }

/** What the user's address is read with, too. */
const profileQuery = 'include_email=true&include_entities=false&skip_status=true'

export class TwitterProvider implements IdentityProvider {
  /** The address of the profile, as GoTrue stores it. */
  readonly issuer: string
  readonly #site: string
  readonly #client: OAuthClient
  readonly #now: () => number

  /**
   * @param url of the settings; empty for Twitter's own
   * @param now milliseconds since 1970
   */
  constructor(url: string, client: OAuthClient, now: () => number = Date.now) {
    this.#site = url === '' ? 'https://api.twitter.com' : url
    this.issuer = `${this.#site}/1.1/account/verify_credentials.json`
    this.#client = client
    this.#now = now
  }

  authorizationUrl(): Promise<never> {
    return Promise.reject(new TypeError('a sign-in at Twitter begins with a request token'))
  }

  async requestToken(callback: string): Promise<RequestToken> {
    const answer = await this.#post('/oauth/request_token', { oauth_callback: callback })
    if (answer.get('oauth_callback_confirmed') !== 'true') throw new TypeError('the callback was not confirmed')
    const { token, secret } = tokenOf(answer)
    const url = new URL(`${this.#site}/oauth/authenticate`)
    url.searchParams.set('oauth_token', token)
    return { url: url.href, kept: JSON.stringify([token, secret]) }
  }

  async exchange({ searchParams }: URL, { codeVerifier: kept }: CallbackChecks): Promise<ProviderTokens> {
    const [token = '', secret = ''] = JSON.parse(kept) as readonly string[]
    if (searchParams.get('denied') === token) throw new ProviderError('access_denied', 'The user refused to sign in')
    if (searchParams.get('oauth_token') !== token) throw new TypeError('the token is not that of the sign-in')
    const oauth_verifier = searchParams.get('oauth_verifier') ?? ''
    const access = tokenOf(await this.#post('/oauth/access_token', { oauth_verifier }, { token, secret }))
    const url = new URL(`${this.issuer}?${profileQuery}`)
    const Authorization = this.#authorization('GET', url, {}, access)
    const user = (await readApi(url.href, { Authorization })) as Readonly<Record<string, unknown>> | null
    const { id_str: sub, name, screen_name: screenName, profile_image_url_https: picture, email } = user ?? {}
    return {
      accessToken: access.token,
      refreshToken: undefined,
      claims: {
        ...{ sub, name, picture, email, user_name: screenName, preferred_username: screenName },
        // Twitter returns verified addresses only.
        email_verified: typeof email === 'string' && email !== '',
      },
    }
  }

  verifyIdToken(): Promise<never> {
    return Promise.reject(new TypeError('Twitter issues no ID tokens'))
  }

  /** @throws Error for a status other than 200 */
  async #post(path: string, parameters: Readonly<Record<string, string>>, token?: Token): Promise<URLSearchParams> {
    const url = new URL(this.#site + path)
    const response = await tracedFetch(url.href, {
      method: 'POST',
      headers: { Authorization: this.#authorization('POST', url, parameters, token), 'User-Agent': 'rowhouse' },
      signal: AbortSignal.timeout(timeout * 1000),
      redirect: 'error',
    })
    if (response.status !== 200 || !response.body) {
      await response.body?.cancel()
      throw new TypeError(`${url.href} answered with status ${response.status}`)
    }
    const body = await limitedBytes(response.body, limit, () => new TypeError(`${url.href} answered too much`))
    return new URLSearchParams(body.toString())
  }

  #authorization(
    method: 'GET' | 'POST',
    url: URL,
    parameters: Readonly<Record<string, string>>,
    token: Token | undefined,
  ): string {
    return signedAuthorization({
      method,
      url,
      parameters: {
        oauth_consumer_key: this.#client.clientId,
        oauth_nonce: randomBytes(16).toString('hex'),
        oauth_signature_method: 'HMAC-SHA1',
        oauth_timestamp: String(Math.floor(this.#now() / 1000)),
        oauth_version: '1.0',
        ...(token && { oauth_token: token.token }),
        ...parameters,
      },
      consumerSecret: this.#client.secret,
      tokenSecret: token?.secret ?? '',
    })
  }
}

function tokenOf(answer: URLSearchParams): Token {
  const [token, secret] = [answer.get('oauth_token') ?? '', answer.get('oauth_token_secret') ?? '']
  if (token === '' || secret === '') throw new TypeError('the answer contains no token')
  return { token, secret }
}
