-- The comment on a schema, null when there is none.
-- $1: name of the schema.
select json_build_object('description', obj_description(n.oid, 'pg_namespace')) as row
from pg_namespace n
where n.nspname = $1::text
