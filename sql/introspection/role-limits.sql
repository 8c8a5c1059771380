-- Limits of the roles that the connected role may switch to, and where their reads run: settings for all databases and for this one, which come last
-- and take precedence.
select roles.rolname as role, option.option_name as name, option.option_value as value
from pg_catalog.pg_db_role_setting as stored
join pg_catalog.pg_roles as roles on roles.oid = stored.setrole
cross join lateral pg_catalog.pg_options_to_table(stored.setconfig) as option
where stored.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
  and (option.option_name like 'pgrst.max\_%' or option.option_name = 'pgrst.read')
  and option.option_value is not null
  and pg_catalog.pg_has_role(current_user, roles.oid, 'member')
order by role, stored.setdatabase, name
