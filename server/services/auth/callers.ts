// Identifies the callers of `/auth/v1` by their bearer tokens.
import type { IncomingMessage } from 'node:http'
import { bearerToken } from '../../identity/bearer.ts'
import { isApiKey } from '../../identity/api-key/api-key.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { AuthSubject, AuthUser } from './auth-caller.ts'
import type { AuthCallers } from './auth-resources.ts'
import type { AuthDatabase } from './auth-database.ts'
import { AuthError, authErrors } from './auth-error.ts'
import { isEmpty } from './request-text.ts'
import type { AuthSettings } from './settings.ts'
import { userObject } from './user-object.ts'
import { isUuid, nilUuid } from '../../text/uuid.ts'

export type CallerOptions = {
  readonly settings: () => AuthSettings
  readonly database: AuthDatabase
  readonly accessTokens: AccessTokens
}

const findCaller = new JsonStatement('select user_record, state from auth.find_caller($1, $2)', {
  access: 'read',
  hasNoEffect: true,
})

/**
 * The subject of the request's token, which may have been deleted.
 *
 * @throws AuthError 401 `no_authorization`; 403 or 400 `bad_jwt`
 */
export async function subjectOf(request: IncomingMessage, accessTokens: AccessTokens): Promise<AuthSubject> {
  const token = bearerToken(request.headers.authorization)
  if (isEmpty(token)) throw authErrors.noAuthorization()
  const claims = await accessTokens.verify(token)
  const { sub, session_id: sessionId = '' } = claims
  if (typeof sub !== 'string' || sub === '') throw authErrors.badJwt('invalid claim: missing sub claim')
  if (!isUuid(sub)) throw new AuthError(400, 'bad_jwt', 'invalid claim: sub claim must be a UUID')
  if (sessionId === '' || sessionId === nilUuid) return { userId: sub, sessionId: null, claims }
  if (typeof sessionId !== 'string' || !isUuid(sessionId)) {
    throw authErrors.badJwt('invalid claim: session_id claim must be a UUID')
  }
  return { userId: sub, sessionId, claims }
}

export function createCallers({ settings, database, accessTokens }: CallerOptions): AuthCallers {
  const userOf: AuthCallers['userOf'] = async ({ userId, sessionId, claims }) => {
    const [row] = await database.askRows(findCaller, [userId, sessionId])
    const [record, stateText] = row ?? []
    if (typeof record !== 'string' || typeof stateText !== 'string') throw authErrors.userNotFound()
    const { banned, session, row: columns } = JSON.parse(stateText) as CallerState
    if (sessionId !== null && session === null) throw authErrors.sessionNotFound()
    if (banned) throw authErrors.userBanned(403)
    return { id: userId, claims, text: userObject(record), session, row: columns }
  }
  return {
    user: async (request, allowsClients = false) => {
      const user = await userOf(await subjectOf(request, accessTokens))
      if (!allowsClients && user.session !== null && user.session.client_id !== null) throw authErrors.isClient()
      return user
    },
    userOf,
    admin: async (request) => {
      const token = bearerToken(request.headers.authorization)
      const key = request.headers.apikey
      // A secret API key needs no bearer token.
      const credential = token ?? (typeof key === 'string' && isApiKey(key) ? key : undefined)
      if (isEmpty(credential)) throw authErrors.noAuthorization()
      const claims = await accessTokens.verify(credential)
      const { role, client_id: client, session_id: session } = claims
      // An account can have such a role: its person is an administrator, but no application that it has granted access to.
      // Tokens of other issuers can have a claim of this name, too, but no session.
      if (client !== undefined && session !== undefined) throw authErrors.isClient()
      if (typeof role !== 'string' || !settings().authJwtAdminRoles.includes(role)) throw authErrors.notAdmin()
      return { role, claims }
    },
  }
}

type CallerState = { readonly banned: boolean } & Pick<AuthUser, 'session' | 'row'>
