-- The schemas of the database but PostgreSQL's own, and the roles that the connected role can switch to.
with recursive granted as (
  select oid from pg_roles where rolname = session_user
  union
  select m.roleid
  from granted
  join pg_auth_members m on m.member = granted.oid
  -- Since PostgreSQL 16, a membership may not include the right to switch to the role.
  where coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
)
select json_build_object(
  'schemas', (
    select coalesce(json_agg(n.nspname order by n.nspname), '[]')
    from pg_namespace n
    where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp_)'
  ),
  'roles', (
    select coalesce(
      json_agg(json_build_object('name', r.rolname, 'bypassesRls', r.rolsuper or r.rolbypassrls) order by r.rolname),
      '[]'
    )
    from granted
    join pg_roles r using (oid)
    where r.rolname <> session_user and r.rolname !~ '^pg_'
  )
) as row
