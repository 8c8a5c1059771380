-- Only with the services: webhooks
-- Triggers that cause calls: those of `rowhouse webhook add`, and that of Supabase's database webhooks.
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Webhooks of `rowhouse webhook add`: one statement adds the calls for all rows that a statement has changed.

create function rowhouse.call_key(webhook text, record jsonb, columns text[]) returns text
language plpgsql immutable
as $$
declare
  result text := webhook;
  part text;
begin
  for place in 1..pg_catalog.cardinality(columns) loop
    part := record ->> columns[place];
    result := result || case place when 1 then ':' else ',' end || part;
  end loop;
  return case when pg_catalog.length(result) > 400 then webhook || ':' || pg_catalog.md5(result) else result end;
end
$$;
comment on function rowhouse.call_key(text, jsonb, text[]) is
  'Key of the calls about a row: rows with the same values in these columns have the same. Null if a value is null.';

create function rowhouse.key_columns(given jsonb) returns text[]
language plpgsql immutable
as $$
begin
  if pg_catalog.jsonb_typeof(given) = 'array' then
    return array(select pg_catalog.jsonb_array_elements_text(given));
  end if;
  return array[given #>> '{}'];
end
$$;
comment on function rowhouse.key_columns(jsonb) is 'The columns of a key: one name, or an array of them.';

create function rowhouse.webhook() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
-- Old and new rows are joined by their places: with a plan for few rows, many would take long.
set enable_nestloop = off set jit = off
as $$
#variable_conflict use_column
declare
  -- Each statement of a user pays for what is evaluated here: checks are left out where there is nothing to check.
  target constant text := tg_argv[0];
  target_host constant text := case
    when target ~ '^https?://[a-z0-9.-]+(?::\d{1,5})?/[!-~]*$' then pg_catalog.split_part(target, '/', 3)
    else rowhouse.call_host(target)
  end;
  options constant jsonb := coalesce(nullif(tg_argv[1], ''), '{}');
  webhook_name constant text := tg_table_schema || '.' || tg_table_name || '.' || coalesce(options ->> 'name', tg_name);
  key_columns constant text[] := case when options ? 'key' then rowhouse.key_columns(options -> 'key') end;
  target_headers constant jsonb := case
    when options ? 'headers' then rowhouse.json_headers(options -> 'headers')
    else '{"Content-Type": "application/json"}'
  end;
  milliseconds constant integer := case
    when options ? 'timeout_ms' then rowhouse.check_call_timeout((options ->> 'timeout_ms')::integer)
    else 10000
  end;
  call_depth constant integer := rowhouse.call_depth();
  refusal constant text := case when call_depth > 1 then rowhouse.depth_refusal(call_depth) end;
  call_position constant pg_lsn := pg_catalog.pg_current_wal_insert_lsn();
  changed_field constant text := case tg_op when 'DELETE' then 'old_record' else 'record' end;
  -- The first two rows: most statements change one, and take a shorter way.
  records jsonb[];
  old_records jsonb[];
  is_met boolean;
  payload text;
  -- What is the same in the payload of all rows.
  shared jsonb;
  -- Where a trigger keeps an updated row out of another partition, there are fewer new rows than old ones.
  is_paired boolean := true;
  -- Of the rows that meet the condition; null without one.
  places bigint[];
  calls bigint;
  bytes bigint;
  largest bigint;
  is_counted boolean;
begin
  if tg_level <> 'STATEMENT' or tg_when <> 'AFTER' then
    raise invalid_parameter_value using
      message = pg_catalog.format('trigger %s: rowhouse.webhook() must be called after statements, for each statement', tg_name),
      hint = 'rowhouse webhook add prints such a trigger.';
  end if;

  -- Casts of others are rare, and found by their numbers: they are checked before a row becomes JSON. Here and below, names of
  -- columns precede others, hence `c.*`, and the name of the function.
  if tg_op = 'UPDATE' then
    if exists (select from pg_catalog.pg_cast where oid >= 16384 and castfunc <> 0) then
      is_met := rowhouse.refuse_foreign_casts(tg_relid);
    end if;
    records := array(select pg_catalog.to_jsonb(c.*) from changed_rows as c limit 2);
    old_records := array(select pg_catalog.to_jsonb(o.*) from old_rows as o limit 2);
  else
    records := array(
      select pg_catalog.to_jsonb(c.*) from changed_rows as c
      where not exists (select from pg_catalog.pg_cast where oid >= 16384 and castfunc <> 0) or rowhouse.refuse_foreign_casts(webhook.tg_relid)
      limit 2
    );
  end if;
  if records = '{}' then
    return null;
  end if;

  if pg_catalog.cardinality(records) = 1 and (old_records is null or pg_catalog.cardinality(old_records) = 1) then
    if options ? 'when' then
      -- Only the condition is planned for each statement.
      execute pg_catalog.format(
        E'select true from %s where (%s\n)',
        case tg_op
          when 'UPDATE' then 'changed_rows as new, old_rows as old'
          when 'DELETE' then 'changed_rows as old'
          else 'changed_rows as new'
        end,
        options ->> 'when'
      )
      into is_met;
      if is_met is null then
        return null;
      end if;
    end if;
    payload := pg_catalog.jsonb_build_object(
      'type', tg_op, 'table', tg_table_name, 'schema', tg_table_schema,
      'record', case when tg_op <> 'DELETE' then records[1] end,
      'old_record', case tg_op when 'DELETE' then records[1] when 'UPDATE' then old_records[1] end,
      'position', call_position, 'at', pg_catalog.now()
    );
    if pg_catalog.octet_length(payload) > 16777216 then
      perform rowhouse.refuse_call_size(pg_catalog.octet_length(payload));
    end if;
    insert into rowhouse.calls (
      webhook, key, method, url, host, headers, body, timeout_ms, secret_name, depth, retries, position, created_by,
      state, last_error, finished_at
    )
    values (
      webhook_name, case when key_columns is not null then rowhouse.call_key(webhook_name, records[1], key_columns) end,
      'POST', target, target_host, target_headers, payload,
      milliseconds, options ->> 'secret', call_depth, true, call_position, rowhouse.session_role(),
      case when refusal is null then 'waiting' else 'dead' end, refusal, case when refusal is not null then pg_catalog.clock_timestamp() end
    );
    is_counted := rowhouse.count_calls(1, pg_catalog.octet_length(payload));
    return null;
  end if;

  shared := pg_catalog.jsonb_build_object(
    'type', tg_op, 'table', tg_table_name, 'schema', tg_table_schema, 'record', null, 'old_record', null,
    'position', call_position, 'at', pg_catalog.now()
  );
  if tg_op = 'UPDATE' then
    is_paired := (select pg_catalog.count(*) from old_rows) = (select pg_catalog.count(*) from changed_rows);
  end if;

  if options ? 'when' then
    execute pg_catalog.format(
      E'select array(select %1$I.rowhouse_place from %2$s where (%3$s\n) limit rowhouse.most_calls() + 1)',
      case tg_op when 'DELETE' then 'old' else 'new' end,
      case tg_op
        when 'UPDATE' then
          '(select *, pg_catalog.row_number() over () as rowhouse_place from changed_rows) as new
           left join (select *, pg_catalog.row_number() over () as rowhouse_place from old_rows) as old
             on $1 and old.rowhouse_place = new.rowhouse_place'
        when 'DELETE' then '(select *, pg_catalog.row_number() over () as rowhouse_place from changed_rows) as old'
        else '(select *, pg_catalog.row_number() over () as rowhouse_place from changed_rows) as new'
      end,
      options ->> 'when'
    )
    into places
    using is_paired;
    if places = '{}' then
      return null;
    end if;
  end if;

  if tg_op = 'UPDATE' then
    with added as (
      insert into rowhouse.calls (
        webhook, key, method, url, host, headers, body, timeout_ms, secret_name, depth, retries, position, created_by,
        state, last_error, finished_at
      )
      select webhook_name, case when key_columns is not null then rowhouse.call_key(webhook_name, pg_catalog.to_jsonb(new.whole), key_columns) end,
        'POST', target, target_host, target_headers, (shared || pg_catalog.jsonb_build_object('record', new.whole, 'old_record', old.whole))::text,
        milliseconds, options ->> 'secret', call_depth, true, call_position, rowhouse.session_role(),
        case when refusal is null then 'waiting' else 'dead' end, refusal, case when refusal is not null then pg_catalog.clock_timestamp() end
      from (select pg_catalog.row_number() over () as place, coalesce(c.*) as whole from changed_rows as c) as new
      left join (select pg_catalog.row_number() over () as place, coalesce(o.*) as whole from old_rows as o) as old
        on is_paired and old.place = new.place
      where places is null or new.place in (select pg_catalog.unnest(places))
      -- More fail.
      limit rowhouse.most_calls() + 1
      returning pg_catalog.octet_length(body) as size
    )
    select pg_catalog.count(*), pg_catalog.sum(size), pg_catalog.max(size) into calls, bytes, largest from added;
  else
    with added as (
      insert into rowhouse.calls (
        webhook, key, method, url, host, headers, body, timeout_ms, secret_name, depth, retries, position, created_by,
        state, last_error, finished_at
      )
      select webhook_name, case when key_columns is not null then rowhouse.call_key(webhook_name, pg_catalog.to_jsonb(whole), key_columns) end,
        'POST', target, target_host, target_headers, (shared || pg_catalog.jsonb_build_object(changed_field, whole))::text,
        milliseconds, options ->> 'secret', call_depth, true, call_position, rowhouse.session_role(),
        case when refusal is null then 'waiting' else 'dead' end, refusal, case when refusal is not null then pg_catalog.clock_timestamp() end
      from (select pg_catalog.row_number() over () as place, coalesce(c.*) as whole from changed_rows as c) as changed
      where places is null or place in (select pg_catalog.unnest(places))
      -- More fail.
      limit rowhouse.most_calls() + 1
      returning pg_catalog.octet_length(body) as size
    )
    select pg_catalog.count(*), pg_catalog.sum(size), pg_catalog.max(size) into calls, bytes, largest from added;
  end if;

  if calls > 0 then
    if largest > 16777216 then
      perform rowhouse.refuse_call_size(largest);
    end if;
    is_counted := rowhouse.count_calls(calls, bytes);
  end if;
  return null;
end
$$;
comment on function rowhouse.webhook() is
  E'Trigger of webhooks\n\nIts arguments are the URL and an object of options. It evaluates the condition among them with the rights of its owner: a role that may execute it has these rights.';
-- The trigger of Supabase's database webhooks. Where its schema exists, it is kept.

do $migration$
declare
  reader name;
begin
  if to_regprocedure('supabase_functions.http_request()') is not null then
    return;
  end if;
  create schema if not exists supabase_functions;
  comment on schema supabase_functions is 'The trigger of Supabase''s database webhooks. Not exposed at the REST API by default.';

  create table if not exists supabase_functions.migrations (
    version text constraint migrations_pkey primary key,
    inserted_at timestamptz not null default now()
  );
  comment on table supabase_functions.migrations is 'Versions of Supabase''s schema, which dumps of its projects contain.';
  comment on column supabase_functions.migrations.version is 'The version.';
  comment on column supabase_functions.migrations.inserted_at is 'When it was applied.';
  create table if not exists supabase_functions.hooks (
    id bigserial constraint hooks_pkey primary key,
    hook_table_id integer not null,
    hook_name text not null,
    created_at timestamptz not null default now(),
    request_id bigint
  );
  comment on table supabase_functions.hooks is 'Where Supabase records webhooks. This server records them in rowhouse.calls.';
  comment on column supabase_functions.hooks.id is 'Generated.';
  comment on column supabase_functions.hooks.hook_table_id is 'OID of the table.';
  comment on column supabase_functions.hooks.hook_name is 'Name of the trigger.';
  comment on column supabase_functions.hooks.created_at is 'When it was called.';
  comment on column supabase_functions.hooks.request_id is 'The request.';
  revoke all on supabase_functions.migrations, supabase_functions.hooks from public, anon, authenticated;
  grant select on supabase_functions.migrations, supabase_functions.hooks to service_role;

  create function supabase_functions.http_request() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
  declare
    url constant text := nullif(tg_argv[0], 'null');
    method constant text := nullif(tg_argv[1], 'null');
    headers constant jsonb := coalesce(nullif(tg_argv[2], 'null'), '{"Content-Type": "application/json"}');
    params constant jsonb := coalesce(nullif(tg_argv[3], 'null'), '{}');
    timeout_ms constant integer := coalesce(nullif(tg_argv[4], 'null'), '1000');
  begin
    if url is null then
      raise exception 'url argument is missing';
    end if;
    if method is null then
      raise exception 'method argument is missing';
    end if;
    if method not in ('GET', 'POST') then
      raise exception 'method argument % is invalid', method;
    end if;
    if method = 'POST' then
      perform rowhouse.refuse_foreign_casts(tg_relid);
    end if;
    perform rowhouse.add_call(
      pg_catalog.concat_ws('.', tg_table_schema, tg_table_name, tg_name),
      method,
      rowhouse.url_with_params(url, rowhouse.encode_params(params)),
      case method when 'POST' then rowhouse.json_headers(headers) else headers end,
      case method
        when 'POST' then pg_catalog.jsonb_build_object(
          'old_record', old, 'record', new, 'type', tg_op, 'table', tg_table_name, 'schema', tg_table_schema
        )
      end,
      timeout_ms,
      true
    );
    -- Supabase's returns the new row, which before a deletion would cancel it.
    if tg_op = 'DELETE' then
      return old;
    end if;
    return new;
  end
  $$;
  comment on function supabase_functions.http_request() is
    'Trigger of webhooks: its arguments are URL, method, headers, parameters and timeout in milliseconds.';
  for reader in
    select rolname from pg_catalog.pg_roles where rolname in ('anon', 'authenticated', 'service_role', 'postgres')
  loop
    execute format('grant usage on schema supabase_functions to %I', reader);
    execute format('grant execute on function supabase_functions.http_request() to %I', reader);
  end loop;
exception
  when insufficient_privilege then
    raise notice 'the schema supabase_functions belongs to another role and is left as it is';
end
$migration$;
call rowhouse.end_private_functions();
