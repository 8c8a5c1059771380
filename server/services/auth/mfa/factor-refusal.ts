// Reasons for which the database functions of second factors refuse a request, as errors of the API.
import { AuthError, authErrors } from '../auth-error.ts'
import type { Refusal, Refusals } from '../refusal.ts'

export type FactorType = NonNullable<Refusal['type']>

/** What a request named, for messages. */
type Subject = {
  readonly friendlyName?: string
  readonly challengeId?: string
  /** What needs a session of aal2, and the status of the response without one. */
  readonly protectedAction?: { readonly name: string; readonly status: 403 | 422 }
}

/** GoTrue's names of the types in messages. */
const typeNames: Readonly<Record<FactorType, string>> = { totp: 'TOTP', phone: 'Phone', webauthn: 'WebAuthn' }

export const enrollDisabled = (type: FactorType): AuthError =>
  new AuthError(422, `mfa_${type}_enroll_not_enabled`, `MFA enroll is disabled for ${typeNames[type]}`)

const verifyDisabled = (type: FactorType): AuthError =>
  new AuthError(422, `mfa_${type}_verify_not_enabled`, `MFA verification is disabled for ${typeNames[type]}`)

/** @param reason why the answer of a security key is not valid, as part of a sentence */
export const wrongCode = (type: FactorType, reason = 'a code is no answer'): AuthError =>
  new AuthError(
    422,
    'mfa_verification_failed',
    {
      totp: 'Invalid TOTP code entered',
      phone: 'Invalid MFA Phone code entered',
      webauthn: `Failed to validate WebAuthn MFA response: ${reason}`,
    }[type],
  )

const notFound = (): AuthError => new AuthError(404, 'mfa_factor_not_found', 'Factor not found')

const verifyFactor = { name: 'verify a new factor', status: 403 } as const

const expired = (message: string): AuthError => new AuthError(422, 'mfa_challenge_expired', message)

/** @param subject what the request named */
export const factorRefusals = ({
  friendlyName = '',
  challengeId = '',
  protectedAction = verifyFactor,
}: Subject = {}): Refusals => ({
  session_not_found: authErrors.sessionNotFound,
  insufficient_aal: () =>
    authErrors.insufficientAal(protectedAction.status, `AAL2 required to ${protectedAction.name}`),
  mfa_factor_not_found: notFound,
  challenge_not_found: () =>
    new AuthError(422, 'mfa_factor_not_found', 'MFA factor with the provided challenge ID not found'),
  mfa_verified_factor_exists: () =>
    new AuthError(
      422,
      'mfa_verified_factor_exists',
      'A verified phone factor already exists, unenroll the existing factor to continue',
    ),
  mfa_factor_name_conflict: () =>
    new AuthError(
      422,
      'mfa_factor_name_conflict',
      `A factor with the friendly name ${JSON.stringify(friendlyName)} for this user already exists`,
    ),
  too_many_enrolled_mfa_factors: () =>
    new AuthError(
      422,
      'too_many_enrolled_mfa_factors',
      'Maximum number of verified factors reached, unenroll to continue',
    ),
  mfa_verify_disabled: ({ type = 'totp' }) => verifyDisabled(type),
  mfa_ip_address_mismatch: () =>
    new AuthError(422, 'mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch.'),
  mfa_challenge_expired: () =>
    expired(`MFA challenge ${challengeId} has expired, verify against another challenge or create a new challenge.`),
  too_many_attempts: () =>
    expired(`Too many codes were tried for the MFA challenge ${challengeId}: create a new challenge.`),
  too_many_wrong_codes: ({ seconds = 1 }) =>
    authErrors.overLimit('over_request_rate_limit', 'Too many wrong codes for this factor: try again later', seconds),
  over_sms_send_rate_limit: ({ seconds = 1 }) =>
    authErrors.overLimit(
      'over_sms_send_rate_limit',
      `For security purposes, you can only request this after ${seconds} seconds.`,
      seconds,
    ),
  code_used: () =>
    new AuthError(
      422,
      'mfa_verification_failed',
      'Invalid TOTP code entered: it was used already, wait for the next one',
    ),
  webauthn_credential_exists: () =>
    new AuthError(422, 'webauthn_credential_exists', 'This credential is already registered'),
  counter_went_back: () =>
    wrongCode('webauthn', 'the key has made later signatures than this one, so that it may have been copied'),
  wrong_recovery_code: () => new AuthError(422, 'mfa_verification_failed', 'Invalid recovery code entered'),
})
