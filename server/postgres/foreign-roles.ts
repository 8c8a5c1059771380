// Roles and schemas of other software, as in a database of Supabase, where a superuser has given them other memberships and
// privileges than the migrations need and can grant. They are changed before the migrations, or nothing is.
import pg from 'pg'
import { sqlState } from './database-error.ts'
import type { ChosenServices } from './migration-services.ts'
import { OccupiedDatabase } from './occupied-database.ts'

/** The role that the server connects as. */
const login = 'authenticator'
const apiRoles = ['anon', 'authenticated', 'service_role']
/** Roles that it must be able to switch to, schemas that roles need, and tables that get indexes. */
const always = {
  roles: [...apiRoles, 'supabase_auth_admin'],
  schemas: { auth: [...apiRoles, login, 'supabase_auth_admin'] },
  tables: [],
}
const forStorage = {
  roles: ['supabase_storage_admin'],
  schemas: { storage: [...apiRoles, login, 'supabase_storage_admin'] },
  tables: ['storage.objects'],
}

const forRealtime = {
  roles: ['supabase_realtime_admin'],
  schemas: { realtime: [...apiRoles, login, 'supabase_realtime_admin'] },
  tables: ['realtime.messages'],
}

function requirementsOf(services: ChosenServices): Requirements {
  const parts: readonly Requirements[] = [
    always,
    ...(services?.includes('storage') === false ? [] : [forStorage]),
    ...(services?.includes('realtime') === false ? [] : [forRealtime]),
  ]
  return {
    roles: parts.flatMap(({ roles }) => roles),
    schemas: Object.assign({}, ...parts.map(({ schemas }) => schemas)) as Requirements['schemas'],
    tables: parts.flatMap(({ tables }) => tables),
  }
}

type Requirements = {
  readonly roles: readonly string[]
  readonly schemas: Readonly<Record<string, readonly string[]>>
  readonly tables: readonly string[]
}

/** What the migrations need, and cannot do themselves. */
type Step = { readonly statements: readonly string[]; readonly message: string }

/**
 * Makes roles and schemas that exist already fit for the migrations:
 *
 * - A role that `authenticator` must become a member of may itself be a member of `authenticator`, as Supabase's
 *   `supabase_storage_admin`. PostgreSQL allows no circular memberships, so that role becomes a member of the roles of
 *   `authenticator` instead, which has the same effect for Supabase's services.
 * - Roles get the privilege to use the schemas `auth`, `storage` and `realtime` of another owner.
 * - The role of the client gets the rights of the owner of Supabase's tables of objects and messages.
 * - `authenticator` becomes a member of roles, if only a superuser can grant them (PostgreSQL 16 and later).
 *
 * @param client a connected client of the role that migrates
 * @param keep false to find out whether this is possible, and change nothing
 * @returns a message for each change
 * @throws OccupiedDatabase with the statements for a superuser, if the role of the client may not do that. Nothing was changed
 */
export async function prepareForeignRoles(
  client: pg.Client,
  { services, keep }: { readonly services: ChosenServices; readonly keep: boolean },
): Promise<readonly string[]> {
  const requirements = requirementsOf(services)
  const steps = await findSteps(client, requirements)
  if (steps.length === 0) return []
  await client.query('begin')
  try {
    for (const statement of steps.flatMap(({ statements }) => statements)) await client.query(statement)
    // Where a privilege to grant or revoke is missing, PostgreSQL may only warn.
    const isDone = (await findSteps(client, requirements)).length === 0
    await client.query(isDone && keep ? 'commit' : 'rollback')
    if (!isDone) throw await refusal(client, steps)
  } catch (error) {
    if (error instanceof OccupiedDatabase) throw error
    await client.query('rollback').catch(() => undefined)
    // insufficient_privilege
    if (sqlState(error) !== '42501') throw error
    throw await refusal(client, steps)
  }
  return steps.map(({ message }) => message)
}

const findSteps = async (client: pg.Client, { roles, schemas, tables }: Requirements): Promise<readonly Step[]> => [
  ...(await findReversed(client, roles)).map(reversal),
  ...(await findMissing(client, roles)).map(membership),
  ...(await findUnusable(client, schemas)).map(usage),
  ...(await findForeign(client, tables)).map(ownership),
]

type Reversed = {
  readonly member: string
  /** The roles that it has through `authenticator`. */
  readonly roles: readonly string[]
  /** Who granted the membership, for PostgreSQL 16 and later, which has one per grantor. */
  readonly grantors: readonly string[]
}

/** The direct members of `authenticator` that are, or have as a member, a role that `authenticator` must be a member of. */
async function findReversed(client: pg.Client, roles: readonly string[]): Promise<readonly Reversed[]> {
  const { rows } = await client.query<Reversed>(
    `with recursive login as (
       select oid from pg_catalog.pg_roles where rolname = $1
     ), holder as (
       select oid from pg_catalog.pg_roles where rolname = any ($2)
       union
       select roleid from holder join pg_catalog.pg_auth_members on member = holder.oid
     )
     select pg_catalog.pg_get_userbyid(holder.oid)::text as member,
       array(
         select distinct pg_catalog.pg_get_userbyid(roleid)::text from pg_catalog.pg_auth_members
         where member = (select oid from login) order by 1
       ) as roles,
       array(
         select pg_catalog.pg_get_userbyid(grantor)::text from pg_catalog.pg_auth_members
         where member = holder.oid and roleid = (select oid from login)
           and pg_catalog.current_setting('server_version_num')::int >= 160000
         order by 1
       ) as grantors
     from holder
     where exists (
       select from pg_catalog.pg_auth_members where member = holder.oid and roleid = (select oid from login)
     )
     order by 1`,
    [login, roles],
  )
  return rows
}

function reversal({ member, roles, grantors }: Reversed): Step {
  const revoke = `revoke ${login} from ${quoted(member)}`
  return {
    statements: [
      ...(roles.length === 0 ? [] : [`grant ${roles.map(quoted).join(', ')} to ${quoted(member)}`]),
      ...(grantors.length === 0 ? [revoke] : grantors.map((grantor) => `${revoke} granted by ${quoted(grantor)}`)),
    ],
    message: `${member} is no longer a member of ${login}, but of its roles (${roles.join(', ')}): the server connects as ${login} and acts as ${member}`,
  }
}

/** Existing roles that `authenticator` must be a member of and is not, and that the role of the client may not grant. */
async function findMissing(client: pg.Client, roles: readonly string[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select wanted.rolname::text as name from pg_catalog.pg_roles as wanted, pg_catalog.pg_roles as login
     where wanted.rolname = any ($2) and login.rolname = $1
       and not exists (select from pg_catalog.pg_auth_members where roleid = wanted.oid and member = login.oid)
       and not pg_catalog.pg_has_role(wanted.oid, 'member with admin option')
       and not (
         pg_catalog.current_setting('server_version_num')::int < 160000
         and (select rolcreaterole from pg_catalog.pg_roles where rolname = current_user)
       )
     order by 1`,
    [login, roles],
  )
  return rows.map(({ name }) => name)
}

const membership = (role: string): Step => ({
  statements: [`grant ${quoted(role)} to ${login}`],
  message: `${login} may act as ${role}`,
})

type Unusable = { readonly schema: string; readonly roles: readonly string[] }

/** Schemas that belong to others, and the existing roles that need the privilege to use them and lack it. */
async function findUnusable(
  client: pg.Client,
  schemas: Readonly<Record<string, readonly string[]>>,
): Promise<readonly Unusable[]> {
  const { rows } = await client.query<Unusable>(
    `select nspname::text as schema, array_agg(rolname::text order by rolname) as roles
     from json_each($1) as wanted (name, roles)
     join pg_catalog.pg_namespace on nspname = wanted.name
     join pg_catalog.pg_roles on rolname in (select json_array_elements_text(wanted.roles))
     where not pg_catalog.pg_has_role(nspowner, 'usage')
       and not pg_catalog.has_schema_privilege(pg_roles.oid, pg_namespace.oid, 'usage')
     group by 1 order by 1`,
    [JSON.stringify(schemas)],
  )
  return rows
}

const usage = ({ schema, roles }: Unusable): Step => ({
  statements: [`grant usage on schema ${quoted(schema)} to ${roles.map(quoted).join(', ')}`],
  message: `${roles.join(', ')} may use the schema ${schema}`,
})

type Foreign = { readonly name: string; readonly owner: string; readonly role: string }

/** Existing tables whose owner's rights the role of the client does not have. */
async function findForeign(client: pg.Client, tables: readonly string[]): Promise<readonly Foreign[]> {
  const { rows } = await client.query<Foreign>(
    `select wanted.name, pg_catalog.pg_get_userbyid(relowner)::text as owner, current_user::text as role
     from unnest($1::text[]) as wanted (name) join pg_catalog.pg_class on oid = to_regclass(wanted.name)
     where not pg_catalog.pg_has_role(relowner, 'usage') order by 1`,
    [tables],
  )
  return rows
}

const ownership = ({ name, owner, role }: Foreign): Step => ({
  statements: [`grant ${quoted(owner)} to ${quoted(role)}`],
  message: `${role} is a member of ${owner}, which owns the table ${name}`,
})

const quoted = (role: string): string => (/^[a-z_][a-z0-9_]*$/.test(role) ? role : pg.escapeIdentifier(role))

async function refusal(client: pg.Client, steps: readonly Step[]): Promise<OccupiedDatabase> {
  const { rows } = await client.query<{ role: string }>('select current_user::text as role')
  return new OccupiedDatabase(
    [
      `Roles and schemas of this database belong to other software, such as Supabase, and the role ${rows[0]?.role ?? ''} may not change them as the server needs. Nothing was changed.`,
      'Run these statements as a superuser, such as supabase_admin, then run this again:',
      ...steps.flatMap(({ statements }) => statements).map((statement) => `  ${statement};`),
      "Supabase's own services keep their rights. Or set MIGRATION_DATABASE_URL to a connection string of a superuser.",
    ].join('\n'),
  )
}
