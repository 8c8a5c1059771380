-- Foreign keys, with what they refer to.
select json_build_object(
  'name', k.conname,
  'relation', k.conrelid::bigint,
  'columns', to_json(k.conkey),
  'isOfPartition', k.conparentid <> 0,
  'referencedSchema', rn.nspname,
  'referenced', quote_ident(rn.nspname) || '.' || quote_ident(r.relname),
  'primaryKey', (
    select json_agg(quote_ident(a.attname) order by key.place)
    from pg_catalog.pg_index p
    cross join unnest(p.indkey::int2[]) with ordinality as key (number, place)
    join pg_catalog.pg_attribute a on a.attrelid = p.indrelid and a.attnum = key.number
    where p.indrelid = k.confrelid and p.indisprimary
  ),
  'refersToUnique', i.indisunique and not i.indisprimary
) as row
from pg_catalog.pg_constraint k
join pg_catalog.pg_class r on r.oid = k.confrelid
join pg_catalog.pg_namespace rn on rn.oid = r.relnamespace
left join pg_catalog.pg_index i on i.indexrelid = k.conindid
where k.contype = 'f'
order by k.conrelid, k.conname
