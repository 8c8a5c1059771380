-- Only with the services: reports
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Domains, because PostgreSQL prepares the checks of a table again for each statement, and those of a domain only once per
-- connection: storing a report takes a fifth less time. In this schema, because writes by clients name the types.
create domain public.report_name as text
  constraint reports_name_check
    check (char_length(value) between 1 and 100 and value = btrim(value, E' \t\r\n'));
comment on domain public.report_name is
  'Name of a manufacturer or model: 1 to 100 characters, without leading or trailing white space.';
-- Depends on the clock, which is safe here: an accepted year remains valid.
create domain public.report_year as integer
  constraint reports_year_check
    check (value between 1886 and extract(year from statement_timestamp() at time zone 'UTC')::integer + 1);
comment on domain public.report_year is 'Model year of a vehicle, from 1886 to next year.';
create domain public.report_mileage as integer constraint reports_mileage_check check (value between 0 and 2000000);
comment on domain public.report_mileage is 'Mileage in kilometres, from 0 to 2000000.';
-- Also rejects NaN, which is greater than every number.
create domain public.report_price as numeric(11, 2) constraint reports_price_check check (value between 0 and 100000000);
comment on domain public.report_price is 'Price in euros, rounded to cents, from 0 to 100000000.';
create domain public.report_latitude as double precision constraint reports_lat_check check (value between -90 and 90);
comment on domain public.report_latitude is 'Degrees north, from -90 to 90.';
create domain public.report_longitude as double precision constraint reports_lng_check check (value between -180 and 180);
comment on domain public.report_longitude is 'Degrees east, from -180 to 180.';
create domain public.report_status as text
  constraint reports_status_check check (value in ('pending', 'approved', 'rejected'));
comment on domain public.report_status is 'pending, approved or rejected.';

create table public.reports (
  id uuid constraint reports_pkey primary key default gen_random_uuid(),
  user_id uuid not null default auth.uid() constraint reports_user_id_fkey references public.profiles on delete cascade,
  manufacturer public.report_name not null,
  model public.report_name not null,
  year public.report_year not null,
  mileage public.report_mileage not null,
  price public.report_price not null,
  lat public.report_latitude not null,
  lng public.report_longitude not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  status public.report_status not null default 'pending'
);
-- A user's reports, newest first. The id makes the order total, for keyset pagination.
create index reports_newest_idx on public.reports (user_id, created_at desc, id desc);
-- Reports awaiting review, oldest first.
create index reports_pending_idx on public.reports (created_at, id) where status = 'pending';
comment on table public.reports is
  E'Vehicle reports\n\nA report is pending until an administrator approves or rejects it. Its owner can change it only while it is pending, and only approved reports are used for valuations.';
comment on column public.reports.id is 'Generated id.';
comment on column public.reports.user_id is 'The owner; defaults to the caller.';
comment on column public.reports.manufacturer is 'Manufacturer, without leading or trailing white space.';
comment on column public.reports.model is 'Model, without leading or trailing white space.';
comment on column public.reports.year is 'Model year, from 1886 to next year.';
comment on column public.reports.mileage is 'Mileage in kilometres.';
comment on column public.reports.price is 'Price in euros, rounded to cents.';
comment on column public.reports.lat is 'Latitude of the vehicle''s location, in degrees north.';
comment on column public.reports.lng is 'Longitude of the vehicle''s location, in degrees east.';
comment on column public.reports.created_at is 'When the report was created.';
comment on column public.reports.updated_at is 'When the report was last changed or reviewed.';
comment on column public.reports.status is
  'pending, approved or rejected. Set by an administrator, with the function review_report.';

create trigger set_updated_at before update on public.reports
  for each row execute function rowhouse.set_updated_at();

-- Users cannot set ids, times or the status, and cannot transfer a report to another user.
grant select, delete,
  insert (user_id, manufacturer, model, year, mileage, price, lat, lng),
  update (manufacturer, model, year, mileage, price, lat, lng)
on public.reports to authenticated;

-- The policies protect the status a second time, in case a wider grant is added later.
alter table public.reports enable row level security;
create policy owner_select on public.reports for select to authenticated using ((select auth.uid()) = user_id);
create policy owner_insert on public.reports for insert to authenticated
  with check ((select auth.uid()) = user_id and status = 'pending');
create policy owner_update on public.reports for update to authenticated
  using ((select auth.uid()) = user_id and status = 'pending')
  with check ((select auth.uid()) = user_id and status = 'pending');
create policy owner_delete on public.reports for delete to authenticated using ((select auth.uid()) = user_id);
create policy service on public.reports to service_role using (true) with check (true);
comment on policy owner_select on public.reports is 'Users can read their own reports.';
comment on policy owner_insert on public.reports is 'Users can add reports of their own, which are pending.';
comment on policy owner_update on public.reports is 'Users can change their own reports until they are reviewed.';
comment on policy owner_delete on public.reports is 'Users can delete their own reports.';
comment on policy service on public.reports is 'The secret key can read and write all reports.';

-- Reviews. Functions that run with their owner's rights are in the schema `rowhouse`, which is never exposed; exposed
-- functions run with the caller's rights.

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
comment on function rowhouse.review_report(uuid, boolean) is 'Approves or rejects a report, for administrators.';

create function rowhouse.pending_reports(at_most integer, after_time timestamptz, after_id uuid)
returns setof public.reports
language plpgsql stable security definer set search_path = ''
as $$
begin
  if not auth.is_admin() then
    raise insufficient_privilege using message = 'only an administrator sees the reports of others';
  end if;
  return query
    select * from public.reports
    where status = 'pending' and ($2 is null or (created_at, id) > ($2, $3))
    order by created_at, id
    limit least(greatest(coalesce($1, 100), 0), 1000);
end
$$;
comment on function rowhouse.pending_reports(integer, timestamptz, uuid) is
  'Reports awaiting review, oldest first, at most 1000: those after the given report, or the first ones if its time is null.';

create function public.review_report(id uuid, approved boolean) returns public.reports
language sql set search_path = ''
as $$
  select * from rowhouse.review_report($1, $2)
$$;
comment on function public.review_report(uuid, boolean) is
  E'Approve or reject a report\n\nFor administrators: service_role, or users with the claim app_role: admin.';

create function public.pending_reports(at_most integer default 100) returns setof public.reports
language sql stable set search_path = ''
as $$
  select * from rowhouse.pending_reports($1, null, null)
$$;
comment on function public.pending_reports(integer) is
  E'Reports awaiting review\n\nOldest first, at most 1000. For administrators: service_role, or users with the claim app_role: admin.';

grant execute on function
  rowhouse.review_report(uuid, boolean),
  rowhouse.pending_reports(integer, timestamptz, uuid),
  public.review_report(uuid, boolean),
  public.pending_reports(integer)
to authenticated, service_role;

call rowhouse.end_private_functions();
