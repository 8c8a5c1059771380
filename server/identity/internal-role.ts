// The role of the server's own statements, which no request may have.
import { credentialErrors } from './credential-error.ts'
import type { Identity } from './identity.ts'

/** The role of `/auth/v1`, which reads and writes all accounts. `authenticator` can switch to it. */
export const authAdminRole = 'supabase_auth_admin'

/**
 * The identity, unless its role is the server's own. Whoever could send requests with that role, for instance by a token of
 * another issuer that shares the secret, would have access to all password hashes and sessions in an exposed schema.
 *
 * @throws CredentialError as for a role that is not granted to `authenticator`
 */
export function permitted(identity: Identity): Identity {
  if (identity.role === authAdminRole) throw credentialErrors.roleNotPermitted(identity.role)
  return identity
}
