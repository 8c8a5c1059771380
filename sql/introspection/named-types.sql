-- Enums, domains and composite types of all schemas: columns and arguments may refer to types of any schema.
select json_build_object(
  'oid', t.oid::bigint,
  'schema', n.nspname,
  'name', t.typname,
  'values', (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid),
  'attributes', (
    select json_agg(
      json_build_object(
        'name', a.attname,
        'type', json_build_object(
          'oid', coalesce(element.oid, own.oid)::bigint,
          'name', coalesce(element.typname, own.typname),
          'isArray', element.oid is not null
        )
      )
      order by a.attnum
    )
    from pg_attribute a
    join pg_type own on own.oid = a.atttypid
    left join pg_type element on element.oid = own.typelem and element.typarray = own.oid
    where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
  ),
  -- Of a domain: the type that it is declared with.
  'base', (
    select json_build_object(
      'oid', coalesce(element.oid, base.oid)::bigint,
      'name', coalesce(element.typname, base.typname),
      'isArray', element.oid is not null
    )
    from pg_type base
    left join pg_type element on element.oid = base.typelem and element.typarray = base.oid
    where t.typtype = 'd' and base.oid = t.typbasetype
  )
) as row
from pg_type t
join pg_namespace n on n.oid = t.typnamespace
left join pg_class c on c.oid = t.typrelid
where t.typtype in ('e', 'd') or c.relkind = 'c'
order by n.nspname, t.typname
