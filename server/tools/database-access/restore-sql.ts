// Statements that look at the database to restore into, and empty it.

const userSchemas = `(
  select oid, nspname from pg_namespace where nspname not like 'pg\\_%' and nspname <> 'information_schema')`

const ofExtension = (catalogue: string, oid: string): string =>
  `exists (select from pg_depend where classid = '${catalogue}'::regclass and objid = ${oid} and deptype = 'e')`

/** Names of some objects that users have created. None in an empty database. */
export const occupantsSql = `
select name from (
  select format('schema %I', nspname) as name from ${userSchemas} as schema
  where nspname <> 'public' and not ${ofExtension('pg_namespace', 'schema.oid')}
  union all
  select format('%s %I.%I', case when relkind = 'v' then 'view' when relkind = 'S' then 'sequence' else 'table' end, nspname, relname)
  from pg_class as relation join ${userSchemas} as schema on schema.oid = relnamespace
  where relkind in ('r', 'p', 'v', 'm', 'S', 'f') and not ${ofExtension('pg_class', 'relation.oid')}
  union all
  select format('function %I.%I', nspname, proname)
  from pg_proc as routine join ${userSchemas} as schema on schema.oid = pronamespace
  where not ${ofExtension('pg_proc', 'routine.oid')}
  union all
  select format('type %I.%I', nspname, typname)
  from pg_type as type join ${userSchemas} as schema on schema.oid = typnamespace
  where typtype in ('d', 'e', 'r') and not ${ofExtension('pg_type', 'type.oid')}
  union all
  select 'large object ' || oid from pg_largeobject_metadata
) as object
order by name not like 'table %', name collate "C" limit 4`

/** Drops everything that users have created in the database, and its settings. Roles and their memberships stay. */
export const emptyingSql = `
do $rowhouse$
declare
  command text;
begin
  for command in
    -- First, because these would run for the following commands.
    select format('drop event trigger %I', evtname) from pg_event_trigger as trigger
    where not ${ofExtension('pg_event_trigger', 'trigger.oid')}
    union all
    select format('drop publication %I', pubname) from pg_publication
    union all
    select format('drop foreign data wrapper %I cascade', fdwname) from pg_foreign_data_wrapper as wrapper
    where not ${ofExtension('pg_foreign_data_wrapper', 'wrapper.oid')}
    union all
    select format('drop extension %I cascade', extname) from pg_extension
    where extname <> 'plpgsql'
    union all
    select format('drop schema if exists %I cascade', nspname) from ${userSchemas} as schema
    union all
    select format('select lo_unlink(%s)', oid) from pg_largeobject_metadata
    union all
    select format('alter default privileges for role %I revoke all on %s from %s', owner.rolname,
      case defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types'
        when 'n' then 'schemas' else 'large objects' end,
      case when privilege.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(privilege.grantee)) end)
    from pg_default_acl
    join pg_roles as owner on owner.oid = defaclrole
    cross join aclexplode(defaclacl) as privilege
    where defaclnamespace = 0 and privilege.grantee <> defaclrole
    union all
    select format('alter database %I reset all', datname) from pg_database
    where datname = current_database() and exists (
      select from pg_db_role_setting where setdatabase = pg_database.oid and setrole = 0)
    union all
    select format('alter role %I in database %I reset all', rolname, current_database())
    from pg_db_role_setting join pg_roles as role on role.oid = setrole
    where setdatabase = (select oid from pg_database where datname = current_database())
  loop
    execute command;
  end loop;
  -- As in a new database.
  create schema public;
  comment on schema public is 'standard public schema';
  grant usage on schema public to public;
  if current_setting('server_version_num')::integer >= 150000 then
    alter schema public owner to pg_database_owner;
  else
    grant create on schema public to public;
  end if;
end
$rowhouse$`
