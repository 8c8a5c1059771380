// POST /token: exchanges credentials for a session.
import { dto } from '../../http/service-response.ts'
import { sessionSchema } from './account-schemas.ts'
import { AuthError } from './auth-error.ts'
import { defineAuthRoute, type AuthRoute } from './dialect.ts'
import { tokenGrants } from './token-grants.ts'
import type { TokenBody, TokenGrant } from './token-grant.ts'

const grantOf = (query: URLSearchParams): TokenGrant | undefined => tokenGrants.get(query.get('grant_type') ?? '')

export const tokenRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/token',
    id: 'authToken',
    summary: 'Get a session',
    description: 'By password, refresh token, authorization code (PKCE), or the id token of a provider.',
    caller: 'anyone',
    limit: (query) => grantOf(query)?.limit,
    secrets: ['password', 'refreshToken', 'authCode', 'idToken'],
    body: dto<TokenBody>('AuthTokenDto'),
    bodyOptional: true,
    query: { grant_type: 'password, refresh_token, pkce or id_token' },
    success: [200, 'A session.'],
    schema: sessionSchema,
    errors: {
      404: 'The authorization code is unknown.',
      409: 'Too many refreshes of one session at a time.',
      422: 'This way to sign in is disabled, or the flow has expired.',
      429: 'Too many requests.',
    },
    handler: (call) => {
      const grant = grantOf(call.query)
      if (!grant) throw new AuthError(400, 'invalid_credentials', 'unsupported_grant_type')
      return grant.handler(call)
    },
  }),
]
