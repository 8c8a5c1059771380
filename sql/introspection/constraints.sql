-- Primary, unique and foreign keys of the whole database: relationships and view keys are derived from them.
-- Keys of internal schemas are included, because exposed views may select from their tables.
select json_build_object(
  'type', k.contype,
  'name', k.conname,
  'isInherited', k.conparentid <> 0,
  'relation', json_build_object(
    'oid', c.oid, 'schema', n.nspname, 'name', c.relname,
    'isListed', not c.relispartition and n.nspname not in ('pg_catalog', 'information_schema')
  ),
  'attributes', k.conkey,
  'columns', (
    select json_agg(a.attname order by key.position)
    from unnest(k.conkey) with ordinality as key (attribute, position)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = key.attribute
  ),
  'foreign', case k.contype when 'f' then json_build_object(
    'relation', json_build_object('oid', fc.oid, 'schema', fn.nspname, 'name', fc.relname),
    'attributes', k.confkey,
    'columns', (
      select json_agg(a.attname order by key.position)
      from unnest(k.confkey) with ordinality as key (attribute, position)
      join pg_attribute a on a.attrelid = k.confrelid and a.attnum = key.attribute
    )
  ) end
) as row
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
left join pg_class fc on fc.oid = k.confrelid
left join pg_namespace fn on fn.oid = fc.relnamespace
where k.contype in ('p', 'u', 'f')
order by n.nspname, c.relname, k.conname
