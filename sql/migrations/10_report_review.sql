-- Reports are reviewed. Only approved ones count in valuations; an owner may change a report only until it is reviewed.
alter table public.reports
  add column status text not null default 'pending' check (status in ('pending', 'approved', 'rejected'));
comment on column public.reports.status is 'Set by an administrator, with the function review_report.';
-- What there is to review, the oldest first.
create index on public.reports (created_at, id) where status = 'pending';

-- No grant of the column lets `authenticated` write it. The policies say the same, for a database where a wider grant
-- is made one day.
alter policy owner_insert on public.reports
  with check ((select auth.uid()) = user_id and status = 'pending');
alter policy owner_update on public.reports
  using ((select auth.uid()) = user_id and status = 'pending')
  with check ((select auth.uid()) = user_id and status = 'pending');

-- Whoever may do so in the database makes an account an administrator's: update auth.users set app_role = 'admin' …
alter table auth.users add column app_role text check (char_length(app_role) between 1 and 100);
comment on column auth.users.app_role is 'The claim app_role of the account''s sessions and tokens; `admin` reviews reports.';

-- The setting `role` stays the caller's inside a function that runs as its owner.
create function auth.is_admin() returns boolean
language sql stable parallel safe
as $$
  select coalesce(
    pg_catalog.current_setting('role', true) = 'service_role'
    or (pg_catalog.current_setting('role', true) = 'authenticated' and auth.jwt() ->> 'app_role' = 'admin'),
    false
  )
$$;
comment on function auth.is_admin() is 'Whether the caller is service_role, or a user with the claim app_role: admin.';

-- What runs with its owner's rights is in a schema that is never exposed; what is exposed runs with the caller's.
create function rowhouse.review_report(id uuid, approved boolean) returns public.reports
language plpgsql security definer set search_path = ''
as $$
declare
  reviewed public.reports;
begin
  if not auth.is_admin() then
    raise insufficient_privilege using message = 'only an administrator reviews reports';
  end if;
  if $2 is null then
    raise null_value_not_allowed using message = '"approved" must be true or false';
  end if;
  update public.reports set status = case when $2 then 'approved' else 'rejected' end
  where reports.id = $1
  returning reports.* into reviewed;
  if not found then
    raise sqlstate 'PT404' using message = 'there is no such report';
  end if;
  return reviewed;
end
$$;

create function rowhouse.pending_reports(at_most integer) returns setof public.reports
language plpgsql stable security definer set search_path = ''
as $$
begin
  if not auth.is_admin() then
    raise insufficient_privilege using message = 'only an administrator sees the reports of others';
  end if;
  return query
    select * from public.reports where status = 'pending' order by created_at, id
    limit least(greatest(coalesce($1, 100), 0), 1000);
end
$$;

create function public.review_report(id uuid, approved boolean) returns public.reports
language sql set search_path = ''
as $$
  select * from rowhouse.review_report($1, $2)
$$;
comment on function public.review_report(uuid, boolean) is
  'Approves or rejects a report. For administrators: service_role, or the claim app_role: admin.';

create function public.pending_reports(at_most integer default 100) returns setof public.reports
language sql stable set search_path = ''
as $$
  select * from rowhouse.pending_reports($1)
$$;
comment on function public.pending_reports(integer) is
  'Reports to be reviewed, the oldest first, at most 1000. For administrators: service_role, or the claim app_role: admin.';

revoke execute on function
  auth.is_admin(),
  rowhouse.review_report(uuid, boolean),
  rowhouse.pending_reports(integer),
  public.review_report(uuid, boolean),
  public.pending_reports(integer)
from public;
grant usage on schema rowhouse to authenticated, service_role;
grant execute on function auth.is_admin() to anon, authenticated, service_role;
grant execute on function
  rowhouse.review_report(uuid, boolean),
  rowhouse.pending_reports(integer),
  public.review_report(uuid, boolean),
  public.pending_reports(integer)
to authenticated, service_role;
