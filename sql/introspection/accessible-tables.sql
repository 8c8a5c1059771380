-- Relations of a schema on which the current role has any privilege.
-- $1: name of the schema.
select json_build_object('schema', n.nspname, 'name', c.relname) as row
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1::text
  and c.relkind in ('r', 'v', 'm', 'f', 'p')
  and not c.relispartition
  and (
    pg_has_role(c.relowner, 'usage')
    or has_table_privilege(c.oid, 'select, insert, update, delete, truncate, references, trigger')
    or has_any_column_privilege(c.oid, 'select, insert, update, references')
  )
order by c.relname
