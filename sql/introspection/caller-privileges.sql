-- The relations of a schema on which the current role has a privilege for their rows, with what it may do.
-- $1: name of the schema.
select json_build_object(
  'name', c.relname,
  'commands', (
    select coalesce(json_agg(command order by position), '[]')
    from (values (1, 'select'), (2, 'insert'), (3, 'update'), (4, 'delete')) as commands (position, command)
    where has_table_privilege(c.oid, command)
      or (command <> 'delete' and has_any_column_privilege(c.oid, command))
  ),
  -- Columns that the role can neither read nor write.
  'hidden', (
    select coalesce(json_agg(a.attname order by a.attnum), '[]')
    from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      and not has_column_privilege(c.oid, a.attnum, 'select, insert, update')
  )
) as row
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1::text
  and c.relkind in ('r', 'v', 'm', 'f', 'p')
  and not c.relispartition
  and has_schema_privilege(n.oid, 'usage')
  and (
    has_table_privilege(c.oid, 'select, insert, update, delete')
    or has_any_column_privilege(c.oid, 'select, insert, update')
  )
order by c.relname
