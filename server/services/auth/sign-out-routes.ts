// POST /logout
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { AuthUser } from './auth-caller.ts'
import { AuthError, authErrors } from './auth-error.ts'
import { defineAuthRoute, type AuthRoute } from './dialect.ts'
import { subjectOf } from './callers.ts'
import { originOf } from './request-origin.ts'
import { given } from './request-text.ts'

const endSessions = new JsonStatement('select to_json(auth.end_sessions($1, $2, $3, $4) is null)', { access: 'write' })

const scopes: readonly string[] = ['global', 'local', 'others']

export const signOutRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/logout',
    id: 'authSignOut',
    summary: 'Sign out',
    description: 'Ends all your sessions, the one of the token (`local`), or all others (`others`).',
    caller: 'anyone',
    query: { scope: 'global (default), local or others' },
    success: [204, 'Signed out. Also for a user who was deleted.'],
    errors: { 400: 'There is no such scope.', 401: 'There is no token.', 403: 'The token is not accepted.' },
    handler: async ({ context, request, query }) => {
      const subject = await subjectOf(request, context.accessTokens)
      let session: AuthUser['session']
      try {
        session = (await context.callers.userOf(subject)).session
      } catch (error) {
        if (error instanceof AuthError && error.code === 'user_not_found') return { status: 204, empty: true }
        throw error
      }
      const scope = given(query.get('scope')) ?? 'global'
      if (!scopes.includes(scope)) throw authErrors.invalid(`Unsupported logout scope ${JSON.stringify(scope)}`)
      const isClient = session !== null && session.client_id !== null
      if (isClient && scope === 'others') throw authErrors.isClient()
      // A client ends its own session only.
      const ended = isClient ? 'local' : scope
      await context.database.ask(endSessions, [subject.userId, subject.sessionId, ended, originOf(request, context).ip])
      return { status: 204, empty: true }
    },
  }),
]
