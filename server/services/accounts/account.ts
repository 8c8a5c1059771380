// Accounts in the database, through functions that only `authenticator` may execute.
import { isNotForThisRole, sqlState } from '../../postgres/database-error.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import { Failure, failures } from '../../http/envelope.ts'
import { asciiLowerCase } from '../../text/ascii-case.ts'

export type Account = {
  readonly id: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string | null
}

/** What a new account is created with. */
export type NewAccountParts = {
  readonly id: string
  readonly audience: string
  readonly role: string
  /** Whether addresses are confirmed without proof. */
  readonly confirms: boolean
}

export type NewAccount = Omit<Account, 'id' | 'firstName'> & {
  readonly firstName: string | null
  readonly passwordHash: string
  /** Address of the client, for the audit log. */
  readonly ip?: string | null
  /** By default, the address is confirmed later, if at all. */
  readonly parts?: NewAccountParts
}

/** `schemas/user-dto.json` */
export type UserDto = {
  readonly id: string
  readonly email: string
  readonly firstName: string
  readonly lastName?: string
  readonly fullName?: string
}

/** The address in lower case. The JSON Schemas accept only ASCII. */
export const normalisedEmail = asciiLowerCase

/** An account as its owner sees it. The full name is left out without a last name. */
export const userDto = ({ id, email, firstName, lastName }: Account): UserDto => ({
  id,
  email,
  firstName,
  ...(lastName === null ? {} : { lastName, fullName: `${firstName} ${lastName}` }),
})

/**
 * Runs a statement that calls a function of the schema `auth`.
 *
 * @throws Failure as `fromAccounts`
 */
export const askAccounts = (
  query: RunQuery,
  text: string,
  values: unknown[],
): Promise<readonly Record<string, unknown>[]> => fromAccounts(() => query(text, values))

/** The error that `auth.fail` raises. */
const refused = 'AU000'

const lacksSecondFactor = (error: unknown): boolean =>
  sqlState(error) === refused && error instanceof Error && error.message.includes('"insufficient_aal"')

/**
 * Runs `ask`, which calls a function of the schema `auth`.
 *
 * @throws Failure 503 when the function is missing, or the login role of the program may not execute it; 403 when the
 *   session has not used the second factor of its account, which the change requires
 */
export async function fromAccounts<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (isNotForThisRole(error)) throw failures.notMigrated(error)
    if (lacksSecondFactor(error)) throw failures.needsSecondFactor(error)
    throw error
  }
}

/** raise_exception: `raise exception` without an error code. */
const raised = 'P0001'

type AccountRow = { id: string; email: string; first_name: string; last_name: string | null }

const accountOf = ({ id, email, first_name: firstName, last_name: lastName }: AccountRow): Account => ({
  id,
  email,
  firstName,
  lastName,
})

/**
 * Creates an account that can be used before its address is confirmed; undefined when the address is already registered.
 *
 * @throws Failure 400 with the message that a trigger of the project raised
 */
export async function createAccount(
  query: RunQuery,
  { email, passwordHash, firstName, lastName, ip = null, parts }: NewAccount,
): Promise<Account | undefined> {
  try {
    const [row] = await askAccounts(
      query,
      `select id, email, first_name, last_name
      from auth.create_user($1, $2, $3, $4, $5, $6, coalesce($7, 'authenticated'), coalesce($8, 'authenticated'), $9)`,
      [email, passwordHash, firstName, lastName, ip, parts?.id, parts?.audience, parts?.role, parts?.confirms === true],
    )
    return row && accountOf(row as AccountRow)
  } catch (error) {
    // Another request has changed the account of the address.
    if (sqlState(error) === refused) return undefined
    if (sqlState(error) === raised) throw new Failure(400, (error as Error).message, { cause: error })
    throw error
  }
}

export type FoundAccount = Account & {
  /** Undefined for an account that signs in without a password. */
  readonly passwordHash: string | undefined
  /** Whether the address is confirmed, or the account was opened with a cookie, which needs no confirmation. */
  readonly isConfirmed: boolean
  readonly isBanned: boolean
}

/** Finds an account by its e-mail address, ignoring case. */
export async function findAccount(query: RunQuery, email: string): Promise<FoundAccount | undefined> {
  const [row] = await askAccounts(
    query,
    'select id, email, password_hash, first_name, last_name, is_confirmed, is_banned from auth.find_user($1)',
    [email],
  )
  if (!row) return undefined
  const found = row as AccountRow & { password_hash: string | null; is_confirmed: boolean; is_banned: boolean }
  return {
    ...accountOf(found),
    passwordHash: found.password_hash ?? undefined,
    isConfirmed: found.is_confirmed,
    isBanned: found.is_banned,
  }
}

/** The hash of an account's password; undefined when the account does not exist, or has no password. */
export async function findPassword(query: RunQuery, userId: string): Promise<string | undefined> {
  const [row] = await askAccounts(query, 'select hash from auth.find_password($1)', [userId])
  return typeof row?.hash === 'string' ? row.hash : undefined
}

/** Replaces the hash of a password. False when it has changed meanwhile. */
export async function replaceHash(query: RunQuery, userId: string, old: string, replacement: string): Promise<boolean> {
  const [row] = await askAccounts(query, 'select auth.rehash_password($1, $2, $3) as replaced', [
    userId,
    old,
    replacement,
  ])
  return row?.replaced === true
}

export type AccountChange = {
  readonly userId: string
  /** Hash that the current password was compared with. */
  readonly passwordHash: string
  readonly email: string | undefined
  readonly newPasswordHash: string | undefined
  /** Whether a new address is confirmed without proof. */
  readonly confirms: boolean
  /** The session that a new password does not end. */
  readonly sessionId: string
  /** Address of the client, for the audit log. */
  readonly ip: string | null
}

/**
 * Changes an account. Undefined when its password was changed meanwhile, or the account was deleted.
 *
 * @throws Failure 409 when the address is already registered, 403 without the second factor of the account
 */
export async function changeAccount(
  query: RunQuery,
  { userId, passwordHash, email, newPasswordHash, confirms, sessionId, ip }: AccountChange,
): Promise<(Account & { readonly createdAt: Date }) | undefined> {
  try {
    const [row] = await askAccounts(
      query,
      'select id, email, first_name, last_name, created_at from auth.change_user($1, $2, $3, $4, $5, $6, $7)',
      [userId, passwordHash, email ?? null, newPasswordHash ?? null, sessionId, ip, confirms],
    )
    if (!row) return undefined
    const changed = row as AccountRow & { created_at: Date }
    return { ...accountOf(changed), createdAt: changed.created_at }
  } catch (error) {
    if (sqlState(error) === '23505') throw failures.addressTaken(error)
    throw error
  }
}

/**
 * Deletes an account with all its data, files included. False when its password was changed meanwhile, or it was already
 * deleted.
 *
 * @throws Failure 403 without the second factor of the account
 */
export async function deleteAccount(
  query: RunQuery,
  { userId, passwordHash, sessionId, ip }: Pick<AccountChange, 'userId' | 'passwordHash' | 'sessionId' | 'ip'>,
): Promise<boolean> {
  const values = [userId, passwordHash, ip, sessionId]
  const [row] = await askAccounts(query, 'select auth.delete_user($1, $2, $3, $4) as deleted', values)
  return row?.deleted === true
}
