-- Functions of all schemas but PostgreSQL's own, with the roles of $1 (a JSON array of names) that can call them.
select json_build_object(
  'oid', p.oid::bigint,
  'schema', n.nspname,
  'name', p.proname,
  'quoted', quote_ident(n.nspname) || '.' || quote_ident(p.proname),
  'arguments', pg_get_function_identity_arguments(p.oid),
  'kind', p.prokind,
  'language', l.lanname,
  'owner', p.proowner::bigint,
  'isSecurityDefiner', p.prosecdef,
  'volatility', p.provolatile,
  'cost', p.procost,
  'returns', p.prorettype::regtype::text,
  'setsSearchPath', exists (
    select from unnest(coalesce(p.proconfig, '{}')) as setting where setting like 'search_path=%'
  ),
  'source', p.prosrc,
  'sourceHash', md5(p.prosrc),
  'tree', to_jsonb(p) ->> 'prosqlbody',
  'isOfExtension', exists (
    select from pg_catalog.pg_depend d where d.objid = p.oid and d.deptype = 'e'
  ),
  'hasOwnPrivileges', p.proacl is not null,
  'isPublic', p.proacl is null
    or exists (select from aclexplode(p.proacl) as item where item.grantee = 0 and item.privilege_type = 'EXECUTE'),
  -- The owner and all roles that EXECUTE was granted to; 0 is PUBLIC.
  'grantees', (
    select json_agg(distinct item.grantee::bigint)
    from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as item
    where item.privilege_type = 'EXECUTE'
  ),
  'usableBy', (
    select coalesce(json_agg(r.rolname), '[]')
    from pg_catalog.pg_roles r
    where r.rolname in (select name from json_array_elements_text($1::json) as names (name))
      and has_schema_privilege(r.oid, n.oid, 'usage')
  ),
  'executableBy', (
    select coalesce(json_agg(r.rolname), '[]')
    from pg_catalog.pg_roles r
    where r.rolname in (select name from json_array_elements_text($1::json) as names (name))
      and has_function_privilege(r.oid, p.oid, 'execute')
  )
) as row
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
join pg_catalog.pg_language l on l.oid = p.prolang
where n.nspname not in ('pg_catalog', 'information_schema')
  and n.nspname !~ '^pg_(toast_)?temp_'
order by n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)
