// `/auth/tokens` and `/auth/session`: a page with the cookie gets tokens, and a page with tokens gets the cookie.
//
// Both are credentials of one session: it is listed once, and ends with both. Pages of other sites can use neither route:
// `crossOrigin` rejects their requests, and no page can make a browser add an `Authorization` header to a simple one.
import type { IncomingMessage } from 'node:http'
import { Failure, JsonText } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { Route } from '../../http/route.ts'
import { dto, failure, success } from '../../http/service-response.ts'
import { userDto } from './account.ts'
import { setsCookie } from './account-response.ts'
import { signedIn } from './session-access.ts'
import { addCookie, revokeSessionsOf, type SessionSettings } from './session.ts'
import type { SessionLimits } from './session-limits.ts'

/** A session, by the claims `session_id` and `sub` of its tokens. */
export type TokenSession = { readonly sessionId: string; readonly userId: string }

/** Sessions of tokens, which another service issues. */
export type TokenDoor = {
  /**
   * Tokens for a session. Concurrent calls get the same refresh token.
   *
   * @returns `schemas/token-session-dto.json`, as JSON text; undefined when the session has ended
   */
  readonly issueTokens: (session: TokenSession, limits: SessionLimits) => Promise<string | undefined>
  /**
   * The session of the request's bearer token, which is valid and has not ended.
   *
   * @throws Failure 401
   */
  readonly sessionOf: (request: IncomingMessage) => Promise<TokenSession>
}

export type ExchangeSettings = SessionSettings & { readonly tokenDoor: TokenDoor }

export function exchangeRoutes(settings: ExchangeSettings): readonly Route[] {
  const { tokenDoor } = settings
  return [
    defineEnvelopeRoute({
      method: 'post',
      path: '/auth/tokens',
      id: 'issueTokens',
      tag: 'accounts',
      summary: 'Get the tokens of your session',
      description:
        'For `supabase.auth.setSession`. The tokens belong to the session of the cookie, and end with it. Repeated requests get the same refresh token until it is used.',
      access: signedIn(settings),
      success: success(200, 'The tokens, as `/auth/v1/token` returns them.', dto('TokenSessionDto')),
      handler: async ({ caller }) => {
        const tokens = await tokenDoor.issueTokens(
          { sessionId: caller.id, userId: caller.account.id },
          settings.sessionLimits(),
        )
        if (tokens === undefined) throw new Failure(401, 'You are not currently signed in')
        return { details: new JsonText(tokens) }
      },
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/auth/session',
      id: 'addCookie',
      tag: 'accounts',
      summary: 'Get a cookie for the session of your token',
      description:
        'The cookie belongs to the session of the token, and ends with it. It replaces an earlier cookie of the session; the session of another cookie of the request is ended.',
      access: bearer(tokenDoor),
      success: success(201, 'The account.', dto('UserDto'), { headers: setsCookie }),
      errors: {
        403: failure('The account is anonymous or has no address, or the request comes from a page of another site.'),
      },
      handler: async ({ caller, request, response }) => {
        const account = await addCookie(response, caller, settings)
        if (!account) throw new Failure(403, 'A cookie needs an account with a confirmed e-mail address')
        await revokeSessionsOf(request, settings, caller.sessionId)
        return { details: userDto(account) }
      },
    }),
  ]
}

const bearer = ({ sessionOf }: TokenDoor): Access<TokenSession> => ({
  security: ['bearer'],
  errors: { 401: failure('The token is missing, invalid or expired, or its session has ended.') },
  identify: (request) => sessionOf(request),
})
