// The way to a provider and back: what is sent to it, and what its callback must contain.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AuthContext } from '../auth-context.ts'
import { authErrors } from '../auth-error.ts'
import type { LinkingTarget } from '../flow-states.ts'
import { redirectRules } from '../request-redirect.ts'
import { requireInvitation } from './invitation.ts'
import { readChallenge } from '../pkce.ts'
import { UnsupportedProvider, type Provider } from './providers.ts'
import { withError } from './callback-redirect.ts'
import { UnreachableProvider } from './upstream-failure.ts'

/** Parameters of the authorization request that the service sets itself, or that would replace the whole request. */
const reserved: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'response_mode',
  'state',
  'nonce',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'code_verifier',
  'request',
  'request_uri',
  'client_assertion',
  // Parameters of `/authorize`.
  'provider',
  'scopes',
  'redirect_to',
  'invite_token',
  'skip_http_redirect',
  'apikey',
])

type FlowContext = Pick<AuthContext, 'settings' | 'database' | 'providers' | 'flowStates' | 'externalUrl'>

/** What a flow is for, beside signing in. */
export type FlowPurpose = {
  /** Whose account gets the identity. */
  readonly linkingTarget?: LinkingTarget
  /** The token of an invitation. */
  readonly inviteToken?: string
}

/** Where a browser continues: at the provider, or at the page that started the flow if the provider cannot be reached. */
export async function flowTarget(
  context: FlowContext & Pick<AuthContext, 'warn'>,
  request: IncomingMessage,
  query: URLSearchParams,
  purpose: FlowPurpose,
): Promise<string> {
  try {
    return await startProviderFlow(context, request, query, purpose)
  } catch (error) {
    if (!(error instanceof UnreachableProvider)) throw error
    const { message, cause, page } = error
    context.warn(`sign-in with a provider failed: ${message}${cause instanceof Error ? ` (${cause.message})` : ''}`)
    return withError(page, error)
  }
}

/**
 * The URL of the provider at which the user continues.
 *
 * @throws UnreachableProvider; AuthError 400 for an unknown provider or an invalid challenge, 404 for an unknown invitation
 */
export async function startProviderFlow(
  context: FlowContext,
  request: IncomingMessage,
  query: URLSearchParams,
  { linkingTarget, inviteToken }: FlowPurpose,
): Promise<string> {
  const provider = requestedProvider(context.providers, query.get('provider') ?? '')
  if (inviteToken !== undefined) await requireInvitation(context, inviteToken)
  const challenge = readChallenge(query.get('code_challenge'), query.get('code_challenge_method'))
  const client = await import('openid-client')
  const codeVerifier = client.randomPKCECodeVerifier()
  const returnTo = redirectRules(context, request).choose(
    query.get('redirect_to') ?? undefined,
    request.headers.referer,
  )
  const { name, oidc, emailOptional } = provider
  const begin = (): Promise<string> =>
    context.flowStates.createAtProvider({
      provider: name,
      challenge,
      codeVerifier,
      returnTo,
      linkingTarget,
      emailOptional,
      inviteToken,
    })
  const unreachable = (error: unknown): never => {
    throw new UnreachableProvider(name, returnTo, error)
  }
  const returnUri = redirectUri(context, request, provider)
  if (oidc.requestToken) {
    // The provider asks for the address of the callback, with its state, first.
    const state = await begin()
    const callback = new URL(returnUri)
    callback.searchParams.set('state', state)
    const { url, kept } = await oidc.requestToken(callback.href).catch(unreachable)
    await context.flowStates.keep(state, kept)
    return url
  }
  const parameters = {
    ...Object.fromEntries([...query].flatMap(([key, value]) => furtherParameter(key, value))),
    redirect_uri: returnUri,
    ...provider.parameters,
    scope: scopesOf(provider, query),
    nonce: nonceOf(codeVerifier),
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  }
  // Fails before the flow is stored if the provider cannot be reached.
  const url = new URL(await oidc.authorizationUrl(parameters).catch(unreachable))
  url.searchParams.set('state', await begin())
  return url.href
}

/** A parameter of the client that is passed on. WorkOS's `provider` would be that of `/authorize`. */
function furtherParameter(name: string, value: string): [string, string][] {
  if (name === 'workos_provider') return [['provider', value]]
  return reserved.has(name.toLowerCase()) ? [] : [[name, value]]
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
  request: IncomingMessage,
  provider: Provider,
): string => provider.redirectUri ?? `${externalUrl(request)}/callback`

/**
 * The nonce of a flow. It follows from the code verifier, which only the service knows until the provider has issued the
 * ID token, so it need not be stored.
 */
export const nonceOf = (codeVerifier: string): string =>
  createHash('sha256').update(`nonce ${codeVerifier}`).digest('base64url')

/** Own and requested scopes, which are separated by commas or spaces. */
function scopesOf({ scopes }: Provider, query: URLSearchParams): string {
  const requested = [query.get('scopes'), query.get('scope')].flatMap((text) => (text ?? '').split(/[\s,]+/))
  return [...new Set([...scopes, ...requested])].filter((scope) => scope !== '').join(' ')
}
