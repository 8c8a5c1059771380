// The database as `/auth/v1` uses it: as the role that owns accounts and sessions there.
import type { Identity } from '../../identity/identity.ts'
import { lastingIdentity } from '../../identity/identity.ts'
import { authAdminRole } from '../../identity/internal-role.ts'
import type { Database } from '../../postgres/database.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import type { JsonStatement, Parameter, TextRow } from '../../postgres/json-statement.ts'

/** The role that people's SQL grants hooks and triggers to. It does not bypass row-level security. */
export const authAdmin: Identity = lastingIdentity(authAdminRole, {})

export type AuthDatabase = {
  /** Runs one statement in one round trip. @returns the parsed first column of every row */
  readonly ask: (statement: JsonStatement, values: readonly Parameter[]) => Promise<unknown[]>
  /** The same with all columns as text, for JSON that is passed through. */
  readonly askRows: (statement: JsonStatement, values: readonly Parameter[]) => Promise<TextRow[]>
  /** Runs several statements in one transaction. */
  readonly transaction: <T>(use: (query: RunQuery) => Promise<T>) => Promise<T>
}

/** The database with the role `supabase_auth_admin` for every statement. */
export const authDatabase = (database: Pick<Database, 'ask' | 'askRows' | 'transaction'>): AuthDatabase => ({
  ask: (statement, values) => database.ask(statement, authAdmin, values),
  askRows: (statement, values) => database.askRows(statement, authAdmin, values),
  transaction: (use) => database.transaction(authAdmin, use),
})
