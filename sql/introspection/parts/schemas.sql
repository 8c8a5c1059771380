-- All schemas, with the roles that USAGE was granted to, by oid; 0 is PUBLIC.
select json_build_object(
  'name', n.nspname,
  'quoted', quote_ident(n.nspname),
  'users', (
    select coalesce(json_agg(item.grantee::bigint), '[]')
    from aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) as item
    where item.privilege_type = 'USAGE'
  )
) as row
from pg_catalog.pg_namespace n
order by n.nspname
