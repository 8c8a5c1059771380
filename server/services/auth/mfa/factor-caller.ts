// Who may use second factors.
import type { AuthUser } from '../auth-caller.ts'
import { AuthError, authErrors } from '../auth-error.ts'

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
