// Passkeys of accounts, for administrators: of `/auth/v1/admin/users`, and on the command line.
import type { NamedPasskey } from '../passkeys/passkey-names.ts'
import { passkeyRefusals } from '../passkeys/passkey-refusal.ts'
import { accepted } from '../refusal.ts'
import { passkeyStatements } from '../passkeys/passkey-statements.ts'
import { noSuchUser } from './admin-result.ts'
import type { UserAdministration } from './user-administration.ts'

/** A passkey as the API shows it, without its key. Times are ISO 8601. */
export type ListedPasskey = {
  readonly id: string
  readonly friendly_name?: string
  readonly created_at: string
  readonly last_used_at?: string
}

/**
 * The passkeys of an account, oldest first.
 *
 * @throws AuthError 404 `user_not_found`
 */
export async function listPasskeys(
  { database }: Pick<UserAdministration, 'database'>,
  userId: string,
): Promise<readonly ListedPasskey[]> {
  const [list] = await database.ask(passkeyStatements.adminList, [userId])
  if (list === undefined || list === null) throw noSuchUser()
  return list as readonly ListedPasskey[]
}

/**
 * Deletes a passkey. Sessions that began with it go on.
 *
 * @returns what was deleted
 * @throws AuthError 404 `user_not_found`, or that the account has no such passkey
 */
export async function deletePasskey(
  { database, actor, ip }: Pick<UserAdministration, 'database' | 'actor' | 'ip'>,
  userId: string,
  passkeyId: string,
): Promise<NamedPasskey> {
  const [removed] = await database.ask(passkeyStatements.adminDelete, [userId, passkeyId, actor, ip])
  if (removed === undefined || removed === null) throw noSuchUser()
  return accepted<NamedPasskey>(removed, passkeyRefusals)
}
