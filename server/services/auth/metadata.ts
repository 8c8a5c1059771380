// Metadata of users in requests, which is passed to the database as the text that arrived.
import { jsonMembers, jsonObject } from '../../text/json-members.ts'
import { hasLoneSurrogate } from '../../text/json-text.ts'
import { authErrors } from './auth-error.ts'

/** Members that only this service sets, because they say whether an address or a phone number was proven. */
const proofs = ['email_verified', 'phone_verified'] as const

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
  if (hasLoneSurrogate(text)) throw authErrors.invalid(`${name} must not contain halves of surrogate pairs`)
  return text
}

/**
 * The member `data` of a body of a user, as JSON text, without the members that users do not choose. Pages send back the
 * metadata that they have got, so these members are ignored instead of refused.
 *
 * @throws AuthError 400 as `objectMember`
 */
export function chosenData(members: ReadonlyMap<string, string>): string | null {
  const text = objectMember(members, 'data')
  if (text === null) return null
  const chosen = jsonMembers(text)
  const had = proofs.map((name) => chosen.delete(name))
  return had.includes(true) ? jsonObject(chosen) : text
}
