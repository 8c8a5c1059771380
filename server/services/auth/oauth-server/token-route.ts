// POST /oauth/token: a client exchanges a code, or a refresh token, for tokens.
import { jsonMembers } from '../../../text/json-members.ts'
import { hasScope } from '../../../identity/oauth-scopes.ts'
import { text } from '../../../http/service-response.ts'
import { AuthError, OAuthError, type OAuthErrorName } from '../auth-error.ts'
import { defineAuthRoute, type AuthCall, type AuthRoute } from '../dialect.ts'
import { refreshed } from '../refresh-grant.ts'
import { originOf } from '../request-origin.ts'
import type { IssuedSession } from '../sessions.ts'
import { issuedParts } from '../token-payload.ts'
import { authenticateClient } from './client-authentication.ts'
import { idToken, signsIdTokens, type ProvedAddresses } from './id-token.ts'
import { grantTypes, type OAuthClient } from './oauth-client.ts'
import { requireOAuthServer } from './oauth-refusal.ts'
import { hashOfSecret } from './oauth-secrets.ts'
import { oauthStatements } from './oauth-statements.ts'
import { readTokenParameters, type TokenParameters } from './token-parameters.ts'

type TokenCall = Pick<AuthCall<'anyone', undefined>, 'context' | 'request' | 'response'>

/** https://www.rfc-editor.org/rfc/rfc6749#section-5.1 */
type TokenResponse = {
  readonly access_token: string
  readonly token_type: 'bearer'
  readonly expires_in: number
  readonly refresh_token?: string
  readonly scope?: string
  readonly id_token?: string
}

const optional = { type: 'string' } as const

export const tokenRoute: AuthRoute = defineAuthRoute({
  method: 'post',
  path: '/oauth/token',
  id: 'authOAuthToken',
  summary: 'Get tokens, as an OAuth client',
  description:
    'For a code and its verifier (`authorization_code`), or a refresh token (`refresh_token`). Clients with a secret send it as ' +
    'they are registered: by HTTP Basic, or in the body.',
  caller: 'anyone',
  limit: 'token_refresh',
  secrets: ['refreshToken', 'oauthCode', 'oauthClientSecret'],
  bodies: {
    'application/x-www-form-urlencoded': {
      type: 'object',
      required: ['grant_type'],
      properties: {
        grant_type: { type: 'string', enum: grantTypes },
        ...{ code: optional, code_verifier: optional, redirect_uri: optional, refresh_token: optional },
        ...{ client_id: optional, client_secret: optional, resource: optional },
      },
    },
  },
  success: [200, 'Tokens.'],
  schema: {
    type: 'object',
    required: ['access_token', 'token_type', 'expires_in'],
    properties: {
      ...{ access_token: text, token_type: text, expires_in: { type: 'integer' } },
      ...{ refresh_token: text, scope: text, id_token: text },
    },
  },
  errors: {
    400: 'The client, the code or the token is not accepted: `error` is that of RFC 6749.',
    404: 'The OAuth server is disabled.',
    413: 'The body is too large.',
  },
  handler: async (call) => {
    requireOAuthServer(call.context.settings())
    try {
      const { session, more } = await tokensOf(call)
      const { accessToken, expiresIn } = session
      return { json: { access_token: accessToken, token_type: 'bearer', expires_in: expiresIn, ...more } }
    } catch (error) {
      throw asOAuthError(error)
    }
  },
})

type Tokens = {
  readonly session: IssuedSession
  readonly more: Omit<TokenResponse, 'access_token' | 'token_type' | 'expires_in'>
}

async function tokensOf(call: TokenCall): Promise<Tokens> {
  const parameters = await readTokenParameters(call.request, call.response)
  const client = await authenticateClient(call.context, call.request, parameters)
  const { grant_type: grantType } = parameters
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is required')
  if (!client.grant_types.includes(grantType)) {
    const named = grantType.slice(0, 100)
    throw new OAuthError('unsupported_grant_type', `Client is not allowed to use grant type: ${named}`)
  }
  return grantType === 'refresh_token' ? refresh(call, client, parameters) : exchange(call, client, parameters)
}

async function refresh(
  call: TokenCall,
  { id }: OAuthClient,
  { refresh_token: token }: TokenParameters,
): Promise<Tokens> {
  if (token === undefined) {
    throw new OAuthError('invalid_request', 'refresh_token is required for refresh_token grant')
  }
  const session = await refreshed(call, token, id)
  return { session, more: { refresh_token: session.refreshToken } }
}

/** What `auth.redeem_oauth_code` returns beside the session. */
type Redeemed = ProvedAddresses & {
  readonly scope: string
  readonly nonce: string | null
  readonly auth_time: number
}

async function exchange(
  { context, request }: TokenCall,
  client: OAuthClient,
  { code, code_verifier: verifier, redirect_uri: redirectUri, resource }: TokenParameters,
): Promise<Tokens> {
  if (code === undefined) throw new OAuthError('invalid_request', 'code is required for authorization_code grant')
  const { ip, userAgent } = originOf(request, context)
  const values = [
    client.id,
    hashOfSecret(code),
    verifier ?? null,
    redirectUri ?? null,
    resource ?? null,
    ip,
    userAgent,
  ] as const
  const [row] = await context.database.askRows(oauthStatements.redeemCode, values)
  const result = row?.[0] ?? '{}'
  const members = jsonMembers(result)
  const reason = members.get('refused')
  if (reason !== undefined) throw refused(JSON.parse(reason) as keyof typeof refusals)
  const started = members.get('started') ?? '{}'
  const { scope, nonce, auth_time, email_proved, phone_proved } = JSON.parse(result) as Redeemed
  const session = await context.sessions.respond(started, { method: 'oauth_provider/authorization_code' })
  const { userText } = issuedParts(started)
  const signed =
    hasScope(scope, 'openid') && signsIdTokens(context)
      ? await idToken(context, { userText, clientId: client.id, scope, nonce, auth_time, email_proved, phone_proved })
      : undefined
  return {
    session,
    more: {
      ...(client.grant_types.includes('refresh_token') ? { refresh_token: session.refreshToken } : {}),
      scope,
      ...(signed === undefined ? {} : { id_token: signed }),
    },
  }
}

const refusals = {
  invalid_code: 'Invalid authorization code',
  used_code: 'Invalid authorization code',
  expired_code: 'Authorization code has expired',
  other_client: 'Authorization code was not issued for this client',
  wrong_resource: 'Authorization code resource does not match the resource parameter',
  wrong_redirect_uri: 'Invalid redirect_uri',
  no_verifier: 'PKCE verification failed: code_verifier is required when PKCE challenge is present',
  wrong_verifier: 'PKCE verification failed: code challenge does not match previously saved code verifier',
  user_banned: 'User is banned',
} as const

const refused = (reason: keyof typeof refusals): OAuthError =>
  new OAuthError(reason === 'user_banned' ? 'access_denied' : 'invalid_grant', refusals[reason])

/** An error of the service with the members of RFC 6749, beside those of GoTrue, which has no others here. */
function asOAuthError(error: unknown): unknown {
  if (!(error instanceof AuthError) || error instanceof OAuthError || error.status !== 400) return error
  const { status, code, message, headers, body } = error
  const name: OAuthErrorName = code === 'invalid_credentials' ? 'invalid_client' : 'invalid_grant'
  return new AuthError(status, code, message, {
    headers,
    body: { ...body, error: name, error_description: message },
    cause: error,
  })
}
