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
