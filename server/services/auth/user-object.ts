// Accounts as clients get them.
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { AuthDatabase } from './auth-database.ts'

const find = new JsonStatement('select auth.admin_find_user($1::uuid)', { access: 'read', hasNoEffect: true })

/** The user object of an account as JSON text; undefined when the account has gone. */
export async function storedUser(
  { askRows }: Pick<AuthDatabase, 'askRows'>,
  userId: string,
): Promise<string | undefined> {
  const [[user] = []] = await askRows(find, [userId])
  return user ?? undefined
}

/**
 * An account without the members that are null, as `auth.user_object` gives it.
 *
 * @param record JSON text of `auth.user_record`: a null in metadata has a blank before it, and stays
 */
export const userObject = (record: string): string => record.replace(/,"[a-z_]+":null/g, '')
