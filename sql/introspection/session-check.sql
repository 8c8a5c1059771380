-- Whether the connected role can check the session of a token, which requires the program's migrations.
select json_build_object('checksSessions', exists (
  select from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = 'auth'
    and p.proname = 'check_session'
    and oidvectortypes(p.proargtypes) = 'uuid, uuid, text'
    and has_schema_privilege(n.oid, 'usage')
    and has_function_privilege(p.oid, 'execute')
)) as row
