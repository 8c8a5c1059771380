-- Counts requests, attempts to sign in, mails and images for all processes of the server together.
--
-- This file needs none of the others, so that a DBA can run it in a database that the server does not migrate. Every statement
-- may run again. The server connects as `authenticator`, or as the owner of these objects. Grant the same as at the end to a
-- role of another name; never to a role that requests run as.

create schema if not exists rowhouse_limits;
comment on schema rowhouse_limits is 'Counts of requests. Never exposed.';

-- Unlogged: after a crash of the database, the counts start again.
create unlogged table if not exists rowhouse_limits.buckets (
  subject text constraint buckets_pkey primary key,
  remaining double precision not null,
  changed_at timestamptz not null,
  full_at timestamptz not null
) with (fillfactor = 50);
comment on table rowhouse_limits.buckets is E'Requests that are left\n\nOne row for each subject with a limit: a role, a user, an API key, or a hash of an account or a network.';
comment on column rowhouse_limits.buckets.subject is 'Whose requests are counted.';
comment on column rowhouse_limits.buckets.remaining is 'Requests that were left at that time. They increase by the rate until the burst is reached.';
comment on column rowhouse_limits.buckets.changed_at is 'When requests were last taken.';
comment on column rowhouse_limits.buckets.full_at is 'When the burst is reached. From then on the row says nothing and may be deleted.';
create index if not exists buckets_full_at_idx on rowhouse_limits.buckets (full_at);
alter table rowhouse_limits.buckets enable row level security;

create or replace function rowhouse_limits.take(
  subject text, rate double precision, burst double precision, wanted integer, minimum integer default 1,
  out granted integer, out remaining double precision
)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  bucket rowhouse_limits.buckets;
  moment timestamptz;
begin
  if (rate > 0 and rate <= 1e9 and burst >= 1 and burst <= 1e9 and minimum >= 1 and wanted >= minimum) is not true then
    raise invalid_parameter_value using message = 'rate, burst, wanted and minimum must be positive';
  end if;
  loop
    select * into bucket from rowhouse_limits.buckets where buckets.subject = take.subject for update;
    exit when found;
    insert into rowhouse_limits.buckets
    values (take.subject, burst, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp())
    on conflict do nothing;
  end loop;
  -- Read after the row is locked, so that it is later than the last change, unless the clock was set back. Requests then
  -- accrue from the new time on.
  moment := pg_catalog.clock_timestamp();
  remaining := least(burst, bucket.remaining + greatest(extract(epoch from moment - bucket.changed_at), 0) * rate);
  granted := least(wanted, floor(greatest(remaining, 0)));
  if granted < minimum then
    granted := 0;
  end if;
  remaining := remaining - granted;
  update rowhouse_limits.buckets
  set remaining = take.remaining,
    changed_at = moment,
    full_at = moment + pg_catalog.make_interval(secs => least((burst - take.remaining) / rate, 1e9))
  where buckets.subject = take.subject;
  if pg_catalog.random() < 0.01 then
    delete from rowhouse_limits.buckets
    where buckets.subject in (
      select full_buckets.subject from rowhouse_limits.buckets as full_buckets
      where full_buckets.full_at < moment - interval '1 minute'
      limit 1000 for update skip locked
    );
  end if;
end
$$;
comment on function rowhouse_limits.take(text, double precision, double precision, integer, integer) is
  'Takes requests from those that are left: as many as there are, at most as many as wanted; none if there are fewer than the minimum.';

create or replace function rowhouse_limits.put_back(subject text, burst double precision, count integer)
returns void language sql security definer set search_path = pg_catalog, pg_temp
as $$
  update rowhouse_limits.buckets
  set remaining = least(put_back.burst, buckets.remaining + put_back.count)
  where buckets.subject = put_back.subject and put_back.count > 0
$$;
comment on function rowhouse_limits.put_back(text, double precision, integer) is
  'Puts back requests that were taken and not let through.';

revoke all on schema rowhouse_limits from public;
revoke all on function rowhouse_limits.take(text, double precision, double precision, integer, integer) from public;
revoke all on function rowhouse_limits.put_back(text, double precision, integer) from public;
do $$
declare
  api_role text;
begin
  -- Default privileges may have been granted to the roles of requests.
  for api_role in select rolname from pg_catalog.pg_roles where rolname in ('anon', 'authenticated', 'service_role') loop
    execute pg_catalog.format('revoke all on schema rowhouse_limits from %I', api_role);
    execute pg_catalog.format('revoke all on all tables in schema rowhouse_limits from %I', api_role);
    execute pg_catalog.format('revoke all on all functions in schema rowhouse_limits from %I', api_role);
  end loop;
  if exists (select from pg_catalog.pg_roles where rolname = 'authenticator') then
    grant usage on schema rowhouse_limits to authenticator;
    grant execute on function rowhouse_limits.take(text, double precision, double precision, integer, integer) to authenticator;
    grant execute on function rowhouse_limits.put_back(text, double precision, integer) to authenticator;
  end if;
end
$$;
