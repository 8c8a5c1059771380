-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Counts requests per second for all processes of the server together: see `pgrst.max_requests_per_second` in the README.
-- Every statement may run again. The server connects as `authenticator`, or as the owner of these objects. Grant the same as
-- at the end to a role of another name; never to a role that requests run as.

create schema if not exists rowhouse_limits;
comment on schema rowhouse_limits is 'Counts of requests. Never exposed.';

-- Unlogged: after a crash of the database, the counts start again.
create unlogged table if not exists rowhouse_limits.buckets (
  subject text constraint buckets_pkey primary key,
  remaining double precision not null,
  changed_at timestamptz not null,
  full_at timestamptz not null
) with (fillfactor = 50);
comment on table rowhouse_limits.buckets is E'Requests that are left\n\nOne row for each role, user or API key with a limit.';
comment on column rowhouse_limits.buckets.subject is 'Whose requests are counted.';
comment on column rowhouse_limits.buckets.remaining is 'Requests that were left at that time. They increase by the rate until the burst is reached.';
comment on column rowhouse_limits.buckets.changed_at is 'When requests were last taken.';
comment on column rowhouse_limits.buckets.full_at is 'When the burst is reached. From then on the row says nothing and may be deleted.';
create index if not exists buckets_full_at_idx on rowhouse_limits.buckets (full_at);
alter table rowhouse_limits.buckets enable row level security;

create or replace function rowhouse_limits.take(
  subject text, rate double precision, burst double precision, wanted integer,
  out granted integer, out remaining double precision
)
language plpgsql security definer set search_path = ''
as $$
declare
  bucket rowhouse_limits.buckets;
  moment timestamptz;
begin
  if (rate > 0 and rate <= 1e9 and burst >= 1 and burst <= 1e9 and wanted >= 1) is not true then
    raise invalid_parameter_value using message = 'rate, burst and wanted must be positive';
  end if;
  loop
    select * into bucket from rowhouse_limits.buckets where buckets.subject = take.subject for update;
    exit when found;
    insert into rowhouse_limits.buckets
    values (take.subject, burst, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp())
    on conflict do nothing;
  end loop;
  -- Read after the row is locked, so that it is not earlier than the last change. The clock may be set back.
  moment := greatest(pg_catalog.clock_timestamp(), bucket.changed_at);
  remaining := least(burst, bucket.remaining + extract(epoch from moment - bucket.changed_at) * rate);
  granted := least(wanted, floor(greatest(remaining, 0)));
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
comment on function rowhouse_limits.take(text, double precision, double precision, integer) is
  'Takes requests from those that are left: as many as there are, at most as many as wanted.';

revoke all on schema rowhouse_limits from public;
revoke all on function rowhouse_limits.take(text, double precision, double precision, integer) from public;
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
    grant execute on function rowhouse_limits.take(text, double precision, double precision, integer) to authenticator;
  end if;
end
$$;

-- Limits of API keys.

alter table auth.api_keys add column limits jsonb
  constraint api_keys_limits_check check (
    jsonb_typeof(limits) = 'object'
    and limits - array['max_rows', 'max_cost', 'max_embed_depth', 'max_requests_per_second', 'max_request_burst'] = '{}'
    and not jsonb_path_exists(limits, '$.* ? (@.type() != "number" || @ < 0)')
  );
comment on column auth.api_keys.limits is
  'Limits of requests with the key, by the names of the settings of roles without pgrst.; null for none.';

drop function auth.find_api_key(bytea);
create function auth.find_api_key(key_hash bytea)
returns table (hash bytea, role text, user_id uuid, email text, expires_at timestamptz, id uuid, limits jsonb)
language sql stable security definer set search_path = ''
as $$
  select api_keys.key_hash, api_keys.role, api_keys.user_id, users.email::text, api_keys.expires_at, api_keys.id,
    api_keys.limits
  from auth.api_keys left join auth.users on users.id = api_keys.user_id
  where api_keys.key_hash = $1
    and api_keys.revoked_at is null
    and (api_keys.expires_at is null or api_keys.expires_at > now())
    and auth.is_banned(users) is not true
$$;
comment on function auth.find_api_key(bytea) is
  'The role, user and limits of an API key. Returns no row if it is unknown, revoked or expired, or its user is banned or deleted.';
grant execute on function auth.find_api_key(bytea) to authenticator;

call rowhouse.end_private_functions();
