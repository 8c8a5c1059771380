// What passwords must be like.
import { authErrors } from './auth-error.ts'
import type { AuthSettings } from './settings.ts'

/** Bytes. bcrypt, which imported accounts use, ignores all others, so that GoTrue accepts no longer passwords. */
const maxLength = 72

/** @throws AuthError 400 `validation_failed` when the password is too long to be hashed */
export function requireHashable(password: string): void {
  if (Buffer.byteLength(password) > maxLength) {
    throw authErrors.invalid(`Password cannot be longer than ${maxLength} characters`)
  }
}

type PasswordRules = Pick<AuthSettings, 'authPasswordMinLength' | 'authPasswordRequiredCharacters'>

/**
 * Checks a new password.
 *
 * @throws AuthError 422 `weak_password` with the reasons; 400 `validation_failed` when it is too long
 */
export function checkPassword(password: string, rules: PasswordRules): void {
  requireHashable(password)
  requireStrong(password, rules)
}

/**
 * Checks a new password, whatever its length in bytes: the cookie routes accept longer ones.
 *
 * @throws AuthError 422 `weak_password` with the reasons
 */
export function requireStrong(password: string, rules: PasswordRules): void {
  const weakness = weaknessOf(password, rules)
  if (weakness) throw authErrors.weakPassword(weakness.message, weakness.reasons)
}

export type Weakness = { readonly message: string; readonly reasons: readonly ('length' | 'characters')[] }

/** How a password breaks the rules; undefined if it does not. */
function weaknessOf(
  password: string,
  { authPasswordMinLength: min, authPasswordRequiredCharacters: sets }: PasswordRules,
): Weakness | undefined {
  const isShort = [...password].length < min
  const lacks = sets.some((set) => ![...set].some((character) => password.includes(character)))
  if (!isShort && !lacks) return undefined
  return {
    message: [
      ...(isShort ? [`Password should be at least ${min} characters.`] : []),
      ...(lacks ? [`Password should contain at least one character of each: ${sets.join(', ')}.`] : []),
    ].join(' '),
    reasons: [...(isShort ? (['length'] as const) : []), ...(lacks ? (['characters'] as const) : [])],
  }
}

/** The member `weak_password` of a sign-in with a password that breaks rules which came later. */
export function weakPasswordMember(password: string, rules: PasswordRules): Readonly<Record<string, unknown>> {
  const weakness = weaknessOf(password, rules)
  return weakness === undefined ? {} : { weak_password: weakness }
}
