-- Clients that work offline choose the keys and times of their runs, and write whole rows: an upsert assigns every column
-- that is sent, changed or not. Whose row it is stays a matter of the policies, before the change and after it.
grant
  insert (id, created_at),
  update (id, user_id, created_at)
on public.classification_runs to authenticated;

-- The policies allow no id but the caller's.
grant insert (id), update (id) on public.profiles to authenticated;

-- Tables, views and sequences that this role makes from now on can be used with the secret key. Row-level security is
-- bypassed where service_role has BYPASSRLS.
alter default privileges in schema public grant select, insert, update, delete on tables to service_role;
alter default privileges in schema public grant usage, select on sequences to service_role;
