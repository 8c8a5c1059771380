// Accounts in the database, through functions that only `authenticator` may execute.
import { isNotMigrated, sqlState } from '../../postgres/database-error.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import { Failure, failures } from '../../http/envelope.ts'

export type Account = {
  readonly id: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string | null
}

export type NewAccount = Omit<Account, 'id' | 'firstName'> & {
  readonly firstName: string | null
  readonly passwordHash: string
  /** Address of the client, for the audit log. */
  readonly ip?: string | null
}

/** `schemas/user-dto.json` */
export type UserDto = {
  readonly id: string
  readonly email: string
  readonly firstName: string
  readonly lastName?: string
  readonly fullName?: string
}

/** The address in lower case. The JSON Schemas accept only ASCII, so the result does not depend on the locale. */
export const normalisedEmail = (email: string): string => email.toLowerCase()

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
 * @throws Failure 503 when the function is missing, or the login role of the program may not execute it
 */
export const askAccounts = (
  query: RunQuery,
  text: string,
  values: unknown[],
): Promise<readonly Record<string, unknown>[]> => fromAccounts(() => query(text, values))

/**
 * Runs `ask`, which calls a function of the schema `auth`.
 *
 * @throws Failure 503 when the function is missing, or the login role of the program may not execute it
 */
export async function fromAccounts<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (isNotMigrated(error) || sqlState(error) === '42501') throw failures.notMigrated(error)
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
 * Creates an account with a confirmed address; undefined when the address is already registered.
 *
 * @throws Failure 400 with the message that a trigger of the project raised
 */
export async function createAccount(
  query: RunQuery,
  { email, passwordHash, firstName, lastName, ip = null }: NewAccount,
): Promise<Account | undefined> {
  try {
    const [row] = await askAccounts(
      query,
      'select id, email, first_name, last_name from auth.create_user($1, $2, $3, $4, $5)',
      [email, passwordHash, firstName, lastName, ip],
    )
    return row && accountOf(row as AccountRow)
  } catch (error) {
    if (sqlState(error) === raised) throw new Failure(400, (error as Error).message, { cause: error })
    throw error
  }
}

export type FoundAccount = Account & {
  /** Undefined for an account that signs in without a password. */
  readonly passwordHash: string | undefined
  /** Whether the address was confirmed. */
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

export type FoundPassword = {
  /** Undefined when the account does not exist, or has no password. */
  readonly hash: string | undefined
  readonly hasVerifiedFactor: boolean
}

/** The hash of an account's password, and whether the account has a second factor. */
export async function findPassword(query: RunQuery, userId: string): Promise<FoundPassword> {
  const [row] = await askAccounts(query, 'select hash, has_verified_factor from auth.find_password($1)', [userId])
  return {
    hash: typeof row?.hash === 'string' ? row.hash : undefined,
    hasVerifiedFactor: row?.has_verified_factor === true,
  }
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
  /** The session that a new password does not end. */
  readonly sessionId: string
  /** Address of the client, for the audit log. */
  readonly ip: string | null
}

/**
 * Changes an account. Undefined when its password was changed meanwhile, or the account was deleted.
 *
 * @throws Failure 409 when the address is already registered
 */
export async function changeAccount(
  query: RunQuery,
  { userId, passwordHash, email, newPasswordHash, sessionId, ip }: AccountChange,
): Promise<(Account & { readonly createdAt: Date }) | undefined> {
  try {
    const [row] = await askAccounts(
      query,
      'select id, email, first_name, last_name, created_at from auth.change_user($1, $2, $3, $4, $5, $6)',
      [userId, passwordHash, email ?? null, newPasswordHash ?? null, sessionId, ip],
    )
    if (!row) return undefined
    const changed = row as AccountRow & { created_at: Date }
    return { ...accountOf(changed), createdAt: changed.created_at }
  } catch (error) {
    if (sqlState(error) === '23505') throw failures.addressTaken(error)
    throw error
  }
}

/** Deletes an account with all its data, files included. False when its password was changed meanwhile, or it was already deleted. */
export async function deleteAccount(
  query: RunQuery,
  userId: string,
  passwordHash: string,
  ip: string | null,
): Promise<boolean> {
  const [row] = await askAccounts(query, 'select auth.delete_user($1, $2, $3) as deleted', [userId, passwordHash, ip])
  return row?.deleted === true
}
