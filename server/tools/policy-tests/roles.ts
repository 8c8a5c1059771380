// The roles of the API, and which of them a change of access rules concerns.
import type { RunOwnerQuery } from './callers.ts'

export type Role = {
  readonly name: string
  /** The role itself and those whose privileges it has. */
  readonly inherits: readonly string[]
  /** Whether policies do not apply to it. */
  readonly bypassesRls: boolean
}

export type Roles = {
  /** Roles that requests can have, in the order of their names. */
  readonly api: readonly string[]
  readonly byName: ReadonlyMap<string, Role>
  /** Owners of security-definer functions to whom policies apply: any request may act as them. */
  readonly definers: readonly string[]
}

/** Reads the roles of the server that requests may have: those granted to `authenticator`, and Supabase's. */
export async function readRoles(query: RunOwnerQuery, anonRole: string | null): Promise<Roles> {
  const wellKnown = ['anon', 'authenticated', 'service_role', ...(anonRole === null ? [] : [anonRole])]
  const rows = await query(
    `select json_build_object(
      'name', rolname,
      'inherits', array(select other.rolname from pg_catalog.pg_roles as other where pg_catalog.pg_has_role(pg_roles.oid, other.oid, 'usage')),
      'bypassesRls', rolbypassrls or rolsuper
    ) as role,
    rolname in (select json_array_elements_text($1::json)) or exists (
      select from pg_catalog.pg_auth_members
      join pg_catalog.pg_roles as server on server.oid = member
      where roleid = pg_roles.oid and server.rolname = 'authenticator' and pg_roles.rolname !~ '^supabase_.*_admin$'
    ) as is_api,
    not (rolbypassrls or rolsuper) and exists (
      select from pg_catalog.pg_proc where prosecdef and proowner = pg_roles.oid
    ) as is_definer
    from pg_catalog.pg_roles where not starts_with(rolname, 'pg_') order by rolname collate "C"`,
    [JSON.stringify(wellKnown)],
  )
  const all = rows.map(({ role, is_api: isApi, is_definer: isDefiner }) => ({ role: role as Role, isApi, isDefiner }))
  return {
    api: all.filter(({ isApi }) => isApi === true).map(({ role }) => role.name),
    byName: new Map(all.map(({ role }) => [role.name, role])),
    definers: all.filter(({ isDefiner }) => isDefiner === true).map(({ role }) => role.name),
  }
}

/**
 * Whether a caller may notice a change that concerns some roles.
 *
 * @param role undefined: unknown, so it may
 * @param changed names of roles, "public" for all; null: all
 */
export function concerns(
  { byName, definers }: Roles,
  role: string | undefined,
  changed: readonly string[] | null,
  isOfRows: boolean,
): boolean {
  if (role === undefined) return true
  const acting = [role, ...definers].map((name) => byName.get(name))
  return acting.some((one) => {
    if (!one) return true
    if (isOfRows && one.bypassesRls) return false
    return changed === null || changed.includes('public') || changed.some((name) => one.inherits.includes(name))
  })
}
