-- Indexes of all relations but PostgreSQL's own.
select json_build_object(
  'oid', i.indexrelid::bigint,
  'relation', i.indrelid::bigint,
  'name', c.relname,
  'quoted', quote_ident(n.nspname) || '.' || quote_ident(c.relname),
  'keys', to_json(string_to_array(i.indkey::text, ' ')::int[]),
  'isValid', i.indisvalid,
  'isUnique', i.indisunique,
  'isPrimary', i.indisprimary,
  'isPartial', i.indpred is not null,
  'isOfConstraint', exists (select from pg_catalog.pg_constraint k where k.conindid = i.indexrelid and k.contype <> 'f'),
  'isOfPartition', c.relispartition,
  -- Those of tables, not of TOAST tables, as in pg_stat_user_indexes.
  'scans', case when t.relkind in ('r', 'm') then pg_stat_get_numscans(i.indexrelid) end,
  'definition', pg_get_indexdef(i.indexrelid)
) as row
from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indexrelid
join pg_catalog.pg_class t on t.oid = i.indrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
  and n.nspname !~ '^pg_(toast_)?temp_'
order by n.nspname, c.relname
