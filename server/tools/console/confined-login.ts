// Outside of development, SQL needs a login role that can take the roles of requests only. Statements can undo the choice of a
// role: as `authenticator`, they could read all password hashes, and add sessions of the console.
import { isInternalRole } from '../../identity/internal-role.ts'
import type { LibpqClient } from '../../postgres/connection/pool-config.ts'

/** The roles that the login role can take, or is, with whether they can add sessions of the console. */
const takenRoles = `
  select rolname as name, exists (
    select from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
    where nspname = 'rowhouse' and relname = 'console_sessions'
      and pg_catalog.has_table_privilege(pg_roles.oid, pg_class.oid, 'insert')
  ) as signs_in
  from pg_catalog.pg_roles
  where pg_catalog.pg_has_role(session_user, oid, 'member')`

/** Why SQL cannot run as this login role; undefined if it can take none of the server's own roles. */
export async function refusalOfLogin(
  client: LibpqClient,
): Promise<{ readonly message: string; readonly hint: string } | undefined> {
  const { rows } = await client.query<{ name: string; signs_in: boolean }>(takenRoles)
  const own = rows.find(({ name, signs_in: signsIn }) => signsIn || isInternalRole(name))
  if (!own) return undefined
  return {
    message: `Outside of development, SQL runs only with a login role that cannot take the role ${own.name}, which is the server's own.`,
    hint: "Set CONSOLE_DATABASE_URL to a login role that has the roles of requests only: create role console_sql login noinherit password '…'; grant anon, authenticated, service_role to console_sql.",
  }
}
