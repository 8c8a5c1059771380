-- Only with the services: realtime
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The realtime service: messages from SQL, and what decides about private channels. The names are those of Supabase, so that
-- people's policies and triggers apply unchanged. A schema `realtime` of Supabase is kept as it is. Roles belong to the whole
-- cluster, so another database or the DBA may have created this one already.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_realtime_admin') then
    begin
      create role supabase_realtime_admin nologin noinherit;
    exception
      -- Another database of the cluster is being migrated at the same time.
      when duplicate_object or unique_violation then
        null;
    end;
  end if;
  if not exists (
    select from pg_catalog.pg_auth_members
    where roleid = 'supabase_realtime_admin'::regrole and member = 'authenticator'::regrole
  ) then
    begin
      grant supabase_realtime_admin to authenticator;
    exception
      when unique_violation then
        null;
    end;
  end if;
  -- The owner of the table creates policies on it.
  if not pg_catalog.pg_has_role(current_user, 'supabase_realtime_admin', 'usage') then
    begin
      execute format('grant supabase_realtime_admin to %I', current_user);
    exception
      when insufficient_privilege then
        null;
    end;
  end if;
end
$$;

do $migration$
begin
  if to_regclass('realtime.messages') is not null then
    return;
  end if;

  if to_regnamespace('realtime') is null then
    create schema realtime;
    comment on schema realtime is
      'Messages of the realtime service, and the functions that send them. Not exposed at the REST API by default.';
  end if;

  -- Times are in UTC.
  create table realtime.messages (
    topic text not null,
    extension text not null,
    payload jsonb,
    event text,
    private boolean default false,
    updated_at timestamp not null default (now() at time zone 'UTC'),
    inserted_at timestamp not null default (now() at time zone 'UTC'),
    id uuid not null default gen_random_uuid(),
    binary_payload bytea,
    constraint messages_pkey primary key (id, inserted_at),
    constraint messages_payload_exclusive check (payload is null or binary_payload is null)
  ) partition by range (inserted_at);
  create index messages_inserted_at_topic_index on realtime.messages (inserted_at desc, topic)
    where extension = 'broadcast' and private is true;

  comment on table realtime.messages is
    E'Messages of the realtime service\n\nIts policies decide who may join private channels: SELECT to receive, INSERT to send. Without policies, only service_role may. Rows are removed after three days.';
  comment on column realtime.messages.topic is 'Name of the channel.';
  comment on column realtime.messages.extension is 'What is received or sent: broadcast or presence.';
  comment on column realtime.messages.payload is 'The message, unless it is in binary_payload.';
  comment on column realtime.messages.event is 'Event of the message.';
  comment on column realtime.messages.private is 'Whether the channel is private.';
  comment on column realtime.messages.updated_at is 'When the message was sent.';
  comment on column realtime.messages.inserted_at is 'When the message was sent; chooses the partition.';
  comment on column realtime.messages.id is 'Generated.';
  comment on column realtime.messages.binary_payload is 'The message, if it is no JSON.';

  alter table realtime.messages enable row level security;
  -- Tables of the migrating role may have been granted to others by default.
  revoke all on realtime.messages from public, anon, authenticated, service_role;
  grant select, insert, update on realtime.messages to anon, authenticated, service_role;

  -- The owner is exempt from row-level security.
  begin
    grant usage, create on schema realtime to supabase_realtime_admin;
    alter table realtime.messages owner to supabase_realtime_admin;
  exception
    -- The migrating role cannot become the role that owns it.
    when insufficient_privilege then
      grant all on realtime.messages to supabase_realtime_admin;
      create policy server on realtime.messages for all to supabase_realtime_admin using (true) with check (true);
      comment on policy server on realtime.messages is 'The server reads the messages that it sends again.';
  end;
end
$migration$;

-- A Supabase of 2024 has no binary messages.
do $$
begin
  if not exists (
    select from pg_catalog.pg_attribute where attrelid = 'realtime.messages'::regclass and attname = 'binary_payload'
  ) then
    alter table realtime.messages add column binary_payload bytea;
  end if;
end
$$;

-- Functions for policies and triggers. Their names and signatures are Supabase's. They run with the rights of their caller,
-- whose policies decide whether a message is sent, and with the caller's search path, as these policies may need.
do $migration$
begin
  if to_regprocedure('realtime.topic()') is null then
    create function realtime.topic() returns text
    language sql stable
    as $$
      select nullif(pg_catalog.current_setting('realtime.topic', true), '')
    $$;
    comment on function realtime.topic() is 'Name of the channel about which a policy decides.';
    grant execute on function realtime.topic() to anon, authenticated, service_role, supabase_realtime_admin;
  end if;

  if to_regprocedure('realtime.send(jsonb, text, text, boolean)') is null then
    create function realtime.send(payload jsonb, event text, topic text, private boolean default true) returns void
    language plpgsql
    as $$
    declare
      message constant uuid := pg_catalog.gen_random_uuid();
    begin
      if not pg_catalog.jsonb_exists(payload, 'id') then
        payload := pg_catalog.jsonb_set(payload, '{id}', pg_catalog.to_jsonb(message));
      end if;
      perform pg_catalog.set_config('realtime.topic', topic, true);
      insert into realtime.messages (id, payload, event, topic, private, extension)
      values (message, payload, event, topic, private, 'broadcast');
    exception
      when others then
        raise warning 'WarnSendingBroadcastMessage: %', sqlerrm;
    end
    $$;
    comment on function realtime.send(jsonb, text, text, boolean) is
      'Sends a message to a channel when the transaction commits. A failure is a warning.';
    grant execute on function realtime.send(jsonb, text, text, boolean)
    to anon, authenticated, service_role, supabase_realtime_admin;
  end if;

  if to_regprocedure('realtime.send_binary(bytea, text, text, boolean)') is null then
    create function realtime.send_binary(payload bytea, event text, topic text, private boolean default true) returns void
    language plpgsql
    as $$
    begin
      perform pg_catalog.set_config('realtime.topic', topic, true);
      insert into realtime.messages (binary_payload, event, topic, private, extension)
      values (payload, event, topic, private, 'broadcast');
    exception
      when others then
        raise warning 'WarnSendingBroadcastMessage: %', sqlerrm;
    end
    $$;
    comment on function realtime.send_binary(bytea, text, text, boolean) is
      'Sends bytes to a channel when the transaction commits. A failure is a warning.';
    grant execute on function realtime.send_binary(bytea, text, text, boolean)
    to anon, authenticated, service_role, supabase_realtime_admin;
  end if;

  if to_regprocedure('realtime.broadcast_changes(text, text, text, text, text, record, record, text)') is null then
    create function realtime.broadcast_changes(
      topic_name text, event_name text, operation text, table_name text, table_schema text,
      new record, old record, level text default 'ROW'
    )
    returns void
    language plpgsql
    as $$
    begin
      if level = 'STATEMENT' then
        raise exception 'function can only be triggered for each row, not for each statement';
      end if;
      if operation is null or operation not in ('INSERT', 'UPDATE', 'DELETE') then
        raise exception 'Unexpected operation type: %', operation;
      end if;
      perform realtime.send(
        pg_catalog.jsonb_build_object(
          'old_record', old, 'record', new, 'operation', operation, 'table', table_name, 'schema', table_schema
        ),
        event_name,
        topic_name
      );
    exception
      when others then
        raise exception 'Failed to process the row: %', sqlerrm;
    end
    $$;
    comment on function realtime.broadcast_changes(text, text, text, text, text, record, record, text) is
      'For triggers: sends the change of a row to a private channel when the transaction commits.';
    grant execute on function realtime.broadcast_changes(text, text, text, text, text, record, record, text)
    to anon, authenticated, service_role, supabase_realtime_admin;
  end if;
end
$migration$;
grant usage on schema realtime to anon, authenticated, service_role, authenticator, supabase_realtime_admin;

-- The partitions of the messages, by day. The function is not in the schema `realtime`, which may be Supabase's.
create function rowhouse.keep_realtime_partitions() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s'
as $$
declare
  today constant date := (pg_catalog.now() at time zone 'UTC')::date;
  day date;
  name text;
begin
  -- Other processes wait, and find it done.
  perform pg_catalog.pg_advisory_xact_lock(2963407158144);
  for day in select today + n from pg_catalog.generate_series(-1, 3) as n loop
    name := 'messages_' || pg_catalog.to_char(day, 'YYYY_MM_DD');
    continue when pg_catalog.to_regclass('realtime.' || name) is not null;
    -- Unlike CREATE TABLE … PARTITION OF, to attach a table lets others read and write the messages meanwhile.
    execute pg_catalog.format('create table realtime.%I (like realtime.messages including all)', name);
    execute pg_catalog.format('comment on table realtime.%I is %L', name, 'Messages of a day');
    -- Policies are those of the parent. No role has access to the partition itself.
    execute pg_catalog.format('alter table realtime.%I enable row level security', name);
    execute pg_catalog.format('revoke all on realtime.%I from public, anon, authenticated, service_role', name);
    execute pg_catalog.format(
      'alter table realtime.messages attach partition realtime.%I for values from (%L) to (%L)', name, day, day + 1
    );
  end loop;
  for name in
    select relname from pg_catalog.pg_inherits join pg_catalog.pg_class on pg_class.oid = inhrelid
    where inhparent = 'realtime.messages'::regclass and relname ~ '^messages_\d{4}_\d\d_\d\d$'
      and pg_catalog.to_date(pg_catalog.substr(relname, 10), 'YYYY_MM_DD') < today - 3
  loop
    begin
      execute pg_catalog.format('drop table realtime.%I', name);
    exception
      -- Someone reads for long, and others must not wait behind this; the next call drops it. Or it belongs to someone else.
      when lock_not_available or insufficient_privilege then
        null;
    end;
  end loop;
end
$$;
comment on function rowhouse.keep_realtime_partitions() is
  'Creates the partitions of realtime.messages from yesterday to three days ahead, and drops those older than three days.';

do $$
declare
  -- They may be Supabase's.
  owner constant regrole := (select relowner::regrole from pg_catalog.pg_class where oid = 'realtime.messages'::regclass);
begin
  begin
    execute format('grant usage on schema rowhouse to %s', owner);
    execute format('alter function rowhouse.keep_realtime_partitions() owner to %s', owner);
  exception
    -- The migrating role cannot become that owner.
    when insufficient_privilege then
      null;
  end;
end
$$;
grant execute on function rowhouse.keep_realtime_partitions() to authenticator, supabase_realtime_admin;
select rowhouse.keep_realtime_partitions();

-- What the log reports: changes of the tables that people add to the first publication, and messages from SQL.
do $$
declare
  level constant text := current_setting('client_min_messages');
begin
  -- Where the log has too little, PostgreSQL warns. `rowhouse doctor` says what to do.
  perform set_config('client_min_messages', 'error', true);
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime') then
    create publication supabase_realtime;
    comment on publication supabase_realtime is
      'Tables whose changes clients can listen to: alter publication supabase_realtime add table …';
  end if;
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime_messages_publication') then
    create publication supabase_realtime_messages_publication for table realtime.messages with (publish = 'insert');
    comment on publication supabase_realtime_messages_publication is 'Messages that realtime.send and others have sent.';
  end if;
  perform set_config('client_min_messages', level, true);
exception
  when insufficient_privilege then
    raise notice 'this role may not create the publications supabase_realtime and supabase_realtime_messages_publication: changes of rows and messages from SQL need them';
end
$$;

-- Processes connect the channels of their clients by NOTIFY. Every role may notify and listen, so they seal their messages.
create table rowhouse.realtime_secret (
  is_only boolean default true constraint realtime_secret_pkey primary key
    constraint realtime_secret_is_only_check check (is_only),
  secret bytea not null constraint realtime_secret_check check (octet_length(secret) = 32)
);
comment on table rowhouse.realtime_secret is
  E'Secret of the servers\n\nMessages between processes are sealed with it. Only the server has access.';
comment on column rowhouse.realtime_secret.is_only is 'True: the table has one row.';
comment on column rowhouse.realtime_secret.secret is 'Random bytes.';
alter table rowhouse.realtime_secret enable row level security;
create policy server on rowhouse.realtime_secret for select to authenticator using (true);
comment on policy server on rowhouse.realtime_secret is 'The server reads it.';
-- Tables of the migrating role may have been granted to others by default.
revoke all on rowhouse.realtime_secret from public, anon, authenticated, service_role;
grant select on rowhouse.realtime_secret to authenticator;
insert into rowhouse.realtime_secret (secret)
select pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.gen_random_uuid()::text || pg_catalog.gen_random_uuid()::text, 'UTF8'));

-- The channels of a session or an account end with it: servers check the tokens of those that are notified.

create function rowhouse.realtime_session_ended() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_catalog.pg_notify('rowhouse_realtime', 'session ' || old.id);
  return null;
end
$$;
comment on function rowhouse.realtime_session_ended() is
  'Trigger: makes running servers close the channels of a session that has ended.';

create function rowhouse.realtime_user_ended() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_catalog.pg_notify('rowhouse_realtime', 'user ' || old.id);
  return null;
end
$$;
comment on function rowhouse.realtime_user_ended() is
  'Trigger: makes running servers close the channels of a user who was banned or deleted.';

do $$
begin
  if to_regclass('auth.sessions') is null then
    return;
  end if;
  create trigger realtime_session_ended after delete on auth.sessions
    for each row execute function rowhouse.realtime_session_ended();
  create trigger realtime_user_deleted after delete on auth.users
    for each row execute function rowhouse.realtime_user_ended();
  create trigger realtime_user_ended after update of banned_until, deleted_at on auth.users
    for each row
    when (
      (old.banned_until, old.deleted_at) is distinct from (new.banned_until, new.deleted_at)
        and (new.deleted_at is not null or new.banned_until > now())
    )
    execute function rowhouse.realtime_user_ended();
end
$$;

call rowhouse.end_private_functions();
