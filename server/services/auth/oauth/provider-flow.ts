// The way to a provider and back: what is sent to it, and what its callback must contain.
import { createHash } from 'node:crypto'
import type { Request } from 'express'
import type { AuthContext } from '../auth-context.ts'
import { authErrors } from '../auth-error.ts'
import type { LinkingTarget } from '../flow-states.ts'
import { redirectRules } from '../request-redirect.ts'
import { requireInvitation } from './invitation.ts'
import { readChallenge } from '../pkce.ts'
import { UnsupportedProvider, type Provider } from './providers.ts'
import { upstreamFailure } from './upstream-failure.ts'

/** Parameters of the authorization request that the service sets itself, or that would replace the whole request. */
const reserved: ReadonlySet<string> = new Set([
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'response_mode', 'state', 'nonce', 'scope'],
  ...['code_challenge', 'code_challenge_method', 'code_verifier', 'request', 'request_uri', 'client_assertion'],
  // Parameters of `/authorize`.
  ...['provider', 'scopes', 'redirect_to', 'invite_token', 'skip_http_redirect', 'apikey'],
])

/** `openid` makes the provider issue an ID token. */
const ownScopes: readonly string[] = ['openid', 'email', 'profile']

/** The URL of the provider at which the user continues. */
export async function startProviderFlow(
  context: Pick<AuthContext, 'settings' | 'database' | 'providers' | 'flowStates' | 'externalUrl'>,
  request: Request,
  query: URLSearchParams,
  linkingTarget: LinkingTarget | undefined,
): Promise<string> {
  const provider = requestedProvider(context.providers, query.get('provider') ?? '')
  const inviteToken = query.get('invite_token') ?? ''
  if (inviteToken !== '') await requireInvitation(context, inviteToken)
  const challenge = readChallenge(query.get('code_challenge'), query.get('code_challenge_method'))
  const client = await import('openid-client')
  const codeVerifier = client.randomPKCECodeVerifier()
  const returnTo = redirectRules(context, request).choose(
    query.get('redirect_to') ?? undefined,
    request.headers.referer,
  )
  const parameters = {
    ...Object.fromEntries([...query].filter(([name]) => !reserved.has(name.toLowerCase()))),
    redirect_uri: redirectUri(context, request, provider),
    scope: scopesOf(query),
    nonce: nonceOf(codeVerifier),
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  }
  // Fails before the flow is stored if the provider cannot be reached.
  const url = new URL(
    await provider.oidc.authorizationUrl(parameters).catch((error: unknown) => {
      throw upstreamFailure(`Unable to reach the provider ${provider.name}`, error)
    }),
  )
  const { name, emailOptional } = provider
  const state = await context.flowStates.createAtProvider({
    ...{ provider: name, challenge, codeVerifier, returnTo, linkingTarget, emailOptional },
    ...(inviteToken === '' ? {} : { inviteToken }),
  })
  url.searchParams.set('state', state)
  return url.href
}

function requestedProvider(providers: AuthContext['providers'], name: string): Provider {
  try {
    return providers.find(name)
  } catch (error) {
    if (!(error instanceof UnsupportedProvider)) throw error
    throw authErrors.invalid(`Unsupported provider: ${error.message}`)
  }
}

/** Where the provider sends the user back to: a URL that is registered there. */
export const redirectUri = (
  { externalUrl }: Pick<AuthContext, 'externalUrl'>,
  request: Request,
  provider: Provider,
): string => provider.redirectUri ?? `${externalUrl(request)}/callback`

/**
 * The nonce of a flow. It follows from the code verifier, which only the service knows until the provider has issued the
 * ID token, so it need not be stored.
 */
export const nonceOf = (codeVerifier: string): string =>
  createHash('sha256').update(`nonce ${codeVerifier}`).digest('base64url')

/** Own and requested scopes, which are separated by commas or spaces. */
function scopesOf(query: URLSearchParams): string {
  const requested = [query.get('scopes'), query.get('scope')].flatMap((text) => (text ?? '').split(/[\s,]+/))
  return [...new Set([...ownScopes, ...requested])].filter((scope) => scope !== '').join(' ')
}
