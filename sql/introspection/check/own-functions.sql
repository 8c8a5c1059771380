-- PostgreSQL's own functions whose results can change within a session.
select json_build_object('oid', p.oid::bigint, 'name', p.proname, 'volatility', p.provolatile) as row
from pg_catalog.pg_proc p
where p.pronamespace = 'pg_catalog'::regnamespace and p.provolatile <> 'i'
