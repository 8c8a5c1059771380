-- Roles belong to the whole cluster, so another database or the DBA may have created them already.
-- `authenticator` gets no password here: `rowhouse migrate` sets it from the serving connection string, or the DBA does.
do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('anon', 'nologin noinherit'),
      ('authenticated', 'nologin noinherit'),
      ('service_role', 'nologin noinherit bypassrls'),
      ('supabase_auth_admin', 'nologin noinherit'),
      ('authenticator', 'login noinherit')
    ) as role (name, attributes)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted.name) then
      begin
        execute format('create role %I %s', wanted.name, wanted.attributes);
      exception
        -- Another database of the cluster is being migrated at the same time.
        when duplicate_object or unique_violation then
          null;
        -- Only a superuser can grant BYPASSRLS (since PostgreSQL 16, also a role that has it).
        when insufficient_privilege then
          if wanted.name <> 'service_role' then
            raise;
          end if;
          create role service_role nologin noinherit;
      end;
    end if;
  end loop;

  if not (select rolbypassrls or rolsuper from pg_catalog.pg_roles where rolname = 'service_role') then
    raise notice 'service_role lacks BYPASSRLS: it sees rows only where a policy lets it. A superuser can change this with: alter role service_role bypassrls';
  end if;
  if (select rolinherit from pg_catalog.pg_roles where rolname = 'authenticator') then
    raise warning 'authenticator inherits the rights of the roles granted to it, and should not: alter role authenticator noinherit';
  end if;

  for wanted in
    select name from unnest(array['anon', 'authenticated', 'service_role', 'supabase_auth_admin']) as role (name)
    where not exists (
      select from pg_catalog.pg_auth_members
      where roleid = name::regrole and member = 'authenticator'::regrole
    )
  loop
    begin
      execute format('grant %I to authenticator', wanted.name);
    exception
      -- Another database of the cluster is being migrated at the same time.
      when unique_violation then
        null;
    end;
  end loop;
end
$$;

create schema if not exists auth;
comment on schema auth is
  'Accounts, sessions and API keys, and functions that identify the caller. Never exposed.';
revoke all on schema auth from public;
grant usage on schema auth to anon, authenticated, service_role, authenticator, supabase_auth_admin;
do $$
begin
  if exists (select from pg_catalog.pg_roles where rolname = 'postgres') then
    grant usage on schema auth to postgres;
  end if;
end
$$;

-- The schema exists already: it contains the table of applied migrations.
comment on schema rowhouse is
  'The server''s internal objects: applied migrations, triggers, and functions that run with their owner''s rights. Never exposed.';
revoke all on schema rowhouse from public;
grant usage on schema rowhouse to authenticated, service_role, authenticator;

grant usage on schema public to anon, authenticated, service_role;
-- Tables, views and sequences that this role creates in `public`, here and in later migrations, are accessible with the
-- secret key. Row-level security does not apply to it if service_role has BYPASSRLS.
alter default privileges in schema public grant select, insert, update, delete on tables to service_role;
alter default privileges in schema public grant usage, select on sequences to service_role;

-- Supabase's migrations and seeds call functions of pgcrypto, such as crypt() and gen_salt(), without a schema. An existing
-- installation is kept in its schema.
create schema if not exists extensions;
comment on schema extensions is 'Extensions. Never exposed.';
grant usage on schema extensions to anon, authenticated, service_role, supabase_auth_admin;
do $$
begin
  if exists (select from pg_catalog.pg_available_extensions where name = 'pgcrypto' and installed_version is null) then
    create extension pgcrypto with schema extensions;
  end if;
exception
  when insufficient_privilege then
    raise notice 'no privilege to create the extension pgcrypto: seeds that call crypt() need it';
end
$$;

-- As in Supabase, later sessions of the migrating role find these functions. A search path that the DBA has set is kept.
do $$
begin
  if not exists (
    select from pg_catalog.pg_db_role_setting
    cross join unnest(setconfig) as setting
    where setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
      and setrole in (0, current_user::regrole)
      and setting like 'search_path=%'
  ) then
    execute format(
      'alter role %I in database %I set search_path = "$user", public, extensions', current_user, current_database()
    );
  end if;
exception
  when insufficient_privilege then
    raise notice 'the search path of this role does not include the schema extensions, and the role may not change it';
end
$$;

-- The search path of functions is pg_catalog, pg_temp: with an empty one, types and tables that a session creates in pg_temp have
-- precedence over those of Postgres, and could run code of a caller with the rights of the owner.

-- By default, PUBLIC may execute new functions. Migrations that create functions call these two procedures at their beginning
-- and end, so that only the roles they are granted to may execute them. The second procedure restores the default of the
-- migrating role, because it also applies to functions that a DBA creates with that role.
create procedure rowhouse.begin_private_functions()
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_catalog.set_config('rowhouse.public_executes', (not exists (
    select from pg_catalog.pg_default_acl
    where defaclrole = current_user::regrole and defaclnamespace = 0 and defaclobjtype = 'f'
      and not exists (select from pg_catalog.aclexplode(defaclacl) where grantee = 0)
  ))::text, true);
  alter default privileges revoke execute on functions from public;
end
$$;
comment on procedure rowhouse.begin_private_functions() is
  'For migrations: functions created after this call are not executable by PUBLIC.';

create procedure rowhouse.end_private_functions()
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if pg_catalog.current_setting('rowhouse.public_executes')::boolean then
    alter default privileges grant execute on functions to public;
  end if;
end
$$;
comment on procedure rowhouse.end_private_functions() is
  'For migrations: restores the default privileges that begin_private_functions changed in the same transaction.';

revoke execute on procedure rowhouse.begin_private_functions(), rowhouse.end_private_functions() from public;

-- Functions from here on are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

create function rowhouse.set_updated_at() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function rowhouse.set_updated_at() is 'Trigger: sets updated_at to the time of the transaction.';

-- Makes running servers reload the schema when it changes.
-- https://www.postgresql.org/docs/current/event-trigger-matrix.html

create function rowhouse.schema_changed() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from pg_catalog.pg_event_trigger_ddl_commands() where schema_name is distinct from 'pg_temp') then
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end
$$;
comment on function rowhouse.schema_changed() is
  'Event trigger: makes servers reload the schema after a command that changes it, except for temporary objects.';

create function rowhouse.schema_dropped() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from pg_catalog.pg_event_trigger_dropped_objects() where not is_temporary) then
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end
$$;
comment on function rowhouse.schema_dropped() is
  'Event trigger: makes servers reload the schema after objects are dropped, except for temporary objects.';

do $$
begin
  create event trigger rowhouse_schema_changed on ddl_command_end
    when tag in (
      'CREATE SCHEMA', 'ALTER SCHEMA',
      'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE',
      'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA',
      'CREATE VIEW', 'ALTER VIEW', 'CREATE MATERIALIZED VIEW', 'ALTER MATERIALIZED VIEW',
      'CREATE FUNCTION', 'ALTER FUNCTION', 'CREATE AGGREGATE', 'ALTER AGGREGATE',
      'CREATE TYPE', 'ALTER TYPE', 'CREATE DOMAIN', 'ALTER DOMAIN', 'CREATE CAST',
      'CREATE TRIGGER', 'CREATE RULE', 'CREATE EXTENSION', 'ALTER EXTENSION', 'COMMENT',
      -- Realtime compares the tables of subscriptions with those of the publication then.
      'CREATE PUBLICATION', 'ALTER PUBLICATION'
    )
    execute function rowhouse.schema_changed();
  create event trigger rowhouse_schema_dropped on sql_drop
    execute function rowhouse.schema_dropped();
exception
  when insufficient_privilege then
    raise notice 'only a superuser can create event triggers: after changing the schema, run: notify pgrst, ''reload schema''';
end
$$;

call rowhouse.end_private_functions();
