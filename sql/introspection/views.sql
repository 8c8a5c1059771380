-- Queries of the views whose columns are traced to their base tables, as pg_node_tree text.
-- $1: names of the exposed schemas, a JSON array: their views get keys.
-- $2: names of the extra schemas of the search path, a JSON array: exposed views may select from their views.
with
exposed as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
extra as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($2::json) as names (name)
)
select
  json_build_object(
    'oid', c.oid,
    'schema', n.nspname,
    'name', c.relname,
    'isExposed', c.relnamespace = any (array(select schema from exposed)),
    -- Names in the query may be outdated after a rename.
    'columns', (
      select json_object_agg(a.attnum, a.attname)
      from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    )
  )::text as row,
  rule.ev_action::text as query
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_rewrite rule on rule.ev_class = c.oid and rule.ev_type = '1'
where c.relkind in ('v', 'm')
  and c.relnamespace = any (array(select schema from exposed union all select schema from extra))
order by n.nspname, c.relname
