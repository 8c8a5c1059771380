-- The same as `catalog-version.sql` for the catalog of `grant set on parameter`. PostgreSQL 15 and later.
select json_build_object('pg_parameter_acl', sum(hashtextextended(xmin::text || ctid::text, 0))::text) as row
from pg_parameter_acl
