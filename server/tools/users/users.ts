// The accounts of a database, for the command line. Does what `/auth/v1/admin/users` and the console do, by the same functions.
import type { Config } from '../../config/config.ts'
import type { Database } from '../../postgres/database.ts'
import { listSessions } from '../../services/accounts/session.ts'
import { sessionLimits } from '../../services/accounts/session-limits.ts'
import { hashPassword } from '../../services/accounts/password-hash.ts'
import {
  appRolesOf,
  createUser,
  deleteUser,
  findUser,
  listUsers,
  setAppRole,
  updateUser,
  type UserAdministration,
} from '../../services/auth/admin/user-administration.ts'
import { deletePasskey, listPasskeys } from '../../services/auth/admin/user-passkeys.ts'
import type { AdminUserDto } from '../../services/auth/admin/user-attributes.ts'
import { AuthError } from '../../services/auth/auth-error.ts'
import { authDatabase } from '../../services/auth/auth-database.ts'
import { normalisedPhone } from '../../services/auth/addresses.ts'
import { checkPassword } from '../../services/auth/password-rules.ts'
import { asciiLowerCase } from '../../text/ascii-case.ts'
import { jsonElements, jsonTexts } from '../../text/json-members.ts'
import { isUuid } from '../../text/uuid.ts'
import { CommandError } from '../command-line/command-error.ts'
import { printable } from '../command-line/text-table.ts'
import { nameOf, userOf, type User, type UserDetails } from './user.ts'

export type UserPage = { readonly users: readonly User[]; readonly total: number }

/** Attributes of an account; `user_metadata` is the JSON text of an object. */
export type UserChange = Omit<AdminUserDto, 'user_metadata' | 'app_metadata'> & { readonly user_metadata?: string }

/** In the audit log, in the place of an administrator's address. */
const actor = 'rowhouse users'

/** The most accounts that a message about an unknown one lists. */
const proposals = 5

/** Every method throws CommandError for a name, an address or a password that the caller can correct. */
export class Users {
  readonly #database: Database
  readonly #config: Config
  readonly #administration: UserAdministration

  /** @param database as the role that serves requests */
  constructor(database: Database, config: Config) {
    this.#database = database
    this.#config = config
    this.#administration = {
      database: authDatabase(database),
      settings: config,
      passwords: { hash: (password) => Promise.resolve(hashPassword(password)) },
      actor,
      ip: null,
    }
  }

  /**
   * A page of accounts, newest first.
   *
   * @param filter selects accounts by address, phone number, id or full name; an empty one all
   * @param page from 1
   */
  async list(filter: string, page: number, size: number): Promise<UserPage> {
    const found = await this.#list(filter, page, size)
    const roles = await named('', appRolesOf(this.#administration.database, idsOf(found.users)))
    return {
      users: found.users.map((text) => userOf(text, roles.get(idOf(text)) ?? null)),
      total: found.total,
    }
  }

  /** @param name the address, phone number or id of the account */
  async find(name: string): Promise<User> {
    if (isUuid(name)) {
      const id = name.toLowerCase()
      return this.#withRole(await named(name, findUser(this.#administration.database, id)))
    }
    const searched = /^\+[\d ]+$/.test(name) ? normalisedPhone(name) : asciiLowerCase(name)
    if (searched === '') throw new CommandError('Name a user by address, phone number or id.')
    const { users } = await this.list(searched, 1, proposals)
    const exact = users.filter(({ email, phone }) => asciiLowerCase(email) === searched || phone === searched)
    const [first] = exact
    if (first && exact.length === 1) return first
    if (first) {
      throw new CommandError(
        `Several users have the address ${printable(name)}. Name one by its id: ${exact.map(({ id }) => id).join(', ')}.`,
      )
    }
    // The address of a deleted account is a hash, in which any letters occur.
    const others = users.filter((user) => user.deleted_at === undefined).map((user) => printable(nameOf(user)))
    const similar = others.length === 0 ? '' : ` Do you mean ${others.join(', ')}?`
    throw new CommandError(`${unknown(name)}${similar}`)
  }

  /** @param name as `find` */
  async details(name: string): Promise<UserDetails> {
    const user = await this.find(name)
    const limits = sessionLimits(this.#config)
    const { query } = this.#database
    const passkeys = await named(name, listPasskeys(this.#administration, user.id))
    return {
      user,
      passkeys,
      sessions: await named(name, listSessions(user.id, { query, sessionLimits: () => limits })),
    }
  }

  /** Removes a passkey of an account. @param id of the passkey */
  async removePasskey(user: User, id: string): Promise<void> {
    const of = printable(nameOf(user))
    const passkeys = await named(nameOf(user), listPasskeys(this.#administration, user.id))
    if (!passkeys.some((passkey) => passkey.id === id.toLowerCase())) {
      const ids = passkeys.map((passkey) => passkey.id).join(', ')
      throw new CommandError(`${of} has no passkey ${printable(id)}.${ids === '' ? '' : ` Those are: ${ids}.`}`)
    }
    await named(nameOf(user), deletePasskey(this.#administration, user.id, id.toLowerCase()))
  }

  /** Creates an account; its password follows the rules of sign-ups. */
  async create(change: UserChange): Promise<User> {
    const name = change.email ?? change.phone ?? ''
    const text = await named(
      name,
      (async () => {
        if (change.password) checkPassword(change.password, this.#config)
        return createUser(this.#administration, givenBy(change))
      })(),
    )
    return userOf(text, null)
  }

  async update(user: User, change: UserChange): Promise<User> {
    const text = await named(nameOf(user), updateUser(this.#administration, user.id, givenBy(change)))
    return userOf(text, user.appRole)
  }

  /** Takes effect at once, also for tokens that are already signed. */
  async setAppRole(user: User, appRole: string | null): Promise<User> {
    if (!(await named(nameOf(user), setAppRole(this.#administration, user.id, appRole)))) {
      throw new CommandError(unknown(nameOf(user)))
    }
    return this.find(user.id)
  }

  /** @param isSoft whether the row of the account stays, with hashes in the place of addresses */
  delete(user: User, isSoft: boolean): Promise<void> {
    return named(nameOf(user), deleteUser(this.#administration, user.id, isSoft))
  }

  async #list(
    filter: string,
    page: number,
    size: number,
  ): Promise<{ readonly users: readonly string[]; readonly total: number }> {
    const { database, settings } = this.#administration
    const search = { audience: settings.authJwtAud, filter, ascending: false, size, skipped: (page - 1) * size }
    const { users, total } = await named('', listUsers(database, search))
    return { users: jsonElements(users), total }
  }

  async #withRole(text: string): Promise<User> {
    const id = idOf(text)
    const roles = await named(id, appRolesOf(this.#administration.database, [id]))
    return userOf(text, roles.get(id) ?? null)
  }
}

const idOf = (text: string): string => (JSON.parse(text) as { readonly id: string }).id
const idsOf = (texts: readonly string[]): readonly string[] => texts.map(idOf)

const unknown = (name: string): string => `There is no user ${printable(name)}.`

const givenBy = ({ user_metadata: metadata, ...body }: UserChange) => ({
  body,
  members: new Map([
    ...Object.entries(jsonTexts(body)).flatMap(([key, text]) => (text === undefined ? [] : [[key, text] as const])),
    ...(metadata === undefined ? [] : [['user_metadata', metadata] as const]),
  ]),
})

/**
 * Turns errors about an account into messages.
 *
 * @param name of the account, as the user wrote it
 */
async function named<T>(name: string, running: Promise<T>): Promise<T> {
  try {
    return await running
  } catch (error) {
    if (error instanceof AuthError) {
      if (error.code === 'user_not_found') throw new CommandError(unknown(name), { cause: error })
      throw new CommandError(`${name === '' ? '' : `${printable(name)}: `}${error.message}`, { cause: error })
    }
    throw error
  }
}
