// Tokens for the sessions of the cookie service, which share the table of sessions.
import { Failure } from '../../http/envelope.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { TokenDoor } from '../accounts/exchange-routes.ts'
import { limitsParameter } from '../accounts/session-limits.ts'
import type { AuthContext } from './auth-context.ts'
import { AuthError } from './auth-error.ts'

const issueTokens = new JsonStatement('select auth.issue_tokens($1, $2, $3)', { access: 'write' })

export const createTokenDoor = ({
  callers,
  database,
  sessions,
}: Pick<AuthContext, 'callers' | 'database' | 'sessions'>): TokenDoor => ({
  issueTokens: async ({ sessionId, userId }, limits) => {
    const [row] = await database.askRows(issueTokens, [sessionId, userId, limitsParameter(limits)])
    const issued = row?.[0] ?? undefined
    return issued === undefined ? undefined : (await sessions.respond(issued, { method: 'token_refresh' })).text
  },
  sessionOf: async (request) => {
    try {
      const { id, session } = await callers.user(request)
      if (session === null) throw new Failure(401, 'The token belongs to no session')
      return { sessionId: session.id, userId: id }
    } catch (error) {
      if (error instanceof AuthError && error.status < 500) throw new Failure(401, error.message, { cause: error })
      throw error
    }
  },
})
