-- Schemas with tables whose statistics the connected role may not read, except PostgreSQL's own schemas.
select json_build_object('schema', n.nspname) as row
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r'
  and n.nspname not in ('pg_catalog', 'information_schema')
  and n.nspname !~ '^pg_(toast_)?temp_'
  and not has_any_column_privilege(c.oid, 'select')
group by n.nspname
order by n.nspname
