// Reasons for which the database functions of passkeys refuse a request, as errors of the API.
import { AuthError, authErrors } from '../auth-error.ts'
import type { AuthSettings } from '../settings.ts'
import type { Refusals } from '../refusal.ts'
import { InvalidCredential } from '../webauthn/credential.ts'

/** @throws AuthError 404 `passkey_disabled` */
export function requirePasskeys({ authPasskeyEnabled }: Pick<AuthSettings, 'authPasskeyEnabled'>): void {
  if (!authPasskeyEnabled) throw new AuthError(404, 'passkey_disabled', 'Passkeys are disabled')
}

/** @param reason as part of a sentence */
export const verificationFailed = (reason: string, cause?: unknown): AuthError =>
  new AuthError(400, 'webauthn_verification_failed', `Credential verification failed: ${reason}`, { cause })

/** An error of the verification of an answer, as one of the API. */
export const failedVerification = (error: unknown): unknown =>
  error instanceof InvalidCredential ? verificationFailed(error.message, error) : error

const unknownPasskey = (): AuthError => verificationFailed('the passkey is not registered here')

export const passkeyRefusals: Refusals = {
  session_not_found: authErrors.sessionNotFound,
  sso_user: () => new AuthError(422, 'validation_failed', 'SSO users cannot register passkeys'),
  insufficient_aal: () =>
    authErrors.insufficientAal(403, 'AAL2 session is required to manage passkeys when MFA is enabled'),
  too_many_passkeys: () => new AuthError(422, 'too_many_passkeys', 'Maximum number of passkeys reached'),
  passkey_not_found: () => new AuthError(404, 'validation_failed', 'Passkey not found'),
  webauthn_credential_exists: () =>
    new AuthError(422, 'webauthn_credential_exists', 'This credential is already registered'),
  webauthn_challenge_not_found: () =>
    new AuthError(400, 'webauthn_challenge_not_found', 'Challenge not found or already used'),
  webauthn_challenge_expired: () => new AuthError(400, 'webauthn_challenge_expired', 'Challenge has expired'),
  unknown_passkey: unknownPasskey,
  counter_went_back: () =>
    verificationFailed('the passkey has made later signatures than this one, so that it may have been copied'),
}
