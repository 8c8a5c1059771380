-- Only without the services: profiles, reports, analysis
-- `public` belongs to the tables of a project. As in Supabase, the API's roles can access new ones, and row-level security
-- protects the rows: `rowhouse check` lists tables without it.
alter default privileges in schema public grant select, insert, update, delete on tables to anon, authenticated;
alter default privileges in schema public grant usage, select on sequences to anon, authenticated;
