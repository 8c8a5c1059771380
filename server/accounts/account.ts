// Accounts as the database keeps them, reached through the functions that only `authenticator` may execute.
import { isNotMigrated, sqlState } from '../database/database-error.ts'
import type { Query } from '../database/transaction.ts'
import { failures } from './envelope.ts'

export type Account = { readonly id: string; readonly email: string }

/**
 * Calls one of the functions of the schema `auth`.
 *
 * @throws Failure 503 when they are missing, or not for the role that the program connects as
 */
export async function askAccounts(
  query: Query,
  text: string,
  values: unknown[],
): Promise<readonly Record<string, unknown>[]> {
  try {
    return await query(text, values)
  } catch (error) {
    if (isNotMigrated(error) || sqlState(error) === '42501') throw failures.notMigrated(error)
    throw error
  }
}

/** Undefined when the address is taken. */
export async function createAccount(
  query: Query,
  email: string,
  passwordHash: string,
): Promise<(Account & { readonly createdAt: Date }) | undefined> {
  const [row] = await askAccounts(query, 'select id, email, created_at from auth.create_user($1, $2)', [
    email,
    passwordHash,
  ])
  if (!row) return undefined
  const { id, email: stored, created_at: createdAt } = row as { id: string; email: string; created_at: Date }
  return { id, email: stored, createdAt }
}

/** Finds an account by its address, in whatever case it is written. */
export async function findAccount(
  query: Query,
  email: string,
): Promise<(Account & { readonly passwordHash: string }) | undefined> {
  const [row] = await askAccounts(query, 'select id, email, password_hash from auth.find_user($1)', [email])
  if (!row) return undefined
  const { id, email: stored, password_hash: passwordHash } = row as { id: string; email: string; password_hash: string }
  return { id, email: stored, passwordHash }
}
