-- Primary, unique and foreign keys of the whole database: relationships and view keys are derived from them.
-- Keys of internal schemas are included, because exposed views may select from their tables.
-- One row for each relation that has keys or that foreign keys refer to. Keys have the numbers of their columns, and the
-- relation their names, because looking up the names for each key would take longer than all else. Both are looked up
-- relation by relation: see `tables.sql`.
with
-- Sorted here, where rows are short. A join keeps the order of its outer side, but need not begin with this one.
relations as materialized (
  select c.oid, n.nspname as schema, c.relname as name, c.relispartition as is_partition
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.oid in (
    select conrelid from pg_constraint where contype in ('p', 'u', 'f')
    union all
    select confrelid from pg_constraint where contype = 'f'
  )
  order by n.nspname, c.relname
)
select json_build_object(
  'oid', r.oid,
  'schema', r.schema,
  'name', r.name,
  'isListed', not r.is_partition and r.schema not in ('pg_catalog', 'information_schema'),
  'columns', columns.names,
  'keys', coalesce(lists.keys, '[]')
)::text as row
from relations r
cross join lateral (
  select json_object_agg(attnum, attname) as names from pg_attribute where attrelid = r.oid and attnum > 0
) as columns
cross join lateral (
  select
    json_agg(
      json_build_array(contype, conname, conparentid <> 0, conkey, case contype when 'f' then confrelid end, confkey)
      order by conname
    ) as keys
  from pg_constraint
  where conrelid = r.oid and contype in ('p', 'u', 'f')
) as lists
