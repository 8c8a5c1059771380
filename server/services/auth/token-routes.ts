// POST /token: exchanges credentials for a session.
import { dto } from '../../http/service-response.ts'
import { AuthError } from './auth-error.ts'
import { defineAuthRoute, type AuthRoute } from './auth-route.ts'
import { tokenGrants } from './token-grants.ts'
import { type TokenBody } from './token-grant.ts'

export const tokenRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/token',
    id: 'authToken',
    summary: 'Get a session',
    description: 'By password, refresh token, authorization code (PKCE), or the id token of a provider.',
    caller: 'anyone',
    body: dto<TokenBody>('AuthTokenDto'),
    bodyOptional: true,
    query: { grant_type: 'password, refresh_token, pkce or id_token' },
    success: [200, 'A session.'],
    errors: {
      404: 'The authorization code is unknown.',
      409: 'Too many refreshes of one session at a time.',
      422: 'This way to sign in is disabled, or the flow has expired.',
      429: 'Too many requests.',
    },
    handler: async (call) => {
      const grant = tokenGrants.get(call.query.get('grant_type') ?? '')
      if (!grant) throw new AuthError(400, 'invalid_credentials', 'unsupported_grant_type')
      await call.context.limits.countRequest(grant.limit, call.request)
      return grant.handler(call)
    },
  }),
]
