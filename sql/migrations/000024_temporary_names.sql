-- A session's temporary types and tables have precedence over those of `pg_catalog`, unless the search path says where they come. Functions
-- with an empty search path would call, with the rights of their owner, what a caller has attached to a temporary type named `text`.

create procedure rowhouse.put_temporary_names_last()
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  routine regprocedure;
begin
  for routine in
    select oid from pg_proc
    where proconfig @> array['search_path=""'] and pg_has_role(proowner, 'usage') and pronamespace in (
      select oid from pg_namespace
      where nspname in ('auth', 'cron', 'net', 'realtime', 'rowhouse', 'rowhouse_limits', 'storage', 'supabase_functions')
    )
  loop
    execute format('alter routine %s set search_path = pg_catalog, pg_temp', routine);
  end loop;
end
$$;
comment on procedure rowhouse.put_temporary_names_last() is
  'For migrations: lets no temporary object take the place of another one in functions of the server.';

-- Some migrations may be applied after this one, when their services are added.
create or replace procedure rowhouse.end_private_functions()
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  call rowhouse.put_temporary_names_last();
  if current_setting('rowhouse.public_executes')::boolean then
    alter default privileges grant execute on functions to public;
  end if;
end
$$;

revoke execute on procedure rowhouse.put_temporary_names_last() from public;
call rowhouse.put_temporary_names_last();
