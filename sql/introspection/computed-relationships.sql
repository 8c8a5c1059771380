-- Functions that take one row of a relation and return rows of a relation.
with row_types as (
  select t.oid, n.nspname as schema, t.typname as name
  from pg_class c
  join pg_type t on t.oid = c.reltype
  join pg_namespace n on n.oid = t.typnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p')
)
select json_build_object(
  'function', json_build_object('schema', n.nspname, 'name', p.proname),
  'table', json_build_object('schema', source.schema, 'name', source.name),
  'foreignTable', json_build_object('schema', target.schema, 'name', target.name),
  -- A function declared with ROWS 1 yields an object, not an array.
  'isToOne', not p.proretset or p.prorows = 1,
  'isSelf', source.oid = target.oid
)::text as row
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
join row_types source on source.oid = p.proargtypes[0]
join row_types target on target.oid = p.prorettype
where p.pronargs = 1
order by n.nspname, p.proname, source.schema, source.name
