// Who may use second factors, and the path parameter that names one.
import type { PathParameter } from '../../../http/path-id.ts'
import type { AuthUser } from '../auth-caller.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { isUuid } from '../../../text/uuid.ts'

/** A user with a session who is not anonymous. */
export type FactorOwner = AuthUser & { readonly session: NonNullable<AuthUser['session']> }

/** @throws AuthError 403 `no_authorization` for an anonymous user, `session_not_found` for a token without a session */
export function factorOwner(caller: AuthUser): FactorOwner {
  if (caller.claims.is_anonymous === true) {
    throw new AuthError(403, 'no_authorization', 'Anonymous user not allowed to perform these actions')
  }
  const { session } = caller
  if (!session) throw authErrors.sessionNotFound()
  return { ...caller, session }
}

/** A path parameter whose faults are GoTrue's. */
export const authIdParameter = (name: string, description: string): PathParameter<string> => ({
  description,
  schema: { type: 'string', format: 'uuid' },
  read: (text) => {
    if (!isUuid(text)) throw new AuthError(404, 'validation_failed', `${name} must be an UUID`)
    return text.toLowerCase()
  },
})

export const factorId = authIdParameter('factor_id', 'Id of the factor.')
