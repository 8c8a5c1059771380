-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The server's access to accounts, sessions and keys for the cookie service and the API. These functions run with the rights
-- of the migrating role, only `authenticator` may execute them, and each does one narrow thing.

-- Accounts

-- The trigger functions of a project's own tables may raise errors here, so a sign-up fails with their message.
create function auth.create_user(
  address text, password_hash text, given_name text, family_name text, ip text default null, new_id uuid default null,
  audience text default 'authenticated', new_role text default 'authenticated', confirms boolean default false
)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  folded constant text := lower($1 collate "C");
  outcome json;
  created auth.users;
begin
  if exists (select from auth.users where lower(users.email collate "C") = folded and users.is_sso_user = false) then
    return;
  end if;
  outcome := auth.sign_up(
    coalesce($6, gen_random_uuid()), 'email', folded, $2,
    jsonb_strip_nulls(jsonb_build_object(
      'first_name', $3, 'last_name', $4,
      'full_name', case when $3 is not null and $4 is not null then $3 || ' ' || $4 else coalesce($3, $4) end,
      'email_verified', false
    )),
    $7, $8, $9, $5
  );
  -- Another request may have registered the address at the same time.
  if outcome ->> 'outcome' <> 'created' then
    return;
  end if;
  update auth.users set email_unproven = true where users.id = (outcome ->> 'id')::uuid returning users.* into created;
  return query
    select created.id, created.email::text, auth.first_name(created), auth.last_name(created), created.created_at;
end
$$;
comment on function auth.create_user(text, text, text, text, text, uuid, text, text, boolean) is
  'Registers an account that is used at once, before its owner has proved the address. With `confirms`, the address is confirmed at once. Without a given name, the first name is the part of the address before the @. Returns no row if the address is taken.';

create function auth.find_user(address text)
returns table (
  id uuid, email text, password_hash text, first_name text, last_name text, is_confirmed boolean, is_banned boolean
)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select users.id, users.email::text, nullif(users.encrypted_password, ''), auth.first_name(users), auth.last_name(users),
    users.email_confirmed_at is not null or users.email_unproven, auth.is_banned(users)
  from auth.users
  where lower(users.email collate "C") = lower($1 collate "C") and users.is_sso_user = false
  -- Only a seed can write an address twice, in different case.
  order by users.email = lower($1 collate "C") desc, users.created_at
  limit 1
$$;
comment on function auth.find_user(text) is
  'The account with an address, its password hash (null without a password), and whether it may sign in with a cookie: its address is confirmed, or it was opened there.';

create function auth.find_password(user_id uuid) returns table (hash text, has_verified_factor boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select nullif(users.encrypted_password, ''), exists (
    select from auth.mfa_factors where mfa_factors.user_id = users.id and mfa_factors.status = 'verified'
  )
  from auth.users where users.id = $1
$$;
comment on function auth.find_password(uuid) is
  'The password hash of an account, null if it has no password, and whether it has a verified second factor.';

-- Sessions
--
-- `limits` are those of the settings, or null without any: timebox, inactivity and low_aal in seconds, single_per_user.

create function auth.breaks_limits(session auth.sessions, limits json) returns boolean
language sql stable
as $$
  select $2 is not null and (
    auth.session_fault(
      session, null, ($2 ->> 'timebox')::float8 * interval '1 second', ($2 ->> 'inactivity')::float8 * interval '1 second',
      ($2 ->> 'low_aal')::float8 * interval '1 second'
    ) is not null
    or ($2 ->> 'single_per_user')::boolean and auth.has_newer_session(
      session, null, ($2 ->> 'timebox')::float8 * interval '1 second', ($2 ->> 'inactivity')::float8 * interval '1 second',
      ($2 ->> 'low_aal')::float8 * interval '1 second'
    )
  )
$$;
comment on function auth.breaks_limits(auth.sessions, json) is
  'Whether a session has ended by the limits of the settings, as when its refresh token is exchanged.';

create function auth.session_end(session auth.sessions, limits json) returns timestamptz
language sql stable
as $$
  select least(session.not_after, session.created_at + ($2 ->> 'timebox')::float8 * interval '1 second')
$$;
comment on function auth.session_end(auth.sessions, json) is 'When a session ends, unless it is extended; null for no fixed end.';

-- `password_hash` is the hash that the password was verified against. A password change ends all sessions, and may have
-- happened during that verification, so no session may start with the old hash. The lock makes a concurrent change wait.
create function auth.create_session(
  user_id uuid, password_hash text, id_hash bytea, lifetime interval, user_agent text default null, ip text default null
)
returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  account auth.users;
  session_id constant uuid := gen_random_uuid();
  expiry constant timestamptz := now() + $4;
begin
  update auth.users set last_sign_in_at = now(), updated_at = now()
  where users.id = $1 and users.encrypted_password = $2 and not auth.is_banned(users)
  returning users.* into account;
  if not found then
    return null;
  end if;
  delete from auth.sessions where sessions.user_id = $1 and auth.has_ended(sessions);
  insert into auth.sessions (id, user_id, id_hash, aal, created_at, updated_at, not_after, user_agent, ip)
  values (session_id, $1, $3, 'aal1', now(), now(), expiry, $5, $6::inet);
  insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
  values (gen_random_uuid(), session_id, now(), now(), 'password');
  perform auth.record_audit(account, 'login', 'account', '{"provider": "email"}', $6);
  return expiry;
end
$$;
comment on function auth.create_session(uuid, text, bytea, interval, text, text) is
  E'Starts a session with a cookie and returns when it expires. Null if the password has changed, or the account is banned.\n\nDeletes the account''s expired sessions.';

create function auth.find_session(id_hash bytea, limits json default null)
returns table (
  id uuid, user_id uuid, email text, first_name text, last_name text, app_role text, aal text, registered_at timestamptz,
  created_at timestamptz, expires_at timestamptz, email_confirmed boolean, used_at timestamptz
)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select sessions.id, users.id, users.email::text, auth.first_name(users), auth.last_name(users), users.app_role,
    coalesce(sessions.aal::text, 'aal1'),
    -- Seeded accounts may have no time.
    coalesce(users.created_at, sessions.created_at), sessions.created_at, auth.session_end(sessions, $2),
    users.email_confirmed_at is not null, coalesce(sessions.refreshed_at at time zone 'UTC', sessions.created_at)
  from auth.sessions join auth.users on users.id = sessions.user_id
  where sessions.id_hash = $1 and not auth.has_ended(sessions) and not auth.is_banned(users)
    and not auth.breaks_limits(sessions, $2)
$$;
comment on function auth.find_session(bytea, json) is
  'The session of a cookie, its account, and when it was last extended. Returns no row if the session has ended or the account is banned.';

-- The settings of a transaction call it, so that finding the session needs no statement of its own.
create function auth.session_claims(id_hash bytea, remaining double precision, limits json default null) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  claims text;
begin
  -- The keys are in alphabetical order and without blanks, as the server writes the claims of a token.
  select json_strip_nulls(row_to_json(claim))::text into claims
  from (
    select coalesce(sessions.aal::text, 'aal1') as aal, users.app_role,
      case when users.email_confirmed_at is not null then users.email end as email, 'authenticated' as role,
      users.id as sub
    from auth.sessions join auth.users on users.id = sessions.user_id
    where sessions.id_hash = $1 and not auth.has_ended(sessions) and not auth.is_banned(users)
      and coalesce(auth.session_end(sessions, $3) > now() + $2 * interval '1 second', true)
      and not auth.breaks_limits(sessions, $3)
  ) as claim;
  if not found then
    raise no_data_found using message = 'no session with this cookie lasts so long';
  end if;
  return claims;
end
$$;
comment on function auth.session_claims(bytea, double precision, json) is
  'The claims of the owner of a cookie''s session, as JSON; the address only if it is confirmed. Raises an error if the session has ended or ends in less than the given number of seconds, or the account is banned.';

create function auth.note_use(id_hash bytea) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  update auth.sessions set refreshed_at = now() at time zone 'UTC', updated_at = now()
  where sessions.id_hash = $1 and not auth.has_ended(sessions)
$$;
comment on function auth.note_use(bytea) is 'Notes that the session of a cookie is used, for the limit of inactivity.';

-- A session of tokens keeps its end. The cookie replaces an earlier one of the same session.
create function auth.add_cookie(session_id uuid, user_id uuid, id_hash bytea, limits json default null)
returns table (email text, first_name text, last_name text, expires_at timestamptz)
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  update auth.sessions set id_hash = $3, updated_at = now()
  from auth.users
  where sessions.id = $1 and sessions.user_id = $2 and not auth.has_ended(sessions)
    and not auth.breaks_limits(sessions, $4)
    and users.id = $2 and not auth.is_banned(users) and not users.is_anonymous and users.email <> ''
    and (users.email_confirmed_at is not null or users.email_unproven)
  returning users.email::text, auth.first_name(users), auth.last_name(users), auth.session_end(sessions, $4)
$$;
comment on function auth.add_cookie(uuid, uuid, bytea, json) is
  'Gives a session of tokens a cookie. Returns no row if the session has ended, or the account is banned or has no address that may be used.';

-- For supabase_auth_admin. The session then has both credentials, and ends with both.
create function auth.issue_tokens(session_id uuid, user_id uuid, limits json default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  current_session auth.sessions;
  account auth.users;
  active text;
begin
  -- Concurrent requests wait here for each other, and all get the same token.
  select sessions.* into current_session from auth.sessions
  where sessions.id = $1 and sessions.user_id = $2 and not auth.has_ended(sessions)
  for no key update;
  select users.* into account from auth.users where users.id = current_session.user_id;
  if account.id is null or auth.is_banned(account) or auth.breaks_limits(current_session, $3) then
    return null;
  end if;
  select refresh_tokens.token into active from auth.refresh_tokens
  where refresh_tokens.session_id = $1 and refresh_tokens.revoked is false
  order by refresh_tokens.id desc limit 1;
  if active is null then
    active := auth.add_refresh_token($2, $1);
  end if;
  return auth.issued_session(current_session, account, active);
end
$$;
comment on function auth.issue_tokens(uuid, uuid, json) is
  'The active refresh token of a session, or a new one, with what an access token needs: see issued_session. Null if the session has ended.';

create function auth.find_issued_session(session_id uuid, user_id uuid) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select auth.issued_session(sessions, users, null)
  from auth.sessions join auth.users on users.id = sessions.user_id
  where sessions.id = $1 and users.id = $2 and not auth.has_ended(sessions) and not auth.is_banned(users)
$$;
comment on function auth.find_issued_session(uuid, uuid) is
  'What an access token of a session needs, without a refresh token: see issued_session. Null if the session has ended.';

create function auth.extend_session(id_hash bytea, lifetime interval, longest interval) returns timestamptz
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  update auth.sessions
  set not_after = greatest(sessions.not_after, least(now() + $2, sessions.created_at + $3)),
    refreshed_at = now() at time zone 'UTC', updated_at = now()
  where sessions.id_hash = $1 and not auth.has_ended(sessions) and sessions.not_after is not null
  returning sessions.not_after
$$;
comment on function auth.extend_session(bytea, interval, interval) is
  'Extends a session to `lifetime` from now, at most `longest` after its start. Null if it has ended, or has no fixed end.';

create function auth.list_sessions(user_id uuid, limits json default null)
returns table (
  id uuid, created_at timestamptz, expires_at timestamptz, refreshed_at timestamptz, has_cookie boolean, user_agent text
)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select sessions.id, sessions.created_at, auth.session_end(sessions, $2), sessions.refreshed_at at time zone 'UTC',
    sessions.id_hash is not null, sessions.user_agent
  from auth.sessions
  where sessions.user_id = $1 and not auth.has_ended(sessions) and not auth.breaks_limits(sessions, $2)
  order by sessions.created_at desc, sessions.id
  limit 100
$$;
comment on function auth.list_sessions(uuid, json) is
  'The sessions of an account, with cookies and with refresh tokens, newest first, at most 100.';

create function auth.revoke_session(id_hash bytea, ip text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  ended auth.sessions;
begin
  delete from auth.sessions where sessions.id_hash = $1 returning sessions.* into ended;
  if ended.id is null or auth.has_ended(ended) then
    return false;
  end if;
  perform auth.record_audit(users, 'logout', 'account', null, $2) from auth.users where users.id = ended.user_id;
  return true;
end
$$;
comment on function auth.revoke_session(bytea, text) is 'Ends the session of a cookie. Returns whether there was one.';

create function auth.revoke_sessions(user_id uuid, chosen uuid, spared uuid) returns integer
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  with revoked as (
    delete from auth.sessions
    where sessions.user_id = $1
      and ($2 is null or sessions.id = $2)
      and sessions.id is distinct from $3
    returning not auth.has_ended(sessions) as was_valid
  )
  select count(*) filter (where was_valid)::integer from revoked
$$;
comment on function auth.revoke_sessions(uuid, uuid, uuid) is
  'Ends the session `chosen` of an account, or all but `spared` if `chosen` is null. Returns the number of ended sessions.';

create function auth.revoke_own_sessions(user_id uuid, session_id uuid, chosen uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform from auth.users where users.id = $1 for no key update;
  if $3 is null or $3 is distinct from $2 then
    perform auth.require_second_factor($1, $2, 403, 'AAL2 required to end other sessions');
  end if;
  return auth.revoke_sessions($1, $3, case when $3 is null then $2 end);
end
$$;
comment on function auth.revoke_own_sessions(uuid, uuid, uuid) is
  E'Ends the session `chosen` of an account for its session `session_id`, or all others if `chosen` is null. Returns the number of ended sessions.\n\nOther sessions than its own are ended only by a session that has used the second factor of the account, if there is one.';

-- Raises PostgREST's error for a token with invalid claims.
-- https://docs.postgrest.org/en/stable/references/errors.html#raise-errors-with-http-status-codes
create function auth.check_session(session_id uuid, user_id uuid, app_role text) returns void
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
    select from auth.sessions join auth.users on users.id = sessions.user_id
    where sessions.id = $1 and sessions.user_id = $2 and not auth.has_ended(sessions) and not auth.is_banned(users)
      -- Revoking app_role takes effect at once, not when the token expires.
      and ($3 is null or users.app_role = $3)
  ) then
    raise sqlstate 'PGRST' using
      message = '{"code": "PGRST303", "message": "The session of this token has ended", "details": null, "hint": "Sign in again."}',
      detail = '{"status": 401, "headers": {"WWW-Authenticate": "Bearer error=\"invalid_token\", error_description=\"The session of this token has ended\""}}';
  end if;
end
$$;
comment on function auth.check_session(uuid, uuid, text) is
  E'Raises 401 unless the session belongs to the user and has not ended, the account is not banned, and it still has the given app_role, if any.\n\nIf a token has the claim session_id, the server calls this before the statement of the request, in the same transaction.';

-- Changes of accounts

create function auth.change_user(
  user_id uuid, old_password_hash text, address text, new_password_hash text, session_id uuid, ip text default null,
  confirms boolean default false
)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  folded constant text := lower($3 collate "C");
  is_new boolean;
  changed auth.users;
begin
  select users.* into changed from auth.users where users.id = $1 for no key update;
  perform auth.require_second_factor($1, $5, 403, 'AAL2 required to change the account');
  if auth.is_taken(folded, null, $1) then
    raise unique_violation using message = 'the address belongs to another account';
  end if;
  is_new := coalesce(folded <> lower(changed.email collate "C"), false);
  update auth.users set
    email = coalesce(folded, users.email),
    encrypted_password = coalesce($4, users.encrypted_password),
    -- Pending codes were sent to the old address, or could set another password.
    confirmation_token = '', recovery_token = '', reauthentication_token = '', email_change = '',
    email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
    -- The account is used before the new address is proved, as after a sign-up.
    email_confirmed_at = case when is_new then case when $7 then now() end else users.email_confirmed_at end,
    email_unproven = users.email_unproven or is_new,
    password_unproven = users.password_unproven or is_new and not $7,
    raw_user_meta_data = case
      when is_new then coalesce(users.raw_user_meta_data, '{}') || jsonb_build_object('email_verified', $7)
      else users.raw_user_meta_data
    end,
    updated_at = now()
  where users.id = $1 and users.encrypted_password = $2
  returning users.* into changed;
  if not found then
    return;
  end if;
  delete from auth.one_time_tokens where one_time_tokens.user_id = $1;
  delete from auth.flow_state where flow_state.user_id = $1;
  if $3 is not null then
    update auth.identities
    set identity_data = identity_data || jsonb_build_object('email', changed.email)
        || case when is_new then jsonb_build_object('email_verified', $7) else '{}' end,
      updated_at = now()
    where identities.user_id = $1 and identities.provider = 'email';
  end if;
  if $4 is not null then
    perform auth.revoke_sessions($1, null, $5);
    perform auth.revoke_oauth_grants($1);
    perform auth.record_audit(changed, 'user_updated_password', 'user', null, $6);
  end if;
  perform auth.record_audit(changed, 'user_modified', 'user', null, $6);
  return query
    select changed.id, changed.email::text, auth.first_name(changed), auth.last_name(changed), changed.created_at;
end
$$;
comment on function auth.change_user(uuid, text, text, text, uuid, text, boolean) is
  E'Changes the address and the password of an account for one of its sessions; null leaves a value unchanged. Returns no row if the password has changed.\n\nA new address is not confirmed, unless `confirms`. A new password ends all sessions except `session_id`. Pending one-time codes become invalid.';

-- Deleting an account deletes its files, too: their rows in the transaction of the account, and so every address of them, and
-- the bytes with the next sweep of the storage service. The function that removes the rows is part of the storage service;
-- servers that leave the service out call it, too, if it exists.
create table rowhouse.deleted_accounts (
  user_id uuid constraint deleted_accounts_pkey primary key,
  deleted_at timestamptz not null default now()
);
comment on table rowhouse.deleted_accounts is
  E'Accounts that their owners have deleted\n\nA token or signed URL of such an account creates no more files.';
comment on column rowhouse.deleted_accounts.user_id is 'The account.';
comment on column rowhouse.deleted_accounts.deleted_at is 'When it was deleted.';
alter table rowhouse.deleted_accounts enable row level security;
revoke all on rowhouse.deleted_accounts from anon, authenticated, service_role;

create function auth.delete_user(
  user_id uuid, password_hash text, ip text default null, session_id uuid default null
)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  deleted auth.users;
begin
  perform from auth.users where users.id = $1 for update;
  perform auth.require_second_factor($1, $4, 403, 'AAL2 required to delete the account');
  delete from auth.users where users.id = $1 and users.encrypted_password = $2 returning users.* into deleted;
  if not found then
    return false;
  end if;
  insert into rowhouse.deleted_accounts (user_id) values ($1)
  on conflict on constraint deleted_accounts_pkey do update set deleted_at = now();
  if pg_catalog.to_regprocedure('rowhouse.delete_files(uuid)') is not null then
    perform rowhouse.delete_files($1);
  end if;
  perform auth.record_audit(deleted, 'user_deleted', 'team', jsonb_build_object('user_id', $1), $3);
  return true;
end
$$;
comment on function auth.delete_user(uuid, text, text, uuid) is
  'Deletes an account with all its rows and files, for one of its sessions. Returns false if the password has changed.';

-- API keys

create table auth.api_keys (
  id uuid constraint api_keys_pkey primary key default gen_random_uuid(),
  key_hash bytea not null
    constraint api_keys_key_hash_key unique
    constraint api_keys_key_hash_check check (octet_length(key_hash) = 32),
  hint text not null,
  label text not null constraint api_keys_label_check check (char_length(label) between 1 and 200),
  role text not null,
  user_id uuid constraint api_keys_user_id_fkey references auth.users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  limits jsonb constraint api_keys_limits_check check (
    jsonb_typeof(limits) = 'object'
    and limits - array['max_rows', 'max_cost', 'max_embed_depth', 'max_requests_per_second', 'max_request_burst'] = '{}'
    and not jsonb_path_exists(limits, '$.* ? (@.type() != "number" || @ < 0)')
  ),
  -- A key that acts for a user has that user's rights and no others.
  constraint api_keys_user_role_check check (user_id is null or role = 'authenticated')
);
create index api_keys_user_id_idx on auth.api_keys (user_id);
comment on table auth.api_keys is 'API keys, created by `rowhouse keys`.';
comment on column auth.api_keys.id is 'Identifies the key in `rowhouse keys`.';
comment on column auth.api_keys.key_hash is 'SHA-256 of the key.';
comment on column auth.api_keys.hint is 'The first characters of the key, for recognition.';
comment on column auth.api_keys.label is 'Purpose of the key, as given by its creator.';
comment on column auth.api_keys.role is 'The database role of requests with this key.';
comment on column auth.api_keys.user_id is 'The account that requests with this key act for, if any.';
comment on column auth.api_keys.created_at is 'When the key was created.';
comment on column auth.api_keys.expires_at is 'When the key expires; null if it does not.';
comment on column auth.api_keys.revoked_at is 'When the key was revoked; null if it was not.';
comment on column auth.api_keys.limits is
  'Limits of requests with the key, by the names of the settings of roles without pgrst.; null for none.';
-- Row-level security is on without policies: requests use keys only through functions.
alter table auth.api_keys enable row level security;

create function auth.find_api_key(key_hash bytea)
returns table (hash bytea, role text, user_id uuid, email text, expires_at timestamptz, id uuid, limits jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select api_keys.key_hash, api_keys.role, api_keys.user_id,
    case when users.email_confirmed_at is not null then users.email::text end, api_keys.expires_at, api_keys.id,
    api_keys.limits
  from auth.api_keys left join auth.users on users.id = api_keys.user_id
  where api_keys.key_hash = $1
    and api_keys.revoked_at is null
    and (api_keys.expires_at is null or api_keys.expires_at > now())
    and auth.is_banned(users) is not true
$$;
comment on function auth.find_api_key(bytea) is
  'The role, user and limits of an API key; the address of the user only if it is confirmed. Returns no row if it is unknown, revoked or expired, or its user is banned or deleted.';

create function rowhouse.api_key_changed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_catalog.pg_notify('rowhouse', 'forget key ' || pg_catalog.encode(old.key_hash, 'hex'));
  return null;
end
$$;
comment on function rowhouse.api_key_changed() is
  'Trigger: makes running servers remove a revoked, changed or deleted key from their caches.';

create trigger api_key_changed after update or delete on auth.api_keys
  for each row execute function rowhouse.api_key_changed();

create function rowhouse.api_key_user_changed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_catalog.pg_notify('rowhouse', 'forget key ' || pg_catalog.encode(api_keys.key_hash, 'hex'))
  from auth.api_keys where api_keys.user_id = new.id;
  return null;
end
$$;
comment on function rowhouse.api_key_user_changed() is
  'Trigger: makes running servers remove the keys of a banned, deleted or restored user, or of a changed address, from their caches.';

create trigger api_key_user_changed after update of banned_until, deleted_at, email, email_confirmed_at on auth.users
  for each row
  when (
    (old.banned_until, old.deleted_at, old.email, old.email_confirmed_at)
      is distinct from (new.banned_until, new.deleted_at, new.email, new.email_confirmed_at)
  )
  execute function rowhouse.api_key_user_changed();

grant execute on function
  auth.create_user(text, text, text, text, text, uuid, text, text, boolean),
  auth.find_user(text),
  auth.find_password(uuid),
  auth.create_session(uuid, text, bytea, interval, text, text),
  auth.find_session(bytea, json),
  auth.session_claims(bytea, double precision, json),
  auth.note_use(bytea),
  auth.add_cookie(uuid, uuid, bytea, json),
  auth.extend_session(bytea, interval, interval),
  auth.list_sessions(uuid, json),
  auth.revoke_session(bytea, text),
  auth.revoke_sessions(uuid, uuid, uuid),
  auth.revoke_own_sessions(uuid, uuid, uuid),
  auth.check_session(uuid, uuid, text),
  auth.change_user(uuid, text, text, text, uuid, text, boolean),
  auth.delete_user(uuid, text, text, uuid),
  auth.find_api_key(bytea)
to authenticator;
grant execute on function
  auth.breaks_limits(auth.sessions, json),
  auth.session_end(auth.sessions, json),
  auth.issue_tokens(uuid, uuid, json),
  auth.find_issued_session(uuid, uuid)
to supabase_auth_admin;

call rowhouse.end_private_functions();
