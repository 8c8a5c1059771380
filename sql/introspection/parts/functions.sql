-- Functions of all schemas but PostgreSQL's own, with the privileges on them.
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
  'extension', (
    select e.extname
    from pg_catalog.pg_depend d
    join pg_catalog.pg_extension e on d.refclassid = 'pg_catalog.pg_extension'::regclass and e.oid = d.refobjid
    where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
  ),
  'hasOwnPrivileges', p.proacl is not null,
  -- The owner and all roles that EXECUTE was granted to; 0 is PUBLIC.
  'grantees', (
    select coalesce(json_agg(distinct item.grantee::bigint), '[]')
    from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as item
    where item.privilege_type = 'EXECUTE'
  )
) as row
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
join pg_catalog.pg_language l on l.oid = p.prolang
where n.nspname not in ('pg_catalog', 'information_schema')
  and n.nspname !~ '^pg_(toast_)?temp_'
order by n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)
