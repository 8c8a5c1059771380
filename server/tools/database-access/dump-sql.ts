// Statements that read what pg_dump leaves to other programs: roles, settings and rows. Each returns SQL or names for it.
// https://www.postgresql.org/docs/current/app-pg-dumpall.html

/** A row with one line of SQL, or several. */
export type SqlRow = { readonly sql: string }

/** Settings whose values are lists of quoted names already. Other values are string literals. */
const listSettings = `(
  'local_preload_libraries', 'search_path', 'session_preload_libraries', 'shared_preload_libraries', 'temp_tablespaces',
  'unix_socket_directories'
)`

/** `set_config`'s name and value from one entry of `setconfig`, as `NAME TO VALUE`. */
const assignment = `format('%I TO %s', setting.name,
  case when setting.name in ${listSettings} then coalesce(nullif(setting.value, ''), '''''') else quote_literal(setting.value) end)`

/** The initial superuser exists in every cluster under some name, and the roles `pg_…` belong to the server. */
const ownRoles = `role.oid >= 16384 and role.rolname not like 'pg\\_%'`

/**
 * Creates the roles that do not exist. Passwords are included for a superuser, who alone may read them, as hashes.
 *
 * @param isSuperuser whether the caller is a superuser
 */
export const rolesSql = (isSuperuser: boolean): string => `
select format(E'DO %L;\\n', format('BEGIN CREATE ROLE %I WITH %s%s; EXCEPTION WHEN duplicate_object THEN NULL; END',
  role.rolname,
  concat_ws(' ',
    case when role.rolsuper then 'SUPERUSER' else 'NOSUPERUSER' end,
    case when role.rolinherit then 'INHERIT' else 'NOINHERIT' end,
    case when role.rolcreaterole then 'CREATEROLE' else 'NOCREATEROLE' end,
    case when role.rolcreatedb then 'CREATEDB' else 'NOCREATEDB' end,
    case when role.rolcanlogin then 'LOGIN' else 'NOLOGIN' end,
    case when role.rolreplication then 'REPLICATION' end,
    case when role.rolbypassrls then 'BYPASSRLS' end,
    case when role.rolconnlimit <> -1 then 'CONNECTION LIMIT ' || role.rolconnlimit end,
    case when role.rolvaliduntil is not null then 'VALID UNTIL ' || quote_literal(role.rolvaliduntil) end),
  ${isSuperuser ? `' PASSWORD ' || quote_literal(role.rolpassword)` : 'null'})) as sql
from ${isSuperuser ? 'pg_authid' : 'pg_roles'} as role
where ${ownRoles}
order by role.rolname`

/**
 * Memberships of these roles.
 *
 * @param version of the server, as `server_version_num`
 */
export const membershipsSql = (version: number): string => `
select format(E'GRANT %I TO %I%s;\\n', role.rolname, member.rolname, ${
  version >= 160_000
    ? `' WITH ADMIN ' || grants.admin || ', INHERIT ' || grants.inherit || ', SET ' || grants.set`
    : `case when grants.admin then ' WITH ADMIN OPTION' end`
}) as sql
from (
  select roleid, member, bool_or(admin_option) as admin${
    version >= 160_000 ? ', bool_or(inherit_option) as inherit, bool_or(set_option) as set' : ''
  }
  from pg_auth_members group by roleid, member
) as grants
join pg_roles as role on role.oid = grants.roleid
join pg_roles as member on member.oid = grants.member and member.oid >= 16384
where role.oid >= 16384 or role.rolname like 'pg\\_%'
order by role.rolname, member.rolname`

/**
 * SQL for a block that executes a command about the current database, whose name the command has as `%I`. The block is a
 * string, not dollar-quoted: everyone may choose values of their own settings, which could contain the quotation's end.
 */
const onDatabase = (command: string): string => `
  format(E'DO %L;\\n', format('BEGIN EXECUTE format(%L, current_database()); END', ${command}))`

/** For a text within a format. */
const verbatim = (text: string): string => `replace(${text}, '%', '%%')`

/** Settings of roles and of the database, and privileges on the database, whose name may differ where it is restored. */
export const settingsSql = `
with entry as (
  select role.rolname, database.oid is not null as is_local, split_part(item, '=', 1) as name,
    substr(item, strpos(item, '=') + 1) as value
  from pg_db_role_setting as stored
  left join pg_roles as role on role.oid = stored.setrole
  left join pg_database as database on database.oid = stored.setdatabase,
  unnest(stored.setconfig) as item
  where (stored.setdatabase = 0 or database.datname = current_database())
    and (stored.setrole = 0 or role.oid is not null and ${ownRoles})
), command as (
  select rolname, name, is_local, ${assignment.replaceAll('setting.', 'entry.')} as assignment from entry
)
select case
    when not is_local then format(E'ALTER ROLE %I SET %s;\\n', rolname, assignment)
    when rolname is null then ${onDatabase(`'ALTER DATABASE %I SET ' || ${verbatim('assignment')}`)}
    else ${onDatabase(`format('ALTER ROLE %s IN DATABASE %%I SET %s', ${verbatim('quote_ident(rolname)')}, ${verbatim('assignment')})`)}
  end as sql
from command
where is_local or rolname is not null
union all
select ${onDatabase(`'REVOKE ALL ON DATABASE %I FROM PUBLIC'`)}
from pg_database where datname = current_database() and datacl is not null
union all
select ${onDatabase(`format(
  'GRANT %s ON DATABASE %%I TO %s%s', privilege.privilege_type,
  case when privilege.grantee = 0 then 'PUBLIC' else ${verbatim('quote_ident(role.rolname)')} end,
  case when privilege.is_grantable then ' WITH GRANT OPTION' end)`)}
from pg_database as database
cross join aclexplode(database.datacl) as privilege
left join pg_roles as role on role.oid = privilege.grantee
where database.datname = current_database() and (privilege.grantee = 0 or ${ownRoles})`

/**
 * Comments on roles and on the database, except for the one that every database `postgres` has. The role that restores them may
 * not own a role that existed before.
 */
export const sharedCommentsSql = `
select format(E'DO %L;\\n', format(
  'BEGIN COMMENT ON ROLE %I IS %L; EXCEPTION WHEN insufficient_privilege THEN NULL; END', role.rolname, description)) as sql
from pg_shdescription join pg_roles as role on role.oid = objoid
where classoid = 'pg_authid'::regclass and ${ownRoles}
union all
select ${onDatabase(`'COMMENT ON DATABASE %I IS ' || ${verbatim('quote_literal(description)')}`)}
from pg_shdescription join pg_database as database on database.oid = objoid
where classoid = 'pg_database'::regclass and database.datname = current_database()
  and description <> 'default administrative connection database'`

/** Whether an object belongs to an extension, which creates it. */
const ofExtension = `exists (
  select from pg_depend where classid = 'pg_class'::regclass and objid = relation.oid and deptype = 'e')`

const ofUsers = `relation.relnamespace in (
  select oid from pg_namespace where nspname not like 'pg\\_%' and nspname <> 'information_schema')`

export type DumpedTable = {
  readonly name: string
  /** Quoted names of the columns that are not generated. */
  readonly columns: readonly string[]
  /** `where …` for a table of an extension of which only some rows are the user's; otherwise empty. */
  readonly condition: string
}

/** The tables with rows. A partitioned table has none itself. */
export const tablesSql = `
select format('%I.%I', namespace.nspname, relation.relname) as name, coalesce(config.condition, '') as condition,
  array(
    select quote_ident(attname) from pg_attribute
    where attrelid = relation.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns
from pg_class as relation
join pg_namespace as namespace on namespace.oid = relation.relnamespace
left join (
  select unnest(extconfig) as relation, unnest(extcondition) as condition from pg_extension
) as config on config.relation = relation.oid
where relation.relkind = 'r' and ${ofUsers} and (config.relation is not null or not ${ofExtension})
order by namespace.nspname, relation.relname`

/** Names of the sequences. */
export const sequencesSql = `
select format('%I.%I', namespace.nspname, relation.relname) as name
from pg_class as relation
join pg_namespace as namespace on namespace.oid = relation.relnamespace
where relation.relkind = 'S' and ${ofUsers} and not ${ofExtension}
order by namespace.nspname, relation.relname`

/** Large objects with their owners and privileges. */
export const largeObjectsSql = `
select object.oid::text as oid, format(E'ALTER LARGE OBJECT %s OWNER TO %I;\\n', object.oid, owner.rolname) || coalesce((
    select string_agg(
      format(E'GRANT %s ON LARGE OBJECT %s TO %s%s;\\n', privilege.privilege_type, object.oid,
        case when privilege.grantee = 0 then 'PUBLIC' else quote_ident(role.rolname) end,
        case when privilege.is_grantable then ' WITH GRANT OPTION' end), '')
    from aclexplode(object.lomacl) as privilege left join pg_roles as role on role.oid = privilege.grantee
    where privilege.grantee <> object.lomowner), '') || coalesce(
    'COMMENT ON LARGE OBJECT ' || object.oid || ' IS ' || quote_literal(obj_description(object.oid, 'pg_largeobject')) || E';\\n', '') as sql
from pg_largeobject_metadata as object join pg_roles as owner on owner.oid = object.lomowner
order by object.oid`
