// Results of the database functions of the administration.
import type { TextRow } from '../../../postgres/json-statement.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import type { AuthReply } from '../dialect.ts'
import { factorRefusals } from '../mfa/factor-refusal.ts'
import { requireAccepted, type Refusals } from '../refusal.ts'

export const noSuchUser = (): AuthError => new AuthError(404, 'user_not_found', 'User not found')

const accountRefusals: Refusals = {
  email_exists: authErrors.emailExists,
  phone_exists: () => new AuthError(422, 'phone_exists', 'Phone number already registered by another user'),
  id_exists: () => new AuthError(422, 'user_already_exists', 'A user with this id has already been registered'),
}

/**
 * The JSON text of a result.
 *
 * @throws AuthError 404 `user_not_found` for null; as `refused` says
 */
export function resultText(rows: readonly TextRow[], friendlyName?: string): string {
  const text = rows[0]?.[0]
  if (text === null || text === undefined) throw noSuchUser()
  requireAccepted(text, { ...factorRefusals({ friendlyName }), ...accountRefusals })
  return text
}

/** The same as the response. */
export const replyOf = (rows: readonly TextRow[], friendlyName?: string): AuthReply => ({
  text: resultText(rows, friendlyName),
})
