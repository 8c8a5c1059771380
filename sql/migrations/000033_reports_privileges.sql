-- Only with the services: reports
-- See profiles_privileges.sql: with the default privileges of Supabase, users could set the status of their reports.
select rowhouse.limit_to_columns('public.reports');
select rowhouse.close_to_anon(routine::regprocedure) from unnest(array[
  'public.review_report(uuid, boolean)',
  'public.pending_reports(integer)',
  'public.estimate_report(text, text, integer, integer, double precision, double precision)',
  'public.valuation(public.reports)'
]) as routine;
