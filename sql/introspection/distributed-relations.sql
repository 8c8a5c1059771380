-- Tables that Citus manages: distributed tables with the column that decides on the shard of a row, and reference tables.
-- The catalogue exists only with the extension.
select json_build_object(
  'schema', n.nspname,
  'name', c.relname,
  'column', pg_catalog.column_to_column_name(p.logicalrelid, p.partkey)
)::text as row
from pg_catalog.pg_dist_partition p
join pg_class c on c.oid = p.logicalrelid
join pg_namespace n on n.oid = c.relnamespace
