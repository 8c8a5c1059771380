-- How the connected role can ask if the session of a token is alive: the most exact of the program's own functions that
-- are there, null without its migrations.
select json_build_object('sessionCheck', (
  select case pronargs when 3 then 'session and role' else 'session' end
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = 'auth'
    and p.proname = 'check_session'
    and oidvectortypes(p.proargtypes) in ('uuid, uuid', 'uuid, uuid, text')
    and has_schema_privilege(n.oid, 'usage')
    and has_function_privilege(p.oid, 'execute')
  order by pronargs desc
  limit 1
)) as row
