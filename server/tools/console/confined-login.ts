// SQL needs a login role that can take the roles of requests only. Statements can undo the choice of a role: as `authenticator`,
// they could read all password hashes, add sessions of the console, and add to its log.
import { internalRoles } from '../../identity/internal-role.ts'
import type { LibpqClient } from '../../postgres/connection/pool-config.ts'

/**
 * SQL of the roles that no statement may take: the server's own, and those that can add sessions of the console.
 *
 * @param names SQL of an array with names of roles
 */
export const ownRolesSql = (names: string): string => `
  select oid, rolname from pg_catalog.pg_roles
  where rolname operator(pg_catalog.=) any (${names}) or exists (
    select from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid operator(pg_catalog.=) relnamespace
    where nspname operator(pg_catalog.=) 'rowhouse' and relname operator(pg_catalog.=) 'console_sessions'
      and pg_catalog.has_table_privilege(pg_roles.oid, pg_class.oid, 'insert')
  )`

/** One of them that the login role can take, or is. */
const takenRole = `
  select rolname as name from (${ownRolesSql('$1')}) as own_roles
  where pg_catalog.pg_has_role(session_user, own_roles.oid, 'member')
  limit 1`

/** Why SQL cannot run as this login role; undefined if it can take none of the server's own roles. */
export async function refusalOfLogin(
  client: LibpqClient,
): Promise<{ readonly message: string; readonly hint: string } | undefined> {
  const { rows } = await client.query<{ name: string }>(takenRole, [internalRoles])
  const [own] = rows
  if (!own) return undefined
  return {
    message: `SQL runs only with a login role that cannot take the role ${own.name}, which is the server's own.`,
    hint: "Set CONSOLE_DATABASE_URL to a login role that has the roles of requests only: create role console_sql login noinherit password '…'; grant anon, authenticated, service_role to console_sql.",
  }
}
