// Metadata of users in requests, which is passed to the database as the text that arrived.
import { authErrors } from './auth-error.ts'

/**
 * A member of a body that is an object, as JSON text; null if it is missing or null.
 *
 * @throws AuthError 400 `validation_failed` for the character NUL and halves of surrogate pairs, which PostgreSQL cannot
 * store
 */
export function objectMember(members: ReadonlyMap<string, string>, name: string): string | null {
  const text = members.get(name)
  if (text === undefined || text === 'null') return null
  if (/(?<!\\)(?:\\\\)*\\u0000/.test(text)) throw authErrors.invalid(`${name} must not contain the character NUL`)
  if (hasHalfCharacter(text)) throw authErrors.invalid(`${name} must not contain halves of surrogate pairs`)
  return text
}

/** Whether a text has a surrogate without its other half, which JSON can write only as an escape. */
const hasHalfCharacter = (text: string): boolean =>
  /\\ud/i.test(text) && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(JSON.parse(text)))
