// Texts in requests.
import { authErrors } from './auth-error.ts'

/**
 * The text, if PostgreSQL can store it.
 *
 * @throws AuthError 400 `validation_failed` for the character NUL
 */
export function storable(name: string, text: string): string {
  if (text.includes('\0')) throw authErrors.invalid(`${name} must not contain the character NUL`)
  return text
}

/** Whether a member is missing, null or empty, which is the same in GoTrue. */
export const isEmpty = (text: string | null | undefined): text is null | undefined | '' =>
  text === undefined || text === null || text === ''

/** The text of a member; undefined if it is empty. */
export const given = (text: string | null | undefined): string | undefined => (isEmpty(text) ? undefined : text)
