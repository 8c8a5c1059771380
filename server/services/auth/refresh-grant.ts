// Exchanges a refresh token for its successor and a new access token.
import { sessionLimits } from '../accounts/session-limits.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { jsonMembers } from '../../text/json-members.ts'
import type { AuthErrorCode } from './auth-error-codes.ts'
import { AuthError, authErrors, OAuthError } from './auth-error.ts'
import { isRefreshToken, newRefreshToken } from './refresh-token.ts'
import { originOf } from './request-origin.ts'
import type { IssuedSession } from './sessions.ts'
import type { AuthSettings } from './settings.ts'
import type { TokenCall, TokenGrant } from './token-grant.ts'

const refreshSession = new JsonStatement(
  'select auth.refresh_session_of($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
  { access: 'write' },
)

const interval = (seconds: number | null): string | null => (seconds === null ? null : `${seconds} seconds`)

export const refreshGrant: TokenGrant = {
  limit: 'token_refresh',
  handler: async (call) => ({ text: (await refreshed(call, call.body.refresh_token ?? '', null)).text }),
}

/**
 * The session of a refresh token, with its successor.
 *
 * @param clientId the client of the OAuth server that has the session; null for a session of a user
 * @throws AuthError; OAuthError `invalid_client` for a token of another
 */
export async function refreshed(
  { context, request }: Pick<TokenCall, 'context' | 'request'>,
  token: string,
  clientId: string | null,
): Promise<IssuedSession> {
  if (!isRefreshToken(token)) throw authErrors.invalid('Refresh token is not valid')
  const { ip, userAgent } = originOf(request, context)
  const parameters = [clientId, token, newRefreshToken(), ...rules(context.settings()), ip, userAgent]
  const [row] = await context.database.askRows(refreshSession, parameters)
  const result = row?.[0] ?? '{}'
  const members = jsonMembers(result)
  const other = members.get('refused')
  if (other !== undefined) throw ofOther(JSON.parse(other) as keyof typeof others)
  const error = members.get('error')
  if (error !== undefined) throw refused(JSON.parse(error) as Refusal, context.warn)
  return context.sessions.respond(result, { method: 'token_refresh' })
}

/** Why a token of another is refused. */
const others = {
  client_required: 'Client authentication required for OAuth session',
  not_of_client: 'Client authentication not allowed for non-OAuth session',
  other_client: "Client does not match the session's OAuth client",
} as const

const ofOther = (reason: keyof typeof others): OAuthError => new OAuthError('invalid_client', others[reason])

function rules(settings: AuthSettings): (string | boolean | null)[] {
  const { timebox, inactivity, lowAal, singlePerUser } = sessionLimits(settings)
  return [
    interval(settings.authRefreshTokenReuseInterval),
    settings.authRefreshTokenRotationEnabled,
    ...[timebox, inactivity, lowAal].map(interval),
    singlePerUser,
  ]
}

type Refusal = {
  readonly status: number
  readonly code: AuthErrorCode
  readonly message: string
  readonly reason: string
}

/** The response to a token that is not accepted. A reused one is logged, because it may have been stolen. */
function refused({ status, code, message, reason }: Refusal, warn: (message: string) => void): AuthError {
  if (code === 'refresh_token_already_used') warn(`A refresh token was refused: ${reason}`)
  return new AuthError(status, code, message)
}
