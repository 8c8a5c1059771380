-- Limits the number of Idempotency-Keys of each caller.

-- Counting all keys of a caller would take the longer the more there are. A key is always in the same of 256 parts.
create index idempotent_responses_part_idx on rowhouse.idempotent_responses
  (caller, (pg_catalog.hashtextextended(key, 0) & 255), created_at);
comment on index rowhouse.idempotent_responses_part_idx is 'Counts the keys of a caller in some of 256 parts.';

-- Servers of earlier versions do not set `rowhouse.most_idempotency_keys`, and have no limit.
create or replace function rowhouse.claim_idempotency_key(caller bytea, key text) returns void
language plpgsql set search_path = ''
as $$
declare
  most constant integer := nullif(pg_catalog.current_setting('rowhouse.most_idempotency_keys', true), '');
  -- All parts of a small number are counted, one of 16, or one of 256.
  width constant integer := case when most <= 5000 then 256 when most <= 80000 then 16 else 1 end;
  part constant bigint := (pg_catalog.hashtextextended($2, 0) & 255) / width * width;
  mean constant double precision := most * width / 256.0::double precision;
  -- By chance, there may be more keys in some parts: the square root of the mean is the standard deviation.
  part_most constant integer := pg_catalog.ceil(mean + case when width = 256 then 0 else 3 * pg_catalog.sqrt(mean) end);
  used integer;
begin
  for attempt in 1..2 loop
    if exists (
      select from rowhouse.idempotent_responses as stored
      where stored.caller = $1 and stored.key = $2 and stored.created_at > pg_catalog.now() - interval '24 hours'
    ) then
      raise sqlstate 'RH208' using message = 'the response for this Idempotency-Key is stored';
    end if;
    -- The transaction of the first request holds the lock until its response is stored or it is rolled back. It may have
    -- ended since the look above.
    exit when attempt = 2;
    if not pg_catalog.pg_try_advisory_xact_lock(
      pg_catalog.hashtextextended(pg_catalog.encode($1, 'hex') || ' ' || $2, 0)
    ) then
      raise sqlstate 'RH409' using message = 'a request with this Idempotency-Key is still running';
    end if;
  end loop;
  if most is null or most = 0 then
    return;
  end if;
  select pg_catalog.count(*) into used from (
    select from rowhouse.idempotent_responses as stored
    where stored.caller = $1 and pg_catalog.hashtextextended(stored.key, 0) & 255 between part and part + width - 1
      and stored.created_at > pg_catalog.now() - interval '24 hours'
    limit part_most
  ) as counted;
  if used >= part_most then
    raise sqlstate 'RH429' using message = 'the caller has used as many Idempotency-Keys as allowed';
  end if;
end
$$;
comment on function rowhouse.claim_idempotency_key(bytea, text) is
  'Reserves an Idempotency-Key of a caller for the transaction. Fails with RH409 when another one has reserved it, with RH208 when a response is stored, and with RH429 when the caller has used as many keys in 24 hours as the setting rowhouse.most_idempotency_keys allows.';
