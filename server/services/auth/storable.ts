// Texts of requests that are stored or looked for.
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

/** The text of a member; undefined if it is missing, null or empty, which is the same in GoTrue. */
export const given = (text: string | null | undefined): string | undefined =>
  text === null || text === '' ? undefined : text
