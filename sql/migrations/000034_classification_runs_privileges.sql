-- Only with the services: analysis
-- See profiles_privileges.sql.
select rowhouse.limit_to_columns('public.classification_runs');
