-- Primary, unique and foreign keys of the whole database: relationships and view keys are derived from them.
-- Keys of internal schemas are included, because exposed views may select from their tables.
-- One row for each relation that has keys or that foreign keys refer to. Keys have the numbers of their columns, and the
-- relation their names, because looking up the names for each key would take longer than all else.
with
keys as materialized (
  select conrelid as relation, contype as type, conname as name, conparentid, conkey, confrelid, confkey
  from pg_constraint
  where contype in ('p', 'u', 'f')
),
lists as (
  select
    relation,
    json_agg(
      json_build_array(type, name, conparentid <> 0, conkey, case type when 'f' then confrelid end, confkey)
      order by name
    ) as keys
  from keys
  group by relation
),
columns as (
  select attrelid as relation, json_object_agg(attnum, attname) as names
  from pg_attribute
  where attnum > 0
    and attrelid in (select relation from keys union select confrelid from keys where type = 'f')
  group by attrelid
)
select json_build_object(
  'oid', c.oid,
  'schema', n.nspname,
  'name', c.relname,
  'isListed', not c.relispartition and n.nspname not in ('pg_catalog', 'information_schema'),
  'columns', columns.names,
  'keys', coalesce(lists.keys, '[]')
)::text as row
from columns
join pg_class c on c.oid = columns.relation
join pg_namespace n on n.oid = c.relnamespace
left join lists on lists.relation = c.oid
order by n.nspname, c.relname
