-- Only with the services: profiles, reports, analysis
-- Default privileges, such as those of Supabase, give `anon` and `authenticated` every privilege on new tables and functions in
-- `public`: users could write columns that they must not write. These functions take away what default privileges have added to
-- the server's tables and functions. Where there are none, they do nothing, so that grants of a DBA are kept.
create function rowhouse.has_default_privileges(kind "char") returns boolean
language sql stable set search_path = ''
as $$
  select exists (
    select from pg_catalog.pg_default_acl, pg_catalog.aclexplode(defaclacl)
    where defaclobjtype = $1 and defaclnamespace in (0, 'public'::pg_catalog.regnamespace)
      and grantee in ('anon'::pg_catalog.regrole, 'authenticated'::pg_catalog.regrole)
  )
$$;
comment on function rowhouse.has_default_privileges("char") is
  'For migrations: whether anon or authenticated gets privileges on new tables (r) or functions (f) of the schema public.';

create function rowhouse.limit_to_columns(name regclass) returns void
language plpgsql set search_path = ''
as $$
declare
  grants text[];
  statement text;
begin
  if not rowhouse.has_default_privileges('r') then
    return;
  end if;
  -- Revoking a privilege on a table also revokes it on the columns.
  grants := array(
    select pg_catalog.format('grant %s (%I) on %s to authenticated', privilege_type, attname, attrelid::pg_catalog.regclass)
    from pg_catalog.pg_attribute, pg_catalog.aclexplode(attacl)
    where attrelid = name and not attisdropped and grantee = 'authenticated'::pg_catalog.regrole
  );
  execute pg_catalog.format('revoke all on %s from anon, authenticated', name);
  execute pg_catalog.format('grant select, delete on %s to authenticated', name);
  foreach statement in array grants loop
    execute statement;
  end loop;
end
$$;
comment on function rowhouse.limit_to_columns(regclass) is
  'For migrations: leaves authenticated only select, delete, and its privileges on columns, and anon nothing, if default privileges may have granted more.';

create function rowhouse.close_to_anon(routine regprocedure) returns void
language plpgsql set search_path = ''
as $$
begin
  if rowhouse.has_default_privileges('f') then
    execute pg_catalog.format('revoke all on function %s from anon', routine);
  end if;
end
$$;
comment on function rowhouse.close_to_anon(regprocedure) is
  'For migrations: revokes a function from anon if default privileges may have granted it.';

revoke execute on function rowhouse.has_default_privileges("char"), rowhouse.limit_to_columns(regclass),
  rowhouse.close_to_anon(regprocedure)
from public;

select rowhouse.limit_to_columns('public.profiles');
