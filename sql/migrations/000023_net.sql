-- Only with the services: webhooks
-- The functions of the extension pg_net. Names and signatures are theirs. Where the extension is installed, they are kept.
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

create function rowhouse.add_net_call(
  method text, url text, params jsonb, headers jsonb, body jsonb, timeout_milliseconds integer
)
returns bigint
language plpgsql
as $$
begin
  if url is null or timeout_milliseconds is null then
    raise not_null_violation using message = pg_catalog.format(
      'null value in column "%s" of relation "http_request_queue" violates not-null constraint',
      case when url is null then 'url' else 'timeout_milliseconds' end
    );
  end if;
  return rowhouse.add_call(
    null, method, rowhouse.url_with_params(url, rowhouse.encode_params(coalesce(params, '{}'))), headers, body,
    timeout_milliseconds, false
  );
end
$$;
comment on function rowhouse.add_net_call(text, text, jsonb, jsonb, jsonb, integer) is 'Adds a call of the schema `net`.';

do $migration$
declare
  reader name;
begin
  if exists (select from pg_catalog.pg_extension where extname = 'pg_net') then
    return;
  end if;
  if to_regnamespace('net') is not null then
    raise notice 'the schema net exists already and is left as it is: the functions of pg_net are missing there';
    return;
  end if;
  create schema net;
  comment on schema net is 'The functions of the extension pg_net, which this server provides. Not exposed at the REST API by default.';

  -- Copies of what rowhouse.calls has: after a crash of the database they are gone, as those of the extension.
  create unlogged table net._http_response (
    id bigint,
    status_code integer,
    content_type text,
    headers jsonb,
    content text,
    timed_out boolean,
    error_msg text,
    created timestamptz not null default clock_timestamp()
  );
  create index _http_response_created_idx on net._http_response (created);
  create index _http_response_id_idx on net._http_response (id);
  comment on table net._http_response is 'Responses to the requests of this schema, for six hours.';
  comment on column net._http_response.id is 'What `net.http_post` and others have returned.';
  comment on column net._http_response.status_code is 'Status of the response.';
  comment on column net._http_response.content_type is 'Media type of the response.';
  comment on column net._http_response.headers is 'Headers of the response.';
  comment on column net._http_response.content is 'Body of the response.';
  comment on column net._http_response.timed_out is 'Whether the time was over before the response came.';
  comment on column net._http_response.error_msg is 'Why there is no response.';
  comment on column net._http_response.created is 'When the response came.';
  revoke all on net._http_response from public, anon, authenticated;

  create view net.http_request_queue as
    select request_id as id, method, url, headers, pg_catalog.convert_to(body, 'UTF8') as body, timeout_ms as timeout_milliseconds
    from rowhouse.calls where request_id is not null and state in ('waiting', 'sending');
  comment on view net.http_request_queue is 'Requests that are not sent yet.';
  revoke all on net.http_request_queue from public, anon, authenticated;

  create type net.request_status as enum ('PENDING', 'SUCCESS', 'ERROR');
  create type net.http_response as (status_code integer, headers jsonb, body text);
  create type net.http_response_result as (status net.request_status, message text, response net.http_response);

  create function net._urlencode_string(string varchar) returns text
  language sql immutable set search_path = pg_catalog, pg_temp
  as $$ select rowhouse.encode_url(string) $$;
  create function net._encode_url_with_params_array(url text, params_array text[]) returns text
  language sql immutable set search_path = pg_catalog, pg_temp
  as $$ select rowhouse.url_with_params(url, params_array) $$;

  create function net.http_get(
    url text, params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds integer default 5000
  )
  returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select rowhouse.add_net_call('GET', url, params, headers, null, timeout_milliseconds) $$;
  comment on function net.http_get(text, jsonb, jsonb, integer) is
    'Sends a GET request once the transaction commits. Returns the id of its response in net._http_response.';

  create function net.http_post(
    url text, body jsonb default '{}', params jsonb default '{}', headers jsonb default '{"Content-Type": "application/json"}',
    timeout_milliseconds integer default 5000
  )
  returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
  begin
    headers := rowhouse.json_headers(headers);
    if exists (
      select from pg_catalog.jsonb_each_text(headers) as header (name, value)
      where pg_catalog.lower(name) = 'content-type' and value <> 'application/json'
    ) then
      raise exception 'Content-Type header must be "application/json"';
    end if;
    return rowhouse.add_net_call('POST', url, params, headers, body, timeout_milliseconds);
  end
  $$;
  comment on function net.http_post(text, jsonb, jsonb, jsonb, integer) is
    'Sends a POST request once the transaction commits. Returns the id of its response in net._http_response.';

  create function net.http_delete(
    url text, params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds integer default 5000,
    body jsonb default null
  )
  returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select rowhouse.add_net_call('DELETE', url, params, headers, body, timeout_milliseconds) $$;
  comment on function net.http_delete(text, jsonb, jsonb, integer, jsonb) is
    'Sends a DELETE request once the transaction commits. Returns the id of its response in net._http_response.';

  create function net._await_response(request_id bigint) returns boolean
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  begin
    -- The extension waits without end.
    for attempt in 1..1200 loop
      if exists (select from net._http_response where id = request_id) then
        return true;
      end if;
      perform pg_catalog.pg_sleep(0.05);
    end loop;
    return false;
  end
  $$;
  create function net._http_collect_response(request_id bigint, async boolean default true) returns net.http_response_result
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  declare
    found_response net._http_response;
  begin
    if not async then
      perform net._await_response(request_id);
    end if;
    select * into found_response from net._http_response where id = request_id;
    if found_response.id is null or found_response.error_msg is not null then
      return ('ERROR', coalesce(found_response.error_msg, 'request matching request_id not found'), null)::net.http_response_result;
    end if;
    return (
      'SUCCESS', 'ok', (found_response.status_code, found_response.headers, found_response.content)::net.http_response
    )::net.http_response_result;
  end
  $$;
  create function net.http_collect_response(request_id bigint, async boolean default true) returns net.http_response_result
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  begin
    raise notice 'The net.http_collect_response function is deprecated.';
    return net._http_collect_response(request_id, async);
  end
  $$;
  comment on function net._urlencode_string(varchar) is 'Encodes text for the query of a URL.';
  comment on function net._encode_url_with_params_array(text, text[]) is 'Appends encoded parameters to a URL.';
  comment on function net._await_response(bigint) is 'Waits for a response, at most a minute. Returns whether it came.';
  comment on function net._http_collect_response(bigint, boolean) is 'A response, and waits for it if it is not async.';
  comment on function net.http_collect_response(bigint, boolean) is 'Deprecated: a response. Read net._http_response instead.';

  -- The extension has a worker process; here, nothing has to be restarted.
  create function net.worker_restart() returns boolean language sql as $$ select true $$;
  create function net.wait_until_running() returns void language sql as $$ $$;
  create function net.check_worker_is_up() returns void language sql as $$ $$;
  create function net.wake() returns void
  language sql set search_path = pg_catalog, pg_temp as $$ select pg_catalog.pg_notify('rowhouse_calls', '') $$;
  comment on function net.worker_restart() is 'Does nothing: for programs that call it.';
  comment on function net.wait_until_running() is 'Does nothing: for programs that call it.';
  comment on function net.check_worker_is_up() is 'Does nothing: for programs that call it.';
  comment on function net.wake() is 'Makes the server look for requests to send.';

  for reader in
    select rolname from pg_catalog.pg_roles where rolname in ('anon', 'authenticated', 'service_role', 'postgres')
  loop
    execute format('grant usage on schema net to %I', reader);
    execute format('grant execute on all functions in schema net to %I', reader);
    if reader in ('service_role', 'postgres') then
      execute format('grant select, delete on net._http_response to %I', reader);
      execute format('grant select on net.http_request_queue to %I', reader);
    end if;
  end loop;
end
$migration$;
call rowhouse.end_private_functions();
