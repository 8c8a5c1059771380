-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The OAuth 2.1 server: applications of others (clients), to which people grant access to their accounts. These functions decide
-- what a client gets; they lock the account first, and return {"refused": <reason>} when nothing was granted.
--
-- A session that a client gets has its id in sessions.oauth_client_id. It reads and writes data as its person, but is no way to
-- change the account: it never has a cookie, approves nothing, and ends when its grant, its client or its person's account ends.

-- Tables of GoTrue, whose types are in 000002_accounts.sql

create table if not exists auth.oauth_clients (
  id uuid not null constraint oauth_clients_pkey primary key
);
alter table auth.oauth_clients
  add column if not exists client_secret_hash text,
  add column if not exists registration_type auth.oauth_registration_type not null,
  add column if not exists redirect_uris text not null,
  add column if not exists grant_types text not null,
  add column if not exists client_name text
    constraint oauth_clients_client_name_length check (char_length(client_name) <= 1024),
  add column if not exists client_uri text
    constraint oauth_clients_client_uri_length check (char_length(client_uri) <= 2048),
  add column if not exists logo_uri text
    constraint oauth_clients_logo_uri_length check (char_length(logo_uri) <= 2048),
  add column if not exists created_at timestamptz not null default now(),
  add column if not exists updated_at timestamptz not null default now(),
  add column if not exists deleted_at timestamptz,
  add column if not exists client_type auth.oauth_client_type not null default 'confidential',
  add column if not exists token_endpoint_auth_method text
    constraint oauth_clients_token_endpoint_auth_method_check
    check (token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post', 'none'));
-- In earlier versions of GoTrue, every client had a secret, and an id beside its key.
alter table auth.oauth_clients alter column client_secret_hash drop not null;
do $$
begin
  if exists (
    select from pg_attribute where attrelid = 'auth.oauth_clients'::regclass and attname = 'client_id' and not attisdropped
  ) then
    alter table auth.oauth_clients drop column client_id;
  end if;
end
$$;
update auth.oauth_clients
set token_endpoint_auth_method = case client_type when 'public' then 'none' else 'client_secret_basic' end
where token_endpoint_auth_method is null;
alter table auth.oauth_clients alter column token_endpoint_auth_method set not null;
create index if not exists oauth_clients_deleted_at_idx on auth.oauth_clients (deleted_at);
create index if not exists oauth_clients_created_at_idx on auth.oauth_clients (created_at desc);
comment on table auth.oauth_clients is 'Clients of the OAuth server: applications that people can grant access to their accounts.';
comment on column auth.oauth_clients.id is 'The client id.';
comment on column auth.oauth_clients.client_secret_hash is 'SHA-256 of the secret, as base64url; null for a public client.';
comment on column auth.oauth_clients.registration_type is 'Whether the client has registered itself.';
comment on column auth.oauth_clients.redirect_uris is 'URIs that people return to, separated by commas.';
comment on column auth.oauth_clients.grant_types is 'authorization_code, refresh_token, separated by commas.';
comment on column auth.oauth_clients.client_name is 'Name that people see. An application chooses it itself.';
comment on column auth.oauth_clients.client_uri is 'Its page.';
comment on column auth.oauth_clients.logo_uri is 'Its image.';
comment on column auth.oauth_clients.created_at is 'When it was registered.';
comment on column auth.oauth_clients.updated_at is 'When it was last changed.';
comment on column auth.oauth_clients.deleted_at is 'When it was deleted; null for one that exists.';
comment on column auth.oauth_clients.client_type is 'Whether the client has a secret.';
comment on column auth.oauth_clients.token_endpoint_auth_method is 'How it sends its secret; none for a public client.';

create table if not exists auth.oauth_authorizations (
  id uuid not null constraint oauth_authorizations_pkey primary key,
  authorization_id text not null constraint oauth_authorizations_authorization_id_key unique,
  client_id uuid not null
    constraint oauth_authorizations_client_id_fkey references auth.oauth_clients on delete cascade,
  user_id uuid constraint oauth_authorizations_user_id_fkey references auth.users on delete cascade,
  redirect_uri text not null
    constraint oauth_authorizations_redirect_uri_length check (char_length(redirect_uri) <= 2048),
  scope text not null constraint oauth_authorizations_scope_length check (char_length(scope) <= 4096),
  state text constraint oauth_authorizations_state_length check (char_length(state) <= 4096),
  resource text constraint oauth_authorizations_resource_length check (char_length(resource) <= 2048),
  code_challenge text constraint oauth_authorizations_code_challenge_length check (char_length(code_challenge) <= 128),
  code_challenge_method auth.code_challenge_method,
  response_type auth.oauth_response_type not null default 'code',
  status auth.oauth_authorization_status not null default 'pending',
  authorization_code text constraint oauth_authorizations_authorization_code_key unique
    constraint oauth_authorizations_authorization_code_length check (char_length(authorization_code) <= 255),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default (now() + interval '3 minutes'),
  approved_at timestamptz,
  constraint oauth_authorizations_expires_at_future check (expires_at > created_at)
);
alter table auth.oauth_authorizations
  add column if not exists nonce text constraint oauth_authorizations_nonce_length check (char_length(nonce) <= 255),
  -- Not columns of GoTrue.
  add column if not exists session_id uuid
    constraint oauth_authorizations_session_id_fkey references auth.sessions on delete cascade,
  add column if not exists used_at timestamptz,
  add column if not exists issued_session_id uuid;
create index if not exists oauth_auth_pending_exp_idx on auth.oauth_authorizations (expires_at) where status = 'pending';
create index if not exists oauth_authorizations_expires_at_idx on auth.oauth_authorizations (expires_at);
create index if not exists oauth_authorizations_client_id_idx on auth.oauth_authorizations (client_id);
create index if not exists oauth_authorizations_user_id_idx on auth.oauth_authorizations (user_id);
create index if not exists oauth_authorizations_session_id_idx on auth.oauth_authorizations (session_id);
comment on table auth.oauth_authorizations is 'Requests of clients for access to an account, until their codes expire.';
comment on column auth.oauth_authorizations.id is 'Identifies the row.';
comment on column auth.oauth_authorizations.authorization_id is 'Random name of the request for the page that asks the person.';
comment on column auth.oauth_authorizations.client_id is 'The client that asks.';
comment on column auth.oauth_authorizations.user_id is 'The person who first opened the request: only this one can answer it.';
comment on column auth.oauth_authorizations.redirect_uri is 'Where the person returns to.';
comment on column auth.oauth_authorizations.scope is 'What the client asks for, separated by spaces.';
comment on column auth.oauth_authorizations.state is 'A text of the client, which it gets back.';
comment on column auth.oauth_authorizations.resource is 'The server that the tokens are for, as the client says (RFC 8707).';
comment on column auth.oauth_authorizations.code_challenge is 'Challenge of PKCE.';
comment on column auth.oauth_authorizations.code_challenge_method is 'Its method.';
comment on column auth.oauth_authorizations.response_type is 'Always code.';
comment on column auth.oauth_authorizations.status is 'The state of the request.';
comment on column auth.oauth_authorizations.authorization_code is 'SHA-256 of the code that the client gets, as base64url.';
comment on column auth.oauth_authorizations.created_at is 'When the client asked.';
comment on column auth.oauth_authorizations.expires_at is 'Neither the request nor its code is accepted after this time.';
comment on column auth.oauth_authorizations.approved_at is 'When the person agreed.';
comment on column auth.oauth_authorizations.nonce is 'A text of the client for the ID token.';
comment on column auth.oauth_authorizations.session_id is 'The session that approved the request. The code ends with it.';
comment on column auth.oauth_authorizations.used_at is 'When the code was exchanged. It is kept until it expires, to detect its reuse.';
comment on column auth.oauth_authorizations.issued_session_id is 'The session that the client got for the code.';

create table if not exists auth.oauth_consents (
  id uuid not null constraint oauth_consents_pkey primary key,
  user_id uuid not null constraint oauth_consents_user_id_fkey references auth.users on delete cascade,
  client_id uuid not null constraint oauth_consents_client_id_fkey references auth.oauth_clients on delete cascade,
  scopes text not null
    constraint oauth_consents_scopes_length check (char_length(scopes) <= 2048)
    constraint oauth_consents_scopes_not_empty check (char_length(trim(scopes)) > 0),
  granted_at timestamptz not null default now(),
  revoked_at timestamptz,
  constraint oauth_consents_user_client_unique unique (user_id, client_id),
  constraint oauth_consents_revoked_after_granted check (revoked_at is null or revoked_at >= granted_at)
);
create index if not exists oauth_consents_active_user_client_idx
  on auth.oauth_consents (user_id, client_id) where revoked_at is null;
create index if not exists oauth_consents_user_order_idx on auth.oauth_consents (user_id, granted_at desc);
create index if not exists oauth_consents_active_client_idx on auth.oauth_consents (client_id) where revoked_at is null;
create index if not exists oauth_consents_client_id_idx on auth.oauth_consents (client_id);
comment on table auth.oauth_consents is 'Grants of people to clients.';
comment on column auth.oauth_consents.id is 'Identifies the row.';
comment on column auth.oauth_consents.user_id is 'The person.';
comment on column auth.oauth_consents.client_id is 'The client.';
comment on column auth.oauth_consents.scopes is 'What was granted, separated by spaces.';
comment on column auth.oauth_consents.granted_at is 'When it was granted.';
comment on column auth.oauth_consents.revoked_at is 'When it was revoked; null for a grant that is in force.';

do $$
declare
  name text;
begin
  foreach name in array array['oauth_clients', 'oauth_authorizations', 'oauth_consents']
  loop
    execute format('alter table auth.%I enable row level security', name);
    execute format('grant select, insert, update, delete on auth.%I to supabase_auth_admin', name);
    execute format('create policy service on auth.%I to supabase_auth_admin using (true) with check (true)', name);
    execute format('comment on policy service on auth.%I is %L', name, 'The service of /auth/v1 reads and writes all rows.');
  end loop;
end
$$;

-- Sessions of clients that were copied without their clients cannot be refreshed, and cannot be revoked.
delete from auth.sessions
where oauth_client_id is not null
  and not exists (select from auth.oauth_clients where oauth_clients.id = sessions.oauth_client_id);
do $$
begin
  if not exists (
    select from pg_constraint where conrelid = 'auth.sessions'::regclass and conname = 'sessions_oauth_client_id_fkey'
  ) then
    alter table auth.sessions
      add constraint sessions_oauth_client_id_fkey
      foreign key (oauth_client_id) references auth.oauth_clients on delete cascade;
  end if;
end
$$;
-- A cookie has neither a client nor scopes in its claims, so that policies would take the client for its person.
alter table auth.sessions
  add constraint sessions_cookie_of_person check (id_hash is null or oauth_client_id is null);
comment on column auth.sessions.oauth_client_id is 'The client of the OAuth server that the session was granted to; null for one of the person.';
comment on column auth.sessions.scopes is 'What was granted to the client, separated by spaces.';

-- Sessions of clients

-- The client of a session never changes, so it is compared before the session is locked.
create function auth.refresh_session_of(
  client_id uuid, token text, successor text, reuse_interval interval, rotates boolean, timebox interval, inactivity interval,
  low_aal interval, single_per_user boolean, ip text, user_agent text
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  owner uuid;
begin
  select sessions.oauth_client_id into owner
  from auth.refresh_tokens join auth.sessions on sessions.id = refresh_tokens.session_id
  where refresh_tokens.token = $2;
  if found and owner is distinct from $1 then
    return json_build_object('refused', case
      when $1 is null then 'client_required' when owner is null then 'not_of_client' else 'other_client'
    end);
  end if;
  return auth.refresh_session($2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
end
$$;
comment on function auth.refresh_session_of(
  uuid, text, text, interval, boolean, interval, interval, interval, boolean, text, text
) is
  E'As auth.refresh_session, for a client of the OAuth server, or for no client if `client_id` is null. A token of another is refused and stays as it is.\n\nReasons: client_required, not_of_client, other_client.';

-- Ways into an account
--
-- An address that counts as confirmed without proof may have been registered by another person, who could then use the
-- account together with the owner of the address, once the owner signs in by a mail or at a provider. Grants are such a way,
-- since a client with one gets access without a question. Codes end with the session that approved them.

create function auth.remove_unproven_access(account_id uuid, identity_id uuid, flow_id uuid) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  update auth.users set
    encrypted_password = null, phone = null, phone_confirmed_at = null,
    confirmation_token = '', recovery_token = '', reauthentication_token = '',
    email_change = '', email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
    phone_change = '', phone_change_token = '', email_unproven = false, phone_unproven = false,
    password_unproven = false, updated_at = now()
  where users.id = $1;
  delete from auth.identities where identities.user_id = $1 and identities.id is distinct from $2;
  delete from auth.sessions where sessions.user_id = $1;
  delete from auth.mfa_factors where mfa_factors.user_id = $1;
  delete from auth.mfa_recovery_codes where mfa_recovery_codes.user_id = $1;
  delete from auth.webauthn_credentials where webauthn_credentials.user_id = $1;
  delete from auth.webauthn_challenges where webauthn_challenges.user_id = $1;
  delete from auth.oauth_consents where oauth_consents.user_id = $1;
  delete from auth.oauth_authorizations where oauth_authorizations.user_id = $1;
  delete from auth.one_time_tokens where one_time_tokens.user_id = $1;
  delete from auth.flow_state
  where (flow_state.linking_target_id = $1 or flow_state.user_id = $1 and flow_state.auth_code_issued_at is not null)
    and flow_state.id is distinct from $3
$$;
comment on function auth.remove_unproven_access(uuid, uuid, uuid) is
  'Removes all ways into an account, when someone else than its creator may have proved to own its address, apart from one identity and the flow of the request, if any: password, phone number, sessions, factors, passkeys, grants to clients, codes and pending flows.';

-- Clients

create function auth.oauth_client_object(client auth.oauth_clients) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
    'client_id', $1.id,
    'client_type', $1.client_type,
    'redirect_uris', pg_catalog.string_to_array($1.redirect_uris, ','),
    'token_endpoint_auth_method', $1.token_endpoint_auth_method,
    'grant_types', pg_catalog.string_to_array($1.grant_types, ','),
    'response_types', '["code"]'::json,
    'client_name', nullif($1.client_name, ''),
    'client_uri', nullif($1.client_uri, ''),
    'logo_uri', nullif($1.logo_uri, ''),
    'registration_type', $1.registration_type,
    'created_at', auth.json_time($1.created_at),
    'updated_at', auth.json_time($1.updated_at)
  ))
$$;
comment on function auth.oauth_client_object(auth.oauth_clients) is 'A client as the API shows it, without its secret.';

create function auth.oauth_client_summary(client auth.oauth_clients) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
    'id', $1.id, 'name', nullif($1.client_name, ''), 'uri', nullif($1.client_uri, ''), 'logo_uri', nullif($1.logo_uri, '')
  ))
$$;
comment on function auth.oauth_client_summary(auth.oauth_clients) is 'A client as people see it who are asked to grant access.';

create function auth.add_oauth_client(client jsonb, actor text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  added auth.oauth_clients;
begin
  -- Clients that have registered themselves and were never granted anything. A few at a time, so that no request waits.
  delete from auth.oauth_clients where id in (
    select unused.id from auth.oauth_clients as unused
    where unused.registration_type = 'dynamic' and unused.created_at < now() - interval '7 days'
      and not exists (select from auth.oauth_consents where oauth_consents.client_id = unused.id)
      and not exists (select from auth.oauth_authorizations where oauth_authorizations.client_id = unused.id)
    order by unused.created_at
    limit 20 for update skip locked
  );
  insert into auth.oauth_clients (
    id, client_secret_hash, registration_type, client_type, token_endpoint_auth_method, redirect_uris, grant_types,
    client_name, client_uri, logo_uri
  )
  values (
    gen_random_uuid(), $1 ->> 'client_secret_hash', ($1 ->> 'registration_type')::auth.oauth_registration_type,
    ($1 ->> 'client_type')::auth.oauth_client_type, $1 ->> 'token_endpoint_auth_method', $1 ->> 'redirect_uris',
    $1 ->> 'grant_types', $1 ->> 'client_name', $1 ->> 'client_uri', $1 ->> 'logo_uri'
  )
  returning oauth_clients.* into added;
  perform auth.record_audit(
    auth.admin_account($2), 'oauth_client_created', 'team',
    jsonb_build_object('client_id', added.id, 'registration_type', added.registration_type), $3
  );
  return auth.oauth_client_object(added);
end
$$;
comment on function auth.add_oauth_client(jsonb, text, text) is
  E'Registers a client. Members: registration_type, client_type, token_endpoint_auth_method, client_secret_hash, redirect_uris and grant_types (separated by commas), client_name, client_uri, logo_uri. `actor` is the role of the administrator, or dynamic, for the audit log.\n\nDeletes some clients that have registered themselves a week ago or more and that no account has granted anything. Returns the client.';

create function auth.find_oauth_client(client_id uuid) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select json_build_object(
    'id', clients.id,
    'secret_hash', clients.client_secret_hash,
    'type', clients.client_type,
    'method', clients.token_endpoint_auth_method,
    'redirect_uris', string_to_array(clients.redirect_uris, ','),
    'grant_types', string_to_array(clients.grant_types, ','),
    'shown', auth.oauth_client_object(clients)
  )
  from auth.oauth_clients as clients where clients.id = $1 and clients.deleted_at is null
$$;
comment on function auth.find_oauth_client(uuid) is
  'A client, with what its requests are compared with: {id, secret_hash, type, method, redirect_uris, grant_types, shown}. No row for an unknown client.';

create function auth.list_oauth_clients(size bigint, skipped bigint)
returns table (clients json, total bigint)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select
    coalesce(
      (
        select json_agg(auth.oauth_client_object(listed) order by listed.created_at desc, listed.id)
        from (
          select oauth_clients.* from auth.oauth_clients where oauth_clients.deleted_at is null
          order by oauth_clients.created_at desc, oauth_clients.id
          limit $1 offset $2
        ) as listed
      ),
      '[]'
    ),
    (select count(*) from auth.oauth_clients where oauth_clients.deleted_at is null)
$$;
comment on function auth.list_oauth_clients(bigint, bigint) is 'A page of the clients, newest first, and the number of all.';

create function auth.update_oauth_client(client_id uuid, changes jsonb, actor text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  changed auth.oauth_clients;
begin
  select oauth_clients.* into changed from auth.oauth_clients
  where oauth_clients.id = $1 and oauth_clients.deleted_at is null for no key update;
  if not found then
    return '{"refused": "client_not_found"}';
  end if;
  if $2 ? 'token_endpoint_auth_method'
    and ($2 ->> 'token_endpoint_auth_method' = 'none') <> (changed.client_type = 'public')
  then
    return json_build_object('refused', 'wrong_method', 'type', changed.client_type);
  end if;
  update auth.oauth_clients set
    redirect_uris = coalesce($2 ->> 'redirect_uris', oauth_clients.redirect_uris),
    grant_types = coalesce($2 ->> 'grant_types', oauth_clients.grant_types),
    client_name = coalesce($2 ->> 'client_name', oauth_clients.client_name),
    client_uri = coalesce($2 ->> 'client_uri', oauth_clients.client_uri),
    logo_uri = coalesce($2 ->> 'logo_uri', oauth_clients.logo_uri),
    token_endpoint_auth_method = coalesce($2 ->> 'token_endpoint_auth_method', oauth_clients.token_endpoint_auth_method),
    updated_at = now()
  where oauth_clients.id = $1
  returning oauth_clients.* into changed;
  -- No code leads to a URI that was removed.
  delete from auth.oauth_authorizations
  where oauth_authorizations.client_id = $1 and oauth_authorizations.used_at is null
    and oauth_authorizations.redirect_uri <> all (string_to_array(changed.redirect_uris, ','));
  perform auth.record_audit(
    auth.admin_account($3), 'oauth_client_updated', 'team', jsonb_build_object('client_id', $1), $4
  );
  return auth.oauth_client_object(changed);
end
$$;
comment on function auth.update_oauth_client(uuid, jsonb, text, text) is
  E'Changes members of a client: see auth.add_oauth_client; those that are missing stay as they are. Requests for a URI that was removed end.\n\nReturns the client, or why it was refused: client_not_found, wrong_method.';

create function auth.change_oauth_secret(client_id uuid, secret_hash text, actor text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  changed auth.oauth_clients;
begin
  select oauth_clients.* into changed from auth.oauth_clients
  where oauth_clients.id = $1 and oauth_clients.deleted_at is null for no key update;
  if not found then
    return '{"refused": "client_not_found"}';
  end if;
  if changed.client_type = 'public' then
    return '{"refused": "public_client"}';
  end if;
  update auth.oauth_clients set client_secret_hash = $2, updated_at = now()
  where oauth_clients.id = $1
  returning oauth_clients.* into changed;
  perform auth.record_audit(
    auth.admin_account($3), 'oauth_client_secret_changed', 'team', jsonb_build_object('client_id', $1), $4
  );
  return auth.oauth_client_object(changed);
end
$$;
comment on function auth.change_oauth_secret(uuid, text, text, text) is
  E'Replaces the secret of a client.\n\nReturns the client, or why it was refused: client_not_found, public_client.';

-- Keeps the row, as GoTrue does, so that its id means nothing else later.
create function auth.delete_oauth_client(client_id uuid, actor text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  update auth.oauth_clients set deleted_at = now(), updated_at = now(), client_secret_hash = null
  where oauth_clients.id = $1 and oauth_clients.deleted_at is null;
  if not found then
    return '{"refused": "client_not_found"}';
  end if;
  delete from auth.oauth_authorizations where oauth_authorizations.client_id = $1;
  update auth.oauth_consents set revoked_at = greatest(now(), oauth_consents.granted_at)
  where oauth_consents.client_id = $1 and oauth_consents.revoked_at is null;
  delete from auth.sessions where sessions.oauth_client_id = $1;
  perform auth.record_audit(
    auth.admin_account($2), 'oauth_client_deleted', 'team', jsonb_build_object('client_id', $1), $3
  );
  return '{}';
end
$$;
comment on function auth.delete_oauth_client(uuid, text, text) is
  'Deletes a client. All of its grants, codes and sessions end.';

-- Requests of clients

create function auth.begin_oauth_authorization(request jsonb, lifetime interval) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  client auth.oauth_clients;
begin
  -- Expired ones are kept for a while to tell their users why they are refused. A few at a time, so that no request waits.
  delete from auth.oauth_authorizations where id in (
    select expired.id from auth.oauth_authorizations as expired where expired.expires_at < now() - interval '1 hour'
    limit 100 for update skip locked
  );
  -- The client may have been changed or deleted since the request was compared with it.
  select oauth_clients.* into client from auth.oauth_clients
  where oauth_clients.id = ($1 ->> 'client_id')::uuid for share;
  if client.id is null or client.deleted_at is not null
    or $1 ->> 'redirect_uri' <> all (string_to_array(client.redirect_uris, ','))
  then
    return '{"refused": "client_not_found"}';
  end if;
  insert into auth.oauth_authorizations (
    id, authorization_id, client_id, redirect_uri, scope, state, resource, code_challenge, code_challenge_method, nonce,
    created_at, expires_at
  )
  values (
    gen_random_uuid(), $1 ->> 'authorization_id', client.id, $1 ->> 'redirect_uri', $1 ->> 'scope', $1 ->> 'state',
    $1 ->> 'resource', $1 ->> 'code_challenge', ($1 ->> 'code_challenge_method')::auth.code_challenge_method,
    $1 ->> 'nonce', now(), now() + $2
  );
  return '{}';
end
$$;
comment on function auth.begin_oauth_authorization(jsonb, interval) is
  E'Stores the request of a client for access to an account, and deletes some that have expired.\n\nMembers: authorization_id, client_id, redirect_uri, scope, state, resource, code_challenge, code_challenge_method, nonce. Refused: client_not_found.';

-- The first person who opens a request is the only one who can answer it: the lock decides between two.
create function auth.find_oauth_request(authorization_id text, user_id uuid, session_id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  request auth.oauth_authorizations;
begin
  select users.* into account from auth.users where users.id = $2 for no key update;
  if account.id is null or auth.is_banned(account) or not exists (
    select from auth.sessions
    where sessions.id = $3 and sessions.user_id = $2 and sessions.oauth_client_id is null and not auth.has_ended(sessions)
  ) then
    return '{"refused": "session_not_found"}';
  end if;
  select oauth_authorizations.* into request from auth.oauth_authorizations
  where oauth_authorizations.authorization_id = $1 for no key update;
  if not found or request.user_id is distinct from $2 and request.user_id is not null then
    return '{"refused": "authorization_not_found"}';
  end if;
  if request.expires_at <= now() then
    update auth.oauth_authorizations set status = 'expired'
    where oauth_authorizations.id = request.id and oauth_authorizations.status = 'pending';
    return '{"refused": "authorization_not_found"}';
  end if;
  if request.status <> 'pending' then
    return '{"refused": "not_pending"}';
  end if;
  return row_to_json(request);
end
$$;
comment on function auth.find_oauth_request(text, uuid, uuid) is
  E'Locks the request of a client that a person answers, with a session that is not one of a client.\n\nReturns the row, or why it was refused: session_not_found, authorization_not_found, not_pending.';

create function auth.approve_oauth_request(request auth.oauth_authorizations, session_id uuid, code_hash text) returns json
language sql set search_path = pg_catalog, pg_temp
as $$
  update auth.oauth_authorizations
  set status = 'approved', approved_at = now(), authorization_code = $3, session_id = $2
  where oauth_authorizations.id = $1.id
  returning json_build_object(
    'approved', true, 'redirect_uri', oauth_authorizations.redirect_uri, 'state', oauth_authorizations.state
  )
$$;
comment on function auth.approve_oauth_request(auth.oauth_authorizations, uuid, text) is
  'Approves a request: the client gets the code with this hash. Returns {approved, redirect_uri, state}.';

create function auth.open_oauth_authorization(authorization_id text, user_id uuid, session_id uuid, code_hash text)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  found_request constant json := auth.find_oauth_request($1, $2, $3);
  request auth.oauth_authorizations;
begin
  if found_request ->> 'refused' is not null then
    return found_request;
  end if;
  request := json_populate_record(null::auth.oauth_authorizations, found_request);
  if request.user_id is null then
    update auth.oauth_authorizations set user_id = $2 where oauth_authorizations.id = request.id;
    -- What was granted before needs no further question, but the second factor, which every answer needs. Any program of a
    -- device can pretend to be an app without a secret, whose URI is not one of the web (RFC 8252, section 8.6).
    if not auth.lacks_second_factor($2, $3) and exists (
      select from auth.oauth_consents join auth.oauth_clients on oauth_clients.id = oauth_consents.client_id
      where oauth_consents.user_id = $2 and oauth_consents.client_id = request.client_id
        and oauth_consents.revoked_at is null
        and string_to_array(oauth_consents.scopes, ' ') @> string_to_array(request.scope, ' ')
        and (oauth_clients.client_type = 'confidential' or request.redirect_uri ilike 'https://%')
    ) then
      return auth.approve_oauth_request(request, $3, $4);
    end if;
  end if;
  return (
    select json_build_object(
      'authorization_id', request.authorization_id,
      'redirect_uri', request.redirect_uri,
      'client', auth.oauth_client_summary(clients),
      'scope', request.scope
    )
    from auth.oauth_clients as clients where clients.id = request.client_id
  );
end
$$;
comment on function auth.open_oauth_authorization(text, uuid, uuid, text) is
  E'Opens the request of a client for a person, who is the only one to answer it from then on. What was granted before is approved at once, with a code of the given hash, unless other programs could pretend to be the client.\n\nReturns {authorization_id, redirect_uri, client, scope} or {approved, redirect_uri, state}, or why it was refused: see auth.find_oauth_request.';

create function auth.answer_oauth_authorization(
  authorization_id text, user_id uuid, session_id uuid, approves boolean, code_hash text, ip text
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  found_request constant json := auth.find_oauth_request($1, $2, $3);
  request auth.oauth_authorizations;
begin
  if found_request ->> 'refused' is not null then
    return found_request;
  end if;
  request := json_populate_record(null::auth.oauth_authorizations, found_request);
  -- The person must have seen what is asked.
  if request.user_id is null then
    return '{"refused": "authorization_not_found"}';
  end if;
  if not $4 then
    update auth.oauth_authorizations set status = 'denied' where oauth_authorizations.id = request.id;
    return json_build_object('approved', false, 'redirect_uri', request.redirect_uri, 'state', request.state);
  end if;
  if auth.lacks_second_factor($2, $3) then
    return '{"refused": "insufficient_aal"}';
  end if;
  insert into auth.oauth_consents (id, user_id, client_id, scopes, granted_at)
  values (gen_random_uuid(), $2, request.client_id, request.scope, now())
  on conflict on constraint oauth_consents_user_client_unique
  do update set scopes = excluded.scopes, granted_at = excluded.granted_at, revoked_at = null;
  perform auth.record_audit(
    users, 'oauth_consent_granted', 'token', jsonb_build_object('client_id', request.client_id, 'scopes', request.scope), $6
  )
  from auth.users where users.id = $2;
  return auth.approve_oauth_request(request, $3, $5);
end
$$;
comment on function auth.answer_oauth_authorization(text, uuid, uuid, boolean, text, text) is
  E'The answer of a person to the request of a client. Approval grants its scopes, and is only for a session that has used the second factor of its account, if there is one.\n\nReturns {approved, redirect_uri, state}, or why it was refused: insufficient_aal, or see auth.find_oauth_request.';

-- Tokens

-- A code that is exchanged twice may have been stolen: then what it gave ends (RFC 6749, section 4.1.2). Only the client with
-- the verifier could have exchanged it, so that others cannot end the session by a code that they have seen.
create function auth.redeem_oauth_code(
  client_id uuid, code_hash text, verifier text, redirect_uri text, resource text, ip text, user_agent text
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  approved auth.oauth_authorizations;
  challenge text;
  started json;
  session auth.sessions;
  signed_in timestamptz;
begin
  select oauth_authorizations.* into approved from auth.oauth_authorizations
  where oauth_authorizations.authorization_code = $2;
  select users.* into account from auth.users where users.id = approved.user_id for no key update;
  select oauth_authorizations.* into approved from auth.oauth_authorizations
  where oauth_authorizations.id = approved.id for no key update;
  if account.id is null or approved.id is null or approved.status <> 'approved' then
    return '{"refused": "invalid_code"}';
  end if;
  if approved.client_id <> $1 then
    return '{"refused": "other_client"}';
  end if;
  if $5 is not null and $5 is distinct from approved.resource then
    return '{"refused": "wrong_resource"}';
  end if;
  if $4 is not null and $4 <> approved.redirect_uri then
    return '{"refused": "wrong_redirect_uri"}';
  end if;
  if $3 is null then
    return '{"refused": "no_verifier"}';
  end if;
  challenge := case approved.code_challenge_method when 's256' then auth.sha256_base64url($3) when 'plain' then $3 end;
  if challenge is distinct from approved.code_challenge or challenge is null then
    return '{"refused": "wrong_verifier"}';
  end if;
  if approved.used_at is not null then
    delete from auth.sessions
    where sessions.id = approved.issued_session_id and sessions.user_id = account.id and sessions.oauth_client_id = $1;
    if found then
      perform auth.record_audit(
        account, 'token_revoked', 'token', jsonb_build_object('oauth_client_id', $1, 'action', 'reuse_oauth_code'), $6
      );
    end if;
    return '{"refused": "used_code"}';
  end if;
  if approved.expires_at <= now() then
    return '{"refused": "expired_code"}';
  end if;
  if auth.is_banned(account) then
    return '{"refused": "user_banned"}';
  end if;
  -- When the person has signed in, which is not when the client gets its session.
  select sessions.created_at into signed_in from auth.sessions where sessions.id = approved.session_id;
  started := auth.start_session(
    account.id, 'oauth_provider/authorization_code', $6, $7,
    jsonb_build_object('provider_type', 'oauth_provider_authorization_code', 'client_id', $1)
  );
  update auth.sessions set oauth_client_id = $1, scopes = approved.scope
  where sessions.id = (started #>> '{session,id}')::uuid
  returning sessions.* into session;
  update auth.oauth_authorizations set used_at = now(), issued_session_id = session.id
  where oauth_authorizations.id = approved.id;
  select users.* into account from auth.users where users.id = account.id;
  return json_build_object(
    'scope', approved.scope,
    'nonce', approved.nonce,
    'auth_time', floor(extract(epoch from coalesce(signed_in, approved.approved_at)))::bigint,
    'email_proved', account.email_confirmed_at is not null and not account.email_unproven,
    'phone_proved', account.phone_confirmed_at is not null and not account.phone_unproven,
    'started', auth.issued_session(session, account, started #>> '{session,refresh_token}')
  );
end
$$;
comment on function auth.redeem_oauth_code(uuid, text, text, text, text, text, text) is
  E'Exchanges the code of a redirect for a session of a client that was authenticated. With the verifier of PKCE; URI and resource are compared if they are given.\n\nReturns {scope, nonce, auth_time, email_proved, phone_proved, started}, where started is what auth.start_session returns, or why it was refused: invalid_code, other_client, wrong_resource, wrong_redirect_uri, no_verifier, wrong_verifier, used_code, expired_code, user_banned.';

-- Grants

create function auth.list_oauth_grants(user_id uuid) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    json_agg(
      json_build_object(
        'client', auth.oauth_client_summary(clients),
        'scopes', string_to_array(consents.scopes, ' '),
        'granted_at', auth.json_time(consents.granted_at)
      )
      order by consents.granted_at desc, consents.id
    ),
    '[]'
  )
  from auth.oauth_consents as consents join auth.oauth_clients as clients on clients.id = consents.client_id
  where consents.user_id = $1 and consents.revoked_at is null and clients.deleted_at is null
$$;
comment on function auth.list_oauth_grants(uuid) is 'The grants of an account that are in force, newest first.';

create function auth.revoke_oauth_grant(user_id uuid, session_id uuid, client_id uuid, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  if auth.lacks_second_factor($1, $2) then
    return '{"refused": "insufficient_aal"}';
  end if;
  update auth.oauth_consents set revoked_at = greatest(now(), oauth_consents.granted_at)
  where oauth_consents.user_id = $1 and oauth_consents.client_id = $3 and oauth_consents.revoked_at is null;
  if not found then
    return '{"refused": "consent_not_found"}';
  end if;
  delete from auth.oauth_authorizations where oauth_authorizations.user_id = $1 and oauth_authorizations.client_id = $3;
  delete from auth.sessions where sessions.user_id = $1 and sessions.oauth_client_id = $3;
  perform auth.record_audit(
    account, 'token_revoked', 'token', jsonb_build_object('oauth_client_id', $3, 'action', 'revoke_oauth_grant'), $4
  );
  return '{}';
end
$$;
comment on function auth.revoke_oauth_grant(uuid, uuid, uuid, text) is
  E'Revokes what an account has granted to a client, for one of its sessions. The client''s sessions of the account, and its codes, end.\n\nRefused: insufficient_aal (see auth.lacks_second_factor), consent_not_found.';

grant execute on function
  auth.refresh_session_of(uuid, text, text, interval, boolean, interval, interval, interval, boolean, text, text),
  auth.remove_unproven_access(uuid, uuid, uuid),
  auth.oauth_client_object(auth.oauth_clients),
  auth.oauth_client_summary(auth.oauth_clients),
  auth.add_oauth_client(jsonb, text, text),
  auth.find_oauth_client(uuid),
  auth.list_oauth_clients(bigint, bigint),
  auth.update_oauth_client(uuid, jsonb, text, text),
  auth.change_oauth_secret(uuid, text, text, text),
  auth.delete_oauth_client(uuid, text, text),
  auth.begin_oauth_authorization(jsonb, interval),
  auth.find_oauth_request(text, uuid, uuid),
  auth.approve_oauth_request(auth.oauth_authorizations, uuid, text),
  auth.open_oauth_authorization(text, uuid, uuid, text),
  auth.answer_oauth_authorization(text, uuid, uuid, boolean, text, text),
  auth.redeem_oauth_code(uuid, text, text, text, text, text, text),
  auth.list_oauth_grants(uuid),
  auth.revoke_oauth_grant(uuid, uuid, uuid, text)
to supabase_auth_admin;

call rowhouse.end_private_functions();
