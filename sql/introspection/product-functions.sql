-- Which functions of the program's migrations the connected role may execute: those that check the session of a token, and
-- that keep the responses of requests with an Idempotency-Key. And whether the database is a coordinator of Citus.
with executable as (
  select n.nspname || '.' || p.proname || '(' || pg_catalog.oidvectortypes(p.proargtypes) || ')' as name
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('auth', 'rowhouse')
    and p.proname in ('check_session', 'claim_idempotency_key')
    and has_schema_privilege(n.oid, 'usage')
    and has_function_privilege(p.oid, 'execute')
)
select json_build_object(
  'checksSessions', 'auth.check_session(uuid, uuid, text)' in (select name from executable),
  'keepsResponses', 'rowhouse.claim_idempotency_key(bytea, text)' in (select name from executable),
  'hasCitus', exists (select from pg_extension where extname = 'citus')
) as row
