-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Responses of requests with an Idempotency-Key, so that a repeated request gets the response again instead of having its
-- effects twice. https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
create table rowhouse.idempotent_responses (
  caller bytea not null,
  key text not null,
  request bytea not null,
  status smallint not null,
  status_text text,
  headers json not null,
  body bytea not null,
  created_at timestamptz not null default now(),
  constraint idempotent_responses_pkey primary key (caller, key)
);
create index idempotent_responses_created_at_idx on rowhouse.idempotent_responses (created_at);
-- Counting all keys of a caller would take the longer the more there are. A key is always in the same of 256 parts.
create index idempotent_responses_part_idx on rowhouse.idempotent_responses
  (caller, (pg_catalog.hashtextextended(key, 0) & 255), created_at);
comment on table rowhouse.idempotent_responses is
  E'Responses of requests with an Idempotency-Key\n\nKept for 24 hours. Only the server has access.';
comment on column rowhouse.idempotent_responses.caller is 'SHA-256 hash of the role and the subject of the caller.';
comment on column rowhouse.idempotent_responses.key is 'The Idempotency-Key.';
comment on column rowhouse.idempotent_responses.request is
  'SHA-256 hash of the request and of the claims of its caller, without those that change when a token is renewed.';
comment on column rowhouse.idempotent_responses.status is 'HTTP status.';
comment on column rowhouse.idempotent_responses.status_text is 'Reason phrase, if not the one of the status.';
comment on column rowhouse.idempotent_responses.headers is 'Names and values in the order in which they were sent.';
comment on column rowhouse.idempotent_responses.body is 'The body as it was sent.';
comment on column rowhouse.idempotent_responses.created_at is 'When the transaction of the request began.';
comment on index rowhouse.idempotent_responses_part_idx is 'Counts the keys of a caller in some of 256 parts.';

alter table rowhouse.idempotent_responses enable row level security;
create policy server on rowhouse.idempotent_responses to authenticator using (true) with check (true);
comment on policy server on rowhouse.idempotent_responses is 'The server keeps the responses of all callers.';
grant select, insert, update, delete on rowhouse.idempotent_responses to authenticator;
-- Tables of the migrating role may have been granted to others by default.
revoke all on rowhouse.idempotent_responses from anon, authenticated, service_role;

create function rowhouse.claim_idempotency_key(caller bytea, key text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
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

create function rowhouse.store_response(
  caller bytea, key text, request bytea, status smallint, status_text text, headers json, body bytea
) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  -- Each stored response removes up to ten that have expired, and replaces an expired one of the same key.
  delete from rowhouse.idempotent_responses as expired where expired.ctid = any (array(
    select stored.ctid from rowhouse.idempotent_responses as stored
    where stored.created_at <= pg_catalog.now() - interval '24 hours' and (stored.caller, stored.key) <> ($1, $2)
    order by stored.created_at limit 10
    for update skip locked
  ));
  delete from rowhouse.idempotent_responses as expired
  where expired.caller = $1 and expired.key = $2 and expired.created_at <= pg_catalog.now() - interval '24 hours';
  insert into rowhouse.idempotent_responses (caller, key, request, status, status_text, headers, body)
  values ($1, $2, $3, $4, $5, $6, $7);
end
$$;
comment on function rowhouse.store_response(bytea, text, bytea, smallint, text, json, bytea) is
  'Stores the response of a request whose Idempotency-Key was claimed in the same transaction.';

grant execute on function
  rowhouse.claim_idempotency_key(bytea, text),
  rowhouse.store_response(bytea, text, bytea, smallint, text, json, bytea)
to authenticator;

call rowhouse.end_private_functions();
