// Exchanges a refresh token for its successor and a new access token.
import { sessionLimits } from '../accounts/session-limits.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { jsonMembers } from '../../text/json-members.ts'
import type { AuthErrorCode } from './auth-error-codes.ts'
import { AuthError, authErrors } from './auth-error.ts'
import { isRefreshToken, newRefreshToken } from './refresh-token.ts'
import { originOf } from './request-origin.ts'
import type { AuthSettings } from './settings.ts'
import type { TokenGrant } from './token-grant.ts'

const refreshSession = new JsonStatement('select auth.refresh_session($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)', {
  access: 'write',
})

const interval = (seconds: number | null): string | null => (seconds === null ? null : `${seconds} seconds`)

export const refreshGrant: TokenGrant = {
  limit: 'token_refresh',
  handler: async ({ context, request, body }) => {
    const token = body.refresh_token ?? ''
    if (!isRefreshToken(token)) throw authErrors.invalid('Refresh token is not valid')
    const { ip, userAgent } = originOf(request, context)
    const parameters = [token, newRefreshToken(), ...rules(context.settings()), ip, userAgent]
    const [row] = await context.database.askRows(refreshSession, parameters)
    const refreshed = row?.[0] ?? '{}'
    const error = jsonMembers(refreshed).get('error')
    if (error !== undefined) throw refused(JSON.parse(error) as Refusal, context.warn)
    const { text } = await context.sessions.respond(refreshed, { method: 'token_refresh' })
    return { text }
  },
}

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
