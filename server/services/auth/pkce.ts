// Proof Key for Code Exchange between a client and `/auth/v1`. RFC 7636
import { authErrors } from './auth-error.ts'
import type { PkceChallenge } from './confirmations.ts'
import { isEmpty } from './request-text.ts'

const minLength = 43
const maxLength = 128
/** RFC 7636, section 4.2 */
const form = /^[a-zA-Z0-9._~-]+$/

/**
 * The challenge of a request; undefined without one.
 *
 * @param challenge the parameter `code_challenge`
 * @param method the parameter `code_challenge_method`: `s256` or `plain`, in any case
 * @throws AuthError 400 `validation_failed`
 */
export function readChallenge(
  challenge: string | null | undefined,
  method: string | null | undefined,
): PkceChallenge | undefined {
  if (isEmpty(challenge) !== isEmpty(method)) {
    throw authErrors.invalid('PKCE flow requires code_challenge_method and code_challenge')
  }
  if (isEmpty(challenge) || isEmpty(method)) return undefined
  if (challenge.length < minLength || challenge.length > maxLength) {
    throw authErrors.invalid(`code challenge has to be between ${minLength} and ${maxLength} characters`)
  }
  if (!form.test(challenge)) {
    throw authErrors.invalid(
      'code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes',
    )
  }
  const lower = method.toLowerCase()
  if (lower !== 's256' && lower !== 'plain') throw authErrors.invalid('Invalid code_challenge_method')
  return { challenge, method: lower }
}
