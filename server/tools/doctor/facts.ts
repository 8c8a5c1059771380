// What `rowhouse doctor` reads from the catalogue and the statistics of the database, in one read-only transaction.
import { readFile } from 'node:fs/promises'
import type { RunClientQuery } from '../../catalogue/introspection.ts'

export type LoginRole = {
  readonly name: string
  readonly isSuperuser: boolean
  readonly bypassesRls: boolean
  readonly createsRoles: boolean
  readonly connectionLimit: number
  /** Roles that it can switch to, with their statement_timeout, if they have one. */
  readonly members: readonly { readonly name: string; readonly timeout: string | null; readonly bypassesRls: boolean }[]
}

export type TableFacts = {
  readonly name: string
  readonly size: number
  readonly live: number
  readonly dead: number
  readonly modified: number
  /** Dead rows from which on autovacuum works on it; null where it is switched off for the table. */
  readonly vacuumsAt: number | null
  readonly analyzesAt: number
  /** The least size that its rows need, in bytes; null when that is not known. */
  readonly expectedSize: number | null
}

export type IndexFacts = {
  readonly name: string
  readonly table: string
  readonly size: number
  readonly isValid: boolean
  /** Whether it only makes reads faster: constraints need the others. */
  readonly isOptional: boolean
  readonly scans: number
  readonly expectedSize: number | null
}

export type SlotFacts = {
  readonly name: string
  readonly isActive: boolean
  /** Bytes of WAL that the server keeps for it. */
  readonly retained: number
  readonly isLost: boolean
}

export type ConnectionFacts = {
  readonly max: number
  /** Those that only superusers and the like can have. */
  readonly reserved: number
  readonly used: number
  readonly databaseLimit: number
}

export type TransactionFacts = {
  readonly pid: number
  readonly user: string
  readonly application: string
  readonly state: string
  /** Seconds since it began. */
  readonly age: number
}

export type DatabaseFacts = {
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly settings: Readonly<Record<string, string>>
  readonly login: LoginRole
  readonly connections: ConnectionFacts
  readonly extensions: readonly { readonly name: string; readonly installed: string; readonly available: string }[]
  readonly tables: readonly TableFacts[]
  readonly indexes: readonly IndexFacts[]
  readonly slots: readonly SlotFacts[]
  readonly transactions: readonly TransactionFacts[]
  /** Transactions until the oldest row version of the database is too old, counted from 0; the same for multixacts. */
  readonly xidAge: number
  readonly multixactAge: number
  /** Days since the statistics were reset; null when they never were. */
  readonly statisticsDays: number | null
}

/** The same relative path is valid from `server/tools/doctor/` and from the compiled file in `dist/`. */
const statement = new URL('../../../sql/introspection/doctor.sql', import.meta.url)

/**
 * @param query runs statements on one connection, preferably of the owner: statistics about the widths of columns are
 *   visible only to roles that may read the table
 * @param login the role that serves requests
 */
export async function readFacts(query: RunClientQuery, login: string): Promise<DatabaseFacts> {
  await query('begin transaction isolation level repeatable read, read only')
  try {
    await query(`select set_config('statement_timeout', '30s', true), set_config('jit', 'off', true)`)
    const { rows } = await query(await readFile(statement, 'utf8'), [login])
    return rows[0]?.facts as DatabaseFacts
  } finally {
    await query('rollback')
  }
}
