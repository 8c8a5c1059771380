// The login role of SQL in development, which has no rights but the roles of requests. As the server's own login role,
// statements could add to the log of changes, sign in to the console, and read all accounts.
import { createHmac, randomBytes } from 'node:crypto'
import { internalRoles } from '../../identity/internal-role.ts'
import { withClient } from '../../postgres/connection/client.ts'
import { withUser, type PoolConfig } from '../../postgres/connection/pool-config.ts'
import { sqlState } from '../../postgres/database-error.ts'
import { scramVerifier } from '../../postgres/scram-verifier.ts'
import { identifier, literal } from '../../text/sql-text.ts'
import { ownRolesSql } from './confined-login.ts'

export const sqlLoginRole = 'console_authenticator'

/** For an owner without a password. */
const processSecret = randomBytes(32).toString('base64url')

/** Processes that use the same database have the same password, without storing it. */
const derived = ({ plan }: PoolConfig, use: string): Buffer =>
  createHmac('sha256', plan.password ?? processSecret)
    .update(`${sqlLoginRole} ${use}`)
    .digest()

/**
 * How the role differs from what it has to be: people who run SQL as it can change its password and its settings.
 * $1: the role, $2: the hash of its password, $3: the login role of the server, $4: names of the server's own roles.
 */
const differences = `
  with sql_login as (select * from pg_catalog.pg_authid where rolname = $1),
  own_roles as (${ownRolesSql('$4')}),
  memberships as (
    select role.rolname as name,
      coalesce(bool_or(member.rolname = $3), false) and not exists (
        select from own_roles where pg_catalog.pg_has_role(role.oid, own_roles.oid, 'member')
      ) as is_wanted,
      coalesce(bool_or(member.rolname = $1), false) as is_granted
    from pg_catalog.pg_auth_members
    join pg_catalog.pg_roles role on role.oid = roleid
    join pg_catalog.pg_roles member on member.oid = member
    group by role.oid, role.rolname
  )
  select
    exists (select from sql_login) as exists,
    coalesce((select rolpassword = $2 from sql_login), false) as has_password,
    array(
      select case when setdatabase = 0 then '' else pg_catalog.format(' in database %I', datname) end
      from sql_login
      join pg_catalog.pg_db_role_setting on setrole = sql_login.oid
      left join pg_catalog.pg_database on pg_database.oid = setdatabase
    ) as settings,
    array(select name::text from memberships where is_wanted and not is_granted) as missing,
    array(select name::text from memberships where is_granted and not is_wanted) as superfluous`

type Differences = {
  readonly exists: boolean
  readonly has_password: boolean
  /** Where it has settings: `' in database x'`, or the empty text for all databases. */
  readonly settings: readonly string[]
  readonly missing: readonly string[]
  readonly superfluous: readonly string[]
}

/** SQLSTATEs of changes that another process has made at the same time, and of a role that was dropped meanwhile. */
const overtaken: ReadonlySet<string | undefined> = new Set(['XX000', '23505', '42710', '42704'])

/**
 * A connection of a login role that can take the roles that the server's login role can, except for the server's own. Creates
 * the role.
 *
 * @param owner connection of a superuser
 * @param login name of the server's login role
 */
export async function sqlLogin(owner: PoolConfig, login: string): Promise<PoolConfig> {
  const password = derived(owner, 'password').toString('base64url')
  const verifier = await scramVerifier(password, derived(owner, 'salt').subarray(0, 16))
  await withClient(owner, async (client) => {
    const { rows } = await client.query<Differences>(differences, [sqlLoginRole, verifier, login, internalRoles])
    for (const statement of rows.flatMap((row) => mending(row, verifier))) {
      await client.query(statement).catch((error: unknown) => {
        if (!overtaken.has(sqlState(error))) throw error
      })
    }
  })
  return withUser(owner, sqlLoginRole, password)
}

function mending(found: Differences, verifier: string): readonly string[] {
  const role = identifier(sqlLoginRole)
  const create = `${found.exists ? 'alter' : 'create'} role ${role} login noinherit password ${literal(verifier)}`
  return [
    ...(found.has_password ? [] : [create]),
    ...found.settings.map((place) => `alter role ${role}${place} reset all`),
    ...found.missing.map((name) => `grant ${identifier(name)} to ${role}`),
    ...found.superfluous.map((name) => `revoke ${identifier(name)} from ${role}`),
  ]
}
