-- Tables and views of the schemas with their columns, as the generated TypeScript types describe them.
-- $1: names of the schemas, a JSON array. Postgres raises 3F000 for a schema that does not exist.
with
wanted as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
columns as (
  select
    a.attrelid as relation,
    json_agg(
      json_build_object(
        'name', a.attname,
        'type', json_build_object(
          'oid', coalesce(element.oid, base.oid)::bigint,
          'name', coalesce(element.typname, base.typname),
          'isArray', element.oid is not null
        ),
        'isNullable', not (a.attnotnull or declared.typtype = 'd' and declared.typnotnull),
        'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
        -- Generated columns have an expression here, too.
        'hasDefault', a.atthasdef,
        'isGenerated', a.attgenerated <> '',
        'isUpdatable', case c.relkind when 'v' then pg_column_is_updatable(c.oid, a.attnum, false) else false end
      )
      order by a.attnum
    ) as list
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type declared on declared.oid = a.atttypid
  -- A domain counts as the type that it is declared with.
  join pg_type base on base.oid = case declared.typtype when 'd' then declared.typbasetype else declared.oid end
  left join pg_type element on element.oid = base.typelem and element.typarray = base.oid
  where c.relnamespace = any (array(select schema from wanted))
    and c.relkind in ('r', 'p', 'f', 'v', 'm')
  group by a.attrelid
)
select json_build_object(
  'oid', c.oid::text,
  'rowType', c.reltype::bigint,
  'schema', n.nspname,
  'name', c.relname,
  'kind', case c.relkind
    when 'f' then 'foreign table'
    when 'v' then 'view'
    when 'm' then 'materialized view'
    else 'table'
  end,
  -- UPDATE 4 and DELETE 16, without INSTEAD OF triggers: what information_schema.views calls updatable.
  'isUpdatable', case c.relkind when 'v' then pg_relation_is_updatable(c.oid, false) & 20 = 20 else false end,
  'columns', coalesce(columns.list, '[]')
) as row
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
left join columns on columns.relation = c.oid
where c.relnamespace = any (array(select schema from wanted))
  and c.relkind in ('r', 'p', 'f', 'v', 'm')
order by n.nspname, c.relname
