// Reasons for which the OAuth server refuses a request of a person or an administrator, as errors of the API.
import { AuthError, authErrors } from '../auth-error.ts'
import type { Refusals } from '../refusal.ts'
import type { AuthSettings } from '../settings.ts'

/** @throws AuthError 404 `feature_disabled` */
export function requireOAuthServer({ authOAuthServerEnabled }: Pick<AuthSettings, 'authOAuthServerEnabled'>): void {
  if (!authOAuthServerEnabled) throw new AuthError(404, 'feature_disabled', 'OAuth server is disabled')
}

export const clientNotFound = (): AuthError => new AuthError(404, 'oauth_client_not_found', 'OAuth client not found')

export const oauthRefusals: Refusals = {
  session_not_found: authErrors.sessionNotFound,
  authorization_not_found: () => new AuthError(404, 'oauth_authorization_not_found', 'authorization not found'),
  not_pending: () => authErrors.invalid('authorization request is no longer pending'),
  insufficient_aal: () =>
    authErrors.insufficientAal(403, 'AAL2 session is required to grant or revoke access when MFA is enabled'),
  consent_not_found: () => new AuthError(404, 'oauth_consent_not_found', 'No active grant found for this client'),
  client_not_found: clientNotFound,
  public_client: () => authErrors.invalid('Cannot regenerate secret for public client'),
}
