-- Which of the settings named by $1 the connected role was granted to set. PostgreSQL 15 and later.
select parameter.name
from unnest($1::text[]) as parameter (name)
where pg_catalog.has_parameter_privilege(current_user, parameter.name, 'set')
