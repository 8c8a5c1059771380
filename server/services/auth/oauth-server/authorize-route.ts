// GET /oauth/authorize: a client sends a person here to ask for access to their account.
import type { IncomingMessage } from 'node:http'
import type { AuthContext } from '../auth-context.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthCall, type AuthReply, type AuthRoute } from '../dialect.ts'
import { redirectRules } from '../request-redirect.ts'
import { given, isEmpty } from '../request-text.ts'
import { readChallenge } from '../pkce.ts'
import { hasScope, scopeFault, scopesOf } from '../../../identity/oauth-scopes.ts'
import { signsIdTokens } from './id-token.ts'
import { findClient } from './oauth-client.ts'
import { requireOAuthServer } from './oauth-refusal.ts'
import { newAuthorizationId } from './oauth-secrets.ts'
import { oauthStatements } from './oauth-statements.ts'
import { isLoopback, redirectWith } from './redirect-uri.ts'
import { returnPage, returnPageHeaders } from './return-page.ts'

const parameters: Readonly<Record<string, string>> = {
  client_id: 'Id of the client.',
  redirect_uri: 'Where to return to: exactly one of those of the client.',
  response_type: '`code`',
  scope: 'Scopes, separated by spaces: `openid`, `profile`, `email`, `phone`, `offline_access`.',
  state: 'A text that the client gets back.',
  resource: 'The server that the tokens are for (RFC 8707).',
  code_challenge: 'Challenge of PKCE, which every request needs.',
  code_challenge_method: '`S256` or `plain`.',
  nonce: 'A text for the ID token.',
}

/** Characters of parameters that are stored. */
const longest: Readonly<Record<string, number>> = { state: 4096, scope: 4096, resource: 2048, nonce: 255 }

export const authorizeRoute: AuthRoute = defineAuthRoute({
  method: 'get',
  path: '/oauth/authorize',
  id: 'authOAuthAuthorize',
  summary: 'Ask a user for access to their account, as an OAuth client',
  description:
    'Errors of client and redirect URI are shown here; all others are returned to the client in the query of the redirect. For a ' +
    'client that has registered itself, browsers show them on a page with a link to it.',
  caller: 'anyone',
  limit: 'token_refresh',
  query: parameters,
  kept: ['state', 'nonce'],
  success: [302, 'To the page that asks the user, or back to the client with an error.'],
  errors: {
    400: 'The client is unknown, or the redirect URI is not one of its; or the page that shows an error.',
    404: 'The OAuth server is disabled.',
  },
  handler: targetOf,
})

async function targetOf({ context, request, query }: AuthCall<'anyone', undefined>): Promise<AuthReply> {
  const settings = context.settings()
  requireOAuthServer(settings)
  const repeated = Object.keys(parameters).find((name) => query.getAll(name).length > 1)
  const [clientId, redirectUri] = [query.get('client_id'), query.get('redirect_uri')]
  if (repeated === 'client_id' || repeated === 'redirect_uri') {
    throw authErrors.invalid(`${repeated} must be given once`)
  }
  if (isEmpty(clientId)) throw authErrors.invalid('client_id is required')
  if (isEmpty(redirectUri)) throw authErrors.invalid('redirect_uri is required')
  const client = await findClient(context, clientId)
  if (!client) throw unknownClient()
  if (!client.redirect_uris.includes(redirectUri)) throw authErrors.invalid('invalid redirect_uri')
  // From here on, the person returns to the client.
  const state = query.get('state')
  const failed = (error: string, description: string): AuthReply => {
    const target = redirectWith(redirectUri, {
      error,
      error_description: description,
      // A text that is too long to be stored is not the client's own.
      state: isEmpty(state) || state.length > 4096 ? undefined : state,
    })
    const isAsked = client.shown.registration_type === 'dynamic' && !isLoopback(redirectUri) && isPage(request)
    return isAsked
      ? { status: 400, html: returnPage(description, target), headers: returnPageHeaders }
      : { redirect: target }
  }
  const scope = given(query.get('scope')) ?? settings.authOAuthServerDefaultScope
  const fault = repeated === undefined ? faultOf(context, query, scope) : `${repeated} must not be given more than once`
  if (fault !== undefined) return failed('invalid_request', fault)
  if (!client.grant_types.includes('authorization_code')) {
    return failed('unauthorized_client', 'Client is not allowed to use grant type: authorization_code')
  }
  const { authOAuthServerAuthorizationPath: path, authOAuthServerAuthorizationTtl: lifetime } = settings
  if (path === null) return failed('server_error', 'oauth authorization path not configured')
  const id = newAuthorizationId()
  const stored = {
    authorization_id: id,
    client_id: client.id,
    redirect_uri: redirectUri,
    scope: scopesOf(scope).join(' '),
    code_challenge: query.get('code_challenge'),
    code_challenge_method: query.get('code_challenge_method')?.toLowerCase(),
    ...Object.fromEntries(['state', 'resource', 'nonce'].map((name) => [name, given(query.get(name))])),
  }
  const [begun] = await context.database.ask(oauthStatements.beginAuthorization, [JSON.stringify(stored), lifetime])
  if ((begun as { readonly refused?: string }).refused !== undefined) throw unknownClient()
  const site = redirectRules(context, request).siteUrl.replace(/\/+$/, '')
  return { redirect: `${site}${path}${path.includes('?') ? '&' : '?'}authorization_id=${id}` }
}

/** Whether a browser asks for a page, and not a program for a response. */
const isPage = ({ headers: { accept = '' } }: IncomingMessage): boolean => accept.includes('text/html')

const unknownClient = (): AuthError => new AuthError(400, 'oauth_client_not_found', 'invalid client_id')

/** What is wrong with the parameters that the client learns of; undefined if nothing is. */
function faultOf(context: AuthContext, query: URLSearchParams, scope: string): string | undefined {
  if (!isEmpty(query.get('response_type')) && query.get('response_type') !== 'code') {
    return 'only response_type=code is supported'
  }
  for (const [name, most] of Object.entries(longest)) {
    if ((query.get(name) ?? '').length > most) return `${name} must not have more than ${most} characters`
  }
  const fault = scopeFault(scope) ?? resourceFault(query.get('resource'))
  if (fault !== undefined) return fault
  if (hasScope(scope, 'openid') && !signsIdTokens(context)) {
    return 'scope openid is not available: HS256 is not supported for ID token signing'
  }
  const [challenge, method] = [query.get('code_challenge'), query.get('code_challenge_method')]
  if (isEmpty(challenge) || isEmpty(method)) return 'PKCE flow requires both code_challenge and code_challenge_method'
  if (!/^(?:s256|plain)$/i.test(method)) return "code_challenge_method must be 'S256' or 'plain'"
  if (challenge.length < 43 || challenge.length > 128) return 'code_challenge must be between 43 and 128 characters'
  try {
    readChallenge(challenge, method)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return undefined
}

/** RFC 8707, section 2 */
function resourceFault(resource: string | null): string | undefined {
  if (isEmpty(resource)) return undefined
  if (!/^[a-z][a-z0-9+.-]*:/i.test(resource)) return 'resource must be an absolute URI'
  if (!URL.canParse(resource)) return 'resource must be a valid URI'
  if (resource.includes('#')) return 'resource must not include a fragment component'
  return resource.includes('?') ? 'resource must not include a query component' : undefined
}
