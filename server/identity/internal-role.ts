// The roles of the server's own statements, which no request may have.
import { credentialErrors } from './credential-error.ts'
import type { Identity } from './identity.ts'

/** The role of `/auth/v1`, which reads and writes all accounts. `authenticator` can switch to it. */
export const authAdminRole = 'supabase_auth_admin'

/** The role of `/storage/v1` that owns its tables. `authenticator` can switch to it. */
export const storageAdminRole = 'supabase_storage_admin'

/** The role of `/realtime/v1` that owns the table of messages. `authenticator` can switch to it. */
export const realtimeAdminRole = 'supabase_realtime_admin'

export const internalRoles: readonly string[] = [authAdminRole, storageAdminRole, realtimeAdminRole]

/** Whether a role is the server's own. */
export const isInternalRole = (role: string): boolean => internalRoles.includes(role)

/**
 * The identity, unless its role is the server's own. Requests with that role, for instance by a token of another
 * issuer that shares the secret, would have access to all password hashes, sessions, objects and messages.
 *
 * @throws CredentialError as for a role that is not granted to `authenticator`
 */
export function permitted(identity: Identity): Identity {
  if (isInternalRole(identity.role)) throw credentialErrors.roleNotPermitted(identity.role)
  return identity
}
