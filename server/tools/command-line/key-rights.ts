// What managing API keys needs: their table, and a role that may change it.
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { Config } from '../../config/config.ts'
import { sqlState } from '../../postgres/database-error.ts'
import { CommandError } from './command-error.ts'

/** @throws CommandError for a database without a table of keys */
export async function requireKeys(query: RunClientQuery): Promise<void> {
  const { rows } = await query("select to_regclass('auth.api_keys') is not null as migrated")
  if (rows[0]?.migrated === true) return
  throw new CommandError('This database has no table for keys yet. Run `rowhouse migrate` first.')
}

/**
 * @param use manages keys
 * @throws CommandError that names the setting of another role, if the role may not
 */
export async function withKeyRights<T>(
  { migrationDatabaseUrl }: Pick<Config, 'migrationDatabaseUrl'>,
  use: () => Promise<T>,
): Promise<T> {
  try {
    return await use()
  } catch (error) {
    // insufficient_privilege
    if (sqlState(error) !== '42501') throw error
    throw new CommandError(
      migrationDatabaseUrl === null
        ? 'The role that serves requests may not manage keys. Set MIGRATION_DATABASE_URL to a connection string of the role that ran the migrations.'
        : `The role in MIGRATION_DATABASE_URL may not manage keys (${(error as Error).message}). Use the role that ran the migrations.`,
      { cause: error },
    )
  }
}
