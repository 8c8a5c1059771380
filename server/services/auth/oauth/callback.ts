// The callback of a provider: the end of a sign-in, or of linking an identity.
import type { IncomingMessage } from 'node:http'
import type { AuthContext } from '../auth-context.ts'
import { AuthError } from '../auth-error.ts'
import { authErrorOf } from '../database-auth-error.ts'
import type { ProviderFlow } from '../flow-states.ts'
import { pageWithCode, pageWithSession } from '../page-redirect.ts'
import { originOf } from '../request-origin.ts'
import { redirectRules } from '../request-redirect.ts'
import { isEmpty } from '../request-text.ts'
import { appleNames } from './apple.ts'
import { ProviderError, withError } from './callback-redirect.ts'
import type { ProviderTokens } from './identity-provider.ts'
import { acceptInvitation } from './invitation.ts'
import { linkToAccount, signInWithProvider, type ProviderSignIn, type SignedIn } from './provider-accounts.ts'
import { nonceOf, redirectUri } from './provider-flow.ts'
import { providerUser, type ProviderClaims } from './provider-user.ts'
import { UnsupportedProvider, type Provider } from './providers.ts'
import { upstreamFailure } from './upstream-failure.ts'

// A flow is identified by its state alone. A cookie that `/authorize` sets would not always come back: apps of providers
// return to the default browser, REDIRECT_URI may have another host, and callbacks by POST come from another site. What
// protects from a callback of an attacker's flow is the code verifier, which only the client that began the flow knows.
// Flows that link an identity have no such protection: auth-js begins them by a request without cookies, and who begins one
// chooses whether it has a code verifier, so nothing that unmodified clients send tells whose browser it is.

/**
 * Where a callback continues: the page that started the flow, with a session, a code, or an error. An error before the
 * flow is known goes to the site's URL. Throws no other errors of the client, and none of the provider.
 *
 * @param parameters of the query, or of the form of a POST
 * @throws AuthError 429 when the network has sent too many states that are not valid
 */
export async function callbackTarget(
  context: AuthContext,
  request: IncomingMessage,
  parameters: URLSearchParams,
): Promise<string> {
  const taken = await takeFlow(context, request, parameters.get('state'))
  let page = redirectRules(context, request).siteUrl
  try {
    const flow = taken()
    page = flow.referrer
    return await finish(context, request, flow, parameters)
  } catch (error) {
    const known = error instanceof ProviderError ? error : authErrorOf(error)
    if (known instanceof AuthError && known.status >= 500) {
      context.warn(`sign-in with a provider failed: ${known.message}${reasonOf(known.cause)}`)
    }
    return withError(page, known)
  }
}

/** The flow of a state, or what is wrong with the state, which is counted. */
async function takeFlow(
  context: AuthContext,
  request: IncomingMessage,
  state: string | null,
): Promise<() => ProviderFlow> {
  try {
    const flow = await context.flowStates.take(state)
    return () => flow
  } catch (error) {
    if (error instanceof AuthError && error.status < 500) await context.limits.countWrong('verify', 'state', request)
    return () => {
      throw error
    }
  }
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? ` (${cause.message})` : '')

async function finish(
  context: AuthContext,
  request: IncomingMessage,
  flow: ProviderFlow,
  parameters: URLSearchParams,
): Promise<string> {
  const error = parameters.get('error')
  if (!isEmpty(error)) throw new ProviderError(error, parameters.get('error_description') ?? '')
  const provider = providerOf(context, flow)
  // OAuth 1.0a has other parameters.
  if (!provider.oidc.requestToken && isEmpty(parameters.get('code'))) {
    throw new AuthError(400, 'bad_oauth_callback', 'OAuth callback with missing authorization code missing')
  }
  const tokens = await exchanged(context, request, flow, provider, parameters)
  const claims = { ...tokens.claims, ...namesOf(provider, parameters) }
  const user = providerUser({ issuer: issuerOf(tokens.claims, provider), provider: provider.name }, claims)
  if (!user) {
    throw new AuthError(500, 'unexpected_failure', 'Error getting the id of the user from external provider')
  }
  if (user.email === undefined && !provider.emailOptional) {
    throw new AuthError(500, 'unexpected_failure', 'Error getting user email from external provider')
  }
  const finished = {
    flowId: flow.flow_id,
    providerToken: tokens.accessToken,
    providerRefreshToken: tokens.refreshToken,
  }
  const origin = originOf(request, context)
  const attempt: ProviderSignIn = { provider, user, flow: flow.is_pkce ? finished : undefined, request, origin }
  return redirectOf(context, flow.referrer, await signedInBy(context, flow, attempt), tokens)
}

/** Microsoft's `common` has tokens of any tenant. */
const issuerOf = ({ iss }: ProviderClaims, { oidc }: Provider): string => (typeof iss === 'string' ? iss : oidc.issuer)

/** The name that Apple's form contains when a user signs in for the first time. */
function namesOf({ name }: Provider, parameters: URLSearchParams): ProviderClaims {
  return name === 'apple' ? appleNames(parameters.get('user')) : {}
}

function signedInBy(context: AuthContext, flow: ProviderFlow, attempt: ProviderSignIn): Promise<SignedIn> {
  const { linking_target_id: userId, linking_session_id: sessionId, invite_token: invitation } = flow
  if (userId !== null) return linkToAccount(context, { userId, sessionId }, attempt)
  return invitation === null ? signInWithProvider(context, attempt) : acceptInvitation(context, invitation, attempt)
}

/** The provider may have been disabled since the flow began. */
function providerOf({ providers }: AuthContext, flow: ProviderFlow): Provider {
  try {
    return providers.find(flow.provider)
  } catch (error) {
    if (!(error instanceof UnsupportedProvider)) throw error
    throw new AuthError(400, 'oauth_provider_not_supported', `Unsupported provider: ${error.message}`)
  }
}

/** The tokens for the code of the callback. The parameters are passed on as they came, so that all of them are checked. */
async function exchanged(
  context: AuthContext,
  request: IncomingMessage,
  flow: ProviderFlow,
  provider: Provider,
  parameters: URLSearchParams,
): Promise<ProviderTokens> {
  const callback = new URL(redirectUri(context, request, provider))
  callback.search = parameters.toString()
  try {
    return await provider.oidc.exchange(callback, {
      // Taking the flow has compared it, ignoring case.
      state: parameters.get('state') ?? '',
      nonce: nonceOf(flow.code_verifier),
      codeVerifier: flow.code_verifier,
    })
  } catch (error) {
    if (error instanceof ProviderError) throw error
    throw upstreamFailure(`Unable to exchange external code: ${(parameters.get('code') ?? '').slice(0, 4)}`, error)
  }
}

async function redirectOf(
  context: AuthContext,
  page: string,
  signedIn: SignedIn,
  { accessToken, refreshToken }: ProviderTokens,
): Promise<string> {
  if (signedIn.kind === 'code') return pageWithCode(page, signedIn.code)
  const issued = await context.sessions.respond(signedIn.session, { method: 'oauth' })
  const providerTokens = {
    provider_token: accessToken,
    ...(refreshToken === undefined ? {} : { provider_refresh_token: refreshToken }),
  }
  // Normalised, as the page is with a code or an error.
  return pageWithSession(new URL(page).href, issued, { providerTokens })
}
