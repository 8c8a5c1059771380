-- Relations of all schemas but PostgreSQL's own, with their columns and the privileges on them.
-- $1: names of schemas, a JSON array: views there are read with their stored query.
select json_build_object(
  'oid', c.oid::bigint,
  'schema', n.nspname,
  'quotedSchema', quote_ident(n.nspname),
  'name', c.relname,
  'quoted', quote_ident(n.nspname) || '.' || quote_ident(c.relname),
  'kind', c.relkind,
  'owner', c.relowner::bigint,
  'rls', c.relrowsecurity,
  'forcesRls', c.relforcerowsecurity,
  'rows', c.reltuples,
  'isOfExtension', exists (
    select from pg_catalog.pg_depend d where d.objid = c.oid and d.deptype = 'e'
  ),
  'isPartition', c.relispartition,
  -- To roles by oid; 0 is PUBLIC.
  'granted', (
    select coalesce(json_agg(json_build_object('to', item.grantee::bigint, 'privilege', lower(item.privilege_type), 'column', item.attnum)), '[]')
    from (
      select given.grantee, given.privilege_type, null::int2 as attnum
      from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) as given
      union all
      select given.grantee, given.privilege_type, a.attnum
      from pg_catalog.pg_attribute a, aclexplode(a.attacl) as given
      where a.attrelid = c.oid and not a.attisdropped
    ) as item
  ),
  'options', coalesce(to_json(c.reloptions), '[]'),
  -- For views: the stored query.
  'tree', case when c.relkind = 'v' and n.nspname in (select name from json_array_elements_text($1::json) as names (name)) then (
    select w.ev_action::text from pg_catalog.pg_rewrite w where w.ev_class = c.oid and w.ev_type = '1'
  ) end,
  'columns', (
    select coalesce(
      json_agg(
        json_build_object(
          'number', a.attnum,
          'name', a.attname,
          'quoted', quote_ident(a.attname),
          'type', t.typname,
          'typeSchema', tn.nspname,
          'isGenerated', a.attgenerated <> '' or a.attidentity = 'a'
        )
        order by a.attnum
      ),
      '[]'
    )
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_type t on t.oid = a.atttypid
    join pg_catalog.pg_namespace tn on tn.oid = t.typnamespace
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  )
) as row
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'f', 'v', 'm')
  and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
  and n.nspname !~ '^pg_(toast_)?temp_'
order by n.nspname, c.relname
