// The bodies that answer a challenge of a passkey.
import { isUuid } from '../../../text/uuid.ts'
import { authErrors } from '../auth-error.ts'
import { isEmpty } from '../request-text.ts'
import type { CredentialDto } from '../webauthn/credential.ts'

/** `schemas/auth-passkey-answer-dto.json` */
export type PasskeyAnswerDto = { readonly challenge_id?: string | null; readonly credential?: CredentialDto | null }

/** @throws AuthError 400 `validation_failed` */
export function readAnswer({ challenge_id: challengeId, credential }: PasskeyAnswerDto): {
  readonly challengeId: string
  readonly credential: CredentialDto
} {
  if (isEmpty(challengeId)) throw authErrors.invalid('challenge_id is required')
  if (!credential) throw authErrors.invalid('credential is required')
  if (!isUuid(challengeId)) throw authErrors.invalid('challenge_id must be a valid UUID')
  return { challengeId, credential }
}
