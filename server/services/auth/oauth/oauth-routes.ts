// Sign-in with providers: `/authorize` sends the user to the provider, which sends them back to `/callback`.
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { callbackTarget } from './callback.ts'
import { flowTarget } from './provider-flow.ts'
import { readForm } from '../form-body.ts'
import { settingName } from './providers.ts'
import { isEmpty } from '../request-text.ts'

/** Query parameters of requests that start a flow at a provider. */
export const flowParameters: Readonly<Record<string, string>> = {
  provider: 'Name of the provider, such as `google`.',
  redirect_to: 'Where to return to; by default the page that sent the request, or the site.',
  scopes: 'Further scopes, separated by commas or spaces.',
  code_challenge: 'Challenge of the client (PKCE). The redirect then has a code instead of a session.',
  code_challenge_method: '`s256` or `plain`.',
}

const callbackParameters: Readonly<Record<string, string>> = {
  state: 'Identifies the flow.',
  code: 'Code of the provider.',
  error: 'Error of the provider.',
}

/** Limits flows that send a request to the provider before the user is sent there, which a flood must not cause. */
export const limitOfFlow = (query: URLSearchParams): 'verify' | undefined =>
  settingName(query.get('provider') ?? '') === 'twitter' ? 'verify' : undefined

const target = 'To the page that started the flow: with a session in the fragment, or a code or an error in the query.'

export const oauthRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/authorize',
    id: 'authAuthorize',
    summary: 'Sign in with an OpenID Connect provider',
    caller: 'anyone',
    limit: (query) => (isEmpty(query.get('invite_token')) ? limitOfFlow(query) : 'verify'),
    secrets: ['linkToken'],
    query: { ...flowParameters, invite_token: 'Token of the link of an invitation that the sign-in accepts.' },
    success: [302, 'To the provider, or to the page with an error if the provider cannot be reached.'],
    errors: {
      400: 'The provider is not enabled, or the challenge is not valid.',
      404: 'The invitation is unknown or has expired.',
    },
    handler: async ({ context, request, query }) => {
      const inviteToken = query.get('invite_token')
      const purpose = isEmpty(inviteToken) ? {} : { inviteToken }
      return { redirect: await flowTarget(context, request, query, purpose) }
    },
  }),
  defineAuthRoute({
    method: 'get',
    path: '/callback',
    id: 'authCallback',
    summary: 'Return from an OpenID Connect provider',
    caller: 'anyone',
    limit: null,
    secrets: ['state'],
    query: callbackParameters,
    success: [303, target],
    errors: { 429: 'Too many unknown states.' },
    handler: async ({ context, request, query }) => ({ redirect: await callbackTarget(context, request, query) }),
  }),
  defineAuthRoute({
    method: 'post',
    path: '/callback',
    id: 'authCallbackForm',
    summary: 'Return from an OpenID Connect provider, with parameters in a form',
    caller: 'anyone',
    limit: null,
    secrets: ['state'],
    success: [303, target],
    errors: { 413: 'The form is too large.', 429: 'Too many unknown states.' },
    handler: async ({ context, request, response }) => ({
      redirect: await callbackTarget(context, request, await readForm(request, response)),
    }),
  }),
]
