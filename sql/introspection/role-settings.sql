-- Settings of the roles that the connected role was granted, and the context in which each may be changed.
select distinct granted.rolname as role, option.option_name as name, option.option_value as value, known.context
from pg_catalog.pg_auth_members as membership
join pg_catalog.pg_roles as granted on granted.oid = membership.roleid
cross join lateral pg_catalog.pg_options_to_table(granted.rolconfig) as option
join pg_catalog.pg_settings as known on known.name = option.option_name
where membership.member = (select oid from pg_catalog.pg_roles where rolname = current_user)
order by role, name
