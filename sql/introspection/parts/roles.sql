-- All roles, and whether requests can act as them.
-- $1: names of roles that requests can act as, besides those that the connected role can switch to; a JSON array.
with recursive granted as (
  select oid from pg_catalog.pg_roles where rolname = session_user
  union
  select m.roleid
  from granted
  join pg_catalog.pg_auth_members m on m.member = granted.oid
  -- Since PostgreSQL 16, a membership may not include the right to switch to the role.
  where coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
)
select json_build_object(
  'oid', r.oid::bigint,
  'name', r.rolname,
  'isSuperuser', r.rolsuper,
  'bypassesRls', r.rolsuper or r.rolbypassrls,
  'bypassAttribute', r.rolbypassrls,
  'isReachable', r.rolname in (select name from json_array_elements_text($1::json) as names (name))
    or r.rolname <> session_user and r.oid in (select oid from granted),
  'memberOf', (
    select coalesce(json_agg(other.oid::bigint), '[]')
    from pg_catalog.pg_roles other
    where other.oid <> r.oid and pg_has_role(r.oid, other.oid, 'usage')
  )
) as row
from pg_catalog.pg_roles r
order by r.rolname
