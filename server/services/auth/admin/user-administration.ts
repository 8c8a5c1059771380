// What administrators do with accounts, by `/admin/users`, in the console and on the command line.
import type { ClientPasswords } from '../../accounts/password.ts'
import type { AuthDatabase } from '../auth-database.ts'
import { authErrors } from '../auth-error.ts'
import { checkPassword, requireHashable } from '../password-rules.ts'
import { given } from '../request-text.ts'
import type { AuthSettings } from '../settings.ts'
import { storedUser } from '../user-object.ts'
import { noSuchUser, resultText } from './admin-result.ts'
import { adminStatements } from './admin-statements.ts'
import { attributesOf, passwordHashOf, type AdminUserDto } from './user-attributes.ts'

/** Who changes accounts, and with what. */
export type UserAdministration = {
  readonly database: Pick<AuthDatabase, 'ask' | 'askRows'>
  readonly settings: Pick<
    AuthSettings,
    'authJwtAud' | 'authJwtDefaultGroupName' | 'authPasswordMinLength' | 'authPasswordRequiredCharacters'
  >
  readonly passwords: Pick<ClientPasswords, 'hash'>
  /** For the audit log: the role or name of the administrator. */
  readonly actor: string
  /** The address of the administrator, for the audit log. */
  readonly ip: string | null
}

/** Attributes of an account, with the raw values of their members, which have all digits of numbers. */
export type GivenAttributes = { readonly body: AdminUserDto; readonly members: ReadonlyMap<string, string> }

export type UserSearch = {
  readonly audience: string
  /**
   * The address, phone number or id of an account selects this account; any other text, those whose address, phone number or
   * full name contains it; an empty one all.
   */
  readonly filter: string
  readonly ascending: boolean
  /** The most accounts of the page. */
  readonly size: number
  readonly skipped: number
}

/** A page of accounts by the time of their registration, as the JSON text of an array, and the number of all. */
export async function listUsers(
  { askRows }: Pick<AuthDatabase, 'askRows'>,
  { audience, filter, ascending, size, skipped }: UserSearch,
): Promise<{ readonly users: string; readonly total: number }> {
  const [[users, total] = []] = await askRows(adminStatements.listUsers, [audience, filter, ascending, size, skipped])
  return { users: users ?? '[]', total: Number(total) }
}

/**
 * The account with an id, as JSON text.
 *
 * @throws AuthError 404 `user_not_found`
 */
export async function findUser(database: Pick<AuthDatabase, 'askRows'>, id: string): Promise<string> {
  const user = await storedUser(database, id)
  if (user === undefined) throw noSuchUser()
  return user
}

/**
 * Creates an account, and sends no mail. Without a password, it can sign in by codes and links only.
 *
 * @param audience of the account, unless the attributes name another
 * @returns the account as JSON text
 * @throws AuthError 400 `validation_failed`; 422 if the address, the phone number or the id is taken
 */
export async function createUser(
  { database, settings, passwords, actor, ip }: UserAdministration,
  { body, members }: GivenAttributes,
  audience = settings.authJwtAud,
): Promise<string> {
  if (!body.email && !body.phone) throw authErrors.invalid('Cannot create a user without either an email or phone')
  const role = given(body.role) ?? settings.authJwtDefaultGroupName
  const { json, ban } = attributesOf({ ...body, aud: given(body.aud) ?? audience, role }, members)
  const passwordHash = await passwordHashOf(
    { ...body, password: given(body.password) ?? null },
    passwords,
    requireHashable,
  )
  return resultText(await database.askRows(adminStatements.createUser, [json, passwordHash, ban ?? 0, actor, ip]))
}

/**
 * Changes an account. A new password ends all its sessions, and makes its pending codes invalid.
 *
 * @returns the account as JSON text
 * @throws AuthError 400 `validation_failed`; 404 `user_not_found`; 422 if the address or the phone number is taken, or the
 *   password is weak
 */
export async function updateUser(
  { database, settings, passwords, actor, ip }: UserAdministration,
  id: string,
  { body, members }: GivenAttributes,
): Promise<string> {
  // The id and the audience of an account do not change.
  const { json, ban } = attributesOf({ ...body, id: null, aud: null }, members)
  const passwordHash = await passwordHashOf(body, passwords, (password) => {
    checkPassword(password, settings)
  })
  return resultText(await database.askRows(adminStatements.updateUser, [id, json, passwordHash, ban, actor, ip]))
}

/**
 * Deletes an account with its sessions.
 *
 * @param isSoft whether its row stays, with hashes in the place of addresses
 * @throws AuthError 404 `user_not_found`
 */
export async function deleteUser(
  { database, actor, ip }: Pick<UserAdministration, 'database' | 'actor' | 'ip'>,
  id: string,
  isSoft: boolean,
): Promise<void> {
  const [deleted] = await database.ask(adminStatements.deleteUser, [id, isSoft, actor, ip])
  if (deleted === null) throw noSuchUser()
}

/** The app_role of those of the accounts that have one, by id. */
export async function appRolesOf(
  { askRows }: Pick<AuthDatabase, 'askRows'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await askRows(adminStatements.findAppRoles, [JSON.stringify(ids)])
  return new Map(rows.map(([id, appRole]) => [id ?? '', appRole ?? '']))
}

/**
 * Sets the app_role of an account, null for none. It takes effect at once, also for tokens that are already signed.
 *
 * @returns whether there is such an account
 */
export async function setAppRole(
  {
    database,
    actor,
    ip,
  }: Pick<UserAdministration, 'actor' | 'ip'> & {
    readonly database: Pick<AuthDatabase, 'askRows'>
  },
  id: string,
  appRole: string | null,
): Promise<boolean> {
  return (await database.askRows(adminStatements.setAppRole, [id, appRole, actor, ip])).length === 1
}
