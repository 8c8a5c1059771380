-- Settings of the connected role, for all databases and for this one, which come last and take precedence.
-- $1: names with their prefix.
select option.option_name as name, option.option_value as value
from pg_catalog.pg_db_role_setting as stored
cross join lateral pg_catalog.pg_options_to_table(stored.setconfig) as option
where stored.setrole = (select oid from pg_catalog.pg_roles where rolname = current_user)
  and stored.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
  and option.option_name = any ($1::text[])
  and option.option_value is not null
order by stored.setdatabase
