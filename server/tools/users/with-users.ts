// Opens the accounts of a database for a command.
import type { Config } from '../../config/config.ts'
import { isNotMigrated, sqlState } from '../../postgres/database-error.ts'
import { Database } from '../../postgres/database.ts'
import { createPool } from '../../postgres/pool.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import { CommandError } from '../command-line/command-error.ts'
import type { DatabaseAddress } from '../command-line/database-address.ts'
import { Users } from './users.ts'

/**
 * Runs `use` with the accounts of a database, and closes the connection afterwards.
 *
 * @param address connects as the role that serves requests
 * @throws CommandError for a database without accounts, and for a role that may not manage them; the errors of `use`
 */
export async function withUsers<T>(
  config: Config,
  { uri, env }: Pick<DatabaseAddress, 'uri' | 'env'>,
  use: (users: Users) => Promise<T>,
): Promise<T> {
  const { dbPreparedStatements: prepare, dbPoolSharing: sharing } = config
  const pool = createPool(toPoolConfig(uri, env), { ...config, dbPool: 1 })
  const database = new Database(pool, { usage: () => ({ prepare, sharing }) })
  try {
    const [row] = await database.query(hasAccounts, [])
    if (row?.has_accounts !== true) throw notMigrated()
    return await use(new Users(database, config))
  } catch (error) {
    if (isNotMigrated(error)) throw notMigrated(error)
    // insufficient_privilege
    if (sqlState(error) === '42501') throw lacksRights(error)
    throw error
  } finally {
    await database.close()
  }
}

const hasAccounts = "select to_regprocedure('auth.admin_find_user(uuid)') is not null as has_accounts"

const notMigrated = (cause?: unknown): CommandError =>
  new CommandError('This database has no accounts yet. Run `rowhouse migrate` first.', { cause })

const lacksRights = (cause: unknown): CommandError =>
  new CommandError(
    'The role in DATABASE_URL may not manage accounts. Use the role that serves requests: `rowhouse migrate` makes ' +
      'it a member of supabase_auth_admin.',
    { cause },
  )
