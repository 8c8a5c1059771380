-- Enums and composite types of all schemas: columns and arguments may refer to types of any schema.
select json_build_object(
  'schema', n.nspname,
  'name', t.typname,
  'values', (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid),
  'attributes', (
    select json_agg(
      json_build_object(
        'name', a.attname,
        'type', json_build_object('name', coalesce(element.typname, own.typname), 'isArray', element.oid is not null)
      )
      order by a.attnum
    )
    from pg_attribute a
    join pg_type own on own.oid = a.atttypid
    left join pg_type element on element.oid = own.typelem and element.typarray = own.oid
    where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
  )
) as row
from pg_type t
join pg_namespace n on n.oid = t.typnamespace
left join pg_class c on c.oid = t.typrelid
where t.typtype = 'e' or c.relkind = 'c'
order by n.nspname, t.typname
