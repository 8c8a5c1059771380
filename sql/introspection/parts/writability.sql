-- What can be written to the relations of $1, a JSON array of names of schemas. Fails for foreign tables without a handler.
select json_build_object(
  'relation', c.oid::bigint,
  -- A bit set, 1 << command: UPDATE 4, INSERT 8, DELETE 16. Includes INSTEAD OF triggers, ignores privileges.
  'events', pg_relation_is_updatable(c.oid, true)
) as row
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'f', 'v', 'm')
  and n.nspname in (select name from json_array_elements_text($1::json) as names (name))
order by c.oid
