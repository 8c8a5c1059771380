// The bodies that answer a challenge of a passkey.
import { isUuid } from '../../../text/uuid.ts'
import { authErrors, type AuthError } from '../auth-error.ts'
import { isEmpty } from '../request-text.ts'
import type { AuthContext } from '../auth-context.ts'
import type { CredentialDto } from '../webauthn/credential.ts'
import { verificationFailed } from './passkey-refusal.ts'

/** `schemas/auth-passkey-answer-dto.json` */
export type PasskeyAnswerDto = { readonly challenge_id?: string | null; readonly credential?: unknown }

/** @throws AuthError 400 `validation_failed` */
export function readAnswer({ challenge_id: challengeId, credential }: PasskeyAnswerDto): {
  readonly challengeId: string
  readonly credential: unknown
} {
  if (isEmpty(challengeId)) throw authErrors.invalid('challenge_id is required')
  if (credential === undefined || credential === null) throw authErrors.invalid('credential is required')
  if (!isUuid(challengeId)) throw authErrors.invalid('challenge_id must be a valid UUID')
  return { challengeId, credential }
}

/**
 * The credential of an answer, or what is wrong with it. As in GoTrue, that is an error of the verification, which comes after
 * those of the challenge.
 */
export function readCredential(
  { credentialFaults }: Pick<AuthContext, 'credentialFaults'>,
  value: unknown,
): CredentialDto | AuthError {
  const [fault] = credentialFaults(value)
  if (!fault) return value as CredentialDto
  const { pointer, message } = fault
  return verificationFailed(`credential${pointer.replaceAll('/', '.')} ${message}`)
}
