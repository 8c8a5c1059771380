-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The server's access to accounts, sessions and keys for the cookie service and the API. These functions run with the rights
-- of the migrating role, only `authenticator` may execute them, and each does one narrow thing.

-- Names of accounts, as the cookie service shows them. Not security definer, so that queries inline them.

create function auth.first_name(account auth.users) returns text
language sql immutable parallel safe
as $$
  select left(coalesce(nullif(account.raw_user_meta_data ->> 'first_name', ''), split_part(account.email, '@', 1)), 255)
$$;
comment on function auth.first_name(auth.users) is
  'First name of an account; the part of the address before the @ if the account has none.';

create function auth.last_name(account auth.users) returns text
language sql immutable parallel safe
as $$
  select left(nullif(account.raw_user_meta_data ->> 'last_name', ''), 255)
$$;
comment on function auth.last_name(auth.users) is 'Last name of an account, if any.';

create function auth.is_banned(account auth.users) returns boolean
language sql stable parallel safe
as $$
  select account.deleted_at is not null or coalesce(account.banned_until > now(), false)
$$;
comment on function auth.is_banned(auth.users) is 'Whether an account is banned now, or deleted although its row was kept.';

create function auth.has_ended(session auth.sessions) returns boolean
language sql stable parallel safe
as $$
  select coalesce(session.not_after <= now(), false)
$$;
comment on function auth.has_ended(auth.sessions) is 'Whether the time of a session is over.';

-- Statements can inline this function, because it does not set the search path.
create function auth.audit_payload(account auth.users, action text, log_type text, traits jsonb) returns json
language sql stable
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'actor_id', $1.id,
    'actor_username', coalesce($1.email, $1.phone, ''),
    'actor_name', $1.raw_user_meta_data ->> 'full_name',
    'actor_via_sso', $1.is_sso_user,
    'action', $2,
    'log_type', $3,
    'traits', nullif($4, '{}')
  ))::json
$$;
comment on function auth.audit_payload(auth.users, text, text, jsonb) is
  'An entry of the audit log: the account that acted, what it did, the category (account, team, token, user, factor), and details.';

create function auth.record_audit(account auth.users, action text, log_type text, traits jsonb, ip text) returns void
language sql set search_path = ''
as $$
  insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
  values (
    '00000000-0000-0000-0000-000000000000', gen_random_uuid(), auth.audit_payload($1, $2, $3, $4), now(),
    left(coalesce($5, ''), 64)
  )
$$;
comment on function auth.record_audit(auth.users, text, text, jsonb, text) is
  'Adds an entry to the audit log: see audit_payload; and the client address.';
grant execute on function
  auth.is_banned(auth.users), auth.has_ended(auth.sessions), auth.audit_payload(auth.users, text, text, jsonb),
  auth.record_audit(auth.users, text, text, jsonb, text)
to supabase_auth_admin;

-- Accounts

-- The trigger functions of a project's own tables may raise errors here, so a sign-up fails with their message.
create function auth.create_user(address text, password_hash text, given_name text, family_name text, ip text default null)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language plpgsql security definer set search_path = ''
as $$
#variable_conflict use_column
declare
  created auth.users;
begin
  insert into auth.users (
    instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, confirmation_token, recovery_token,
    email_change_token_new, email_change, raw_app_meta_data, raw_user_meta_data, created_at, updated_at, email_unproven
  )
  select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated', lower($1), $2, now(),
    '', '', '', '',
    '{"provider": "email", "providers": ["email"]}',
    jsonb_strip_nulls(jsonb_build_object(
      'first_name', $3, 'last_name', $4,
      'full_name', case when $3 is not null and $4 is not null then $3 || ' ' || $4 else coalesce($3, $4) end
    )),
    now(), now(), true
  where not exists (select from auth.users where lower(users.email) = lower($1) and users.is_sso_user = false)
  on conflict do nothing
  returning users.* into created;
  if not found then
    return;
  end if;
  insert into auth.identities (
    id, provider_id, user_id, provider, identity_data, last_sign_in_at, created_at, updated_at
  )
  values (
    gen_random_uuid(), created.id, created.id, 'email',
    jsonb_build_object('sub', created.id, 'email', created.email, 'email_verified', true, 'phone_verified', false),
    now(), now(), now()
  );
  perform auth.record_audit(created, 'user_signedup', 'team', '{"provider": "email"}', $5);
  return query select created.id, created.email::text, $3, $4, created.created_at;
end
$$;
comment on function auth.create_user(text, text, text, text, text) is
  'Registers an account with a confirmed address. Returns no row if the address is taken.';

create function auth.find_user(address text)
returns table (
  id uuid, email text, password_hash text, first_name text, last_name text, is_confirmed boolean, is_banned boolean
)
language sql stable security definer set search_path = ''
as $$
  select users.id, users.email::text, nullif(users.encrypted_password, ''), auth.first_name(users), auth.last_name(users),
    users.email_confirmed_at is not null, auth.is_banned(users)
  from auth.users
  where lower(users.email) = lower($1) and users.is_sso_user = false
  -- Only a seed can write an address twice, in different case.
  order by users.email = lower($1) desc, users.created_at
  limit 1
$$;
comment on function auth.find_user(text) is
  'The account with an address, its password hash (null without a password), and whether it may sign in.';

create function auth.find_password(user_id uuid) returns table (hash text, has_verified_factor boolean)
language sql stable security definer set search_path = ''
as $$
  select nullif(users.encrypted_password, ''), exists (
    select from auth.mfa_factors where mfa_factors.user_id = users.id and mfa_factors.status = 'verified'
  )
  from auth.users where users.id = $1
$$;
comment on function auth.find_password(uuid) is
  'The password hash of an account, null if it has no password, and whether it has a verified second factor.';

create function auth.rehash_password(user_id uuid, old_password_hash text, new_password_hash text) returns boolean
language sql security definer set search_path = ''
as $$
  with replaced as (
    update auth.users set encrypted_password = $3 where users.id = $1 and users.encrypted_password = $2 returning 1
  )
  select exists (select from replaced)
$$;
comment on function auth.rehash_password(uuid, text, text) is
  'Replaces the hash of an unchanged password by that of a better algorithm. Returns whether it was unchanged.';

-- Sessions

-- `password_hash` is the hash that the password was verified against. A password change ends all sessions, and may have
-- happened during that verification, so no session may start with the old hash. The lock makes a concurrent change wait.
create function auth.create_session(
  user_id uuid, password_hash text, id_hash bytea, lifetime interval, user_agent text default null, ip text default null
)
returns timestamptz
language plpgsql security definer set search_path = ''
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

create function auth.find_session(id_hash bytea)
returns table (
  id uuid, user_id uuid, email text, first_name text, last_name text, app_role text, aal text, registered_at timestamptz,
  created_at timestamptz, expires_at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  select sessions.id, users.id, users.email::text, auth.first_name(users), auth.last_name(users), users.app_role,
    coalesce(sessions.aal::text, 'aal1'),
    -- Seeded accounts may have no time.
    coalesce(users.created_at, sessions.created_at), sessions.created_at, sessions.not_after
  from auth.sessions join auth.users on users.id = sessions.user_id
  where sessions.id_hash = $1 and not auth.has_ended(sessions) and not auth.is_banned(users)
$$;
comment on function auth.find_session(bytea) is
  'The session of a cookie, and its account. Returns no row if the session has ended or the account is banned.';

-- The settings of a transaction call it, so that finding the session needs no statement of its own.
create function auth.session_claims(id_hash bytea, remaining double precision) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  claims text;
begin
  -- The keys are in alphabetical order and without blanks, as the server writes the claims of a token.
  select json_strip_nulls(row_to_json(claim))::text into claims
  from (
    select coalesce(sessions.aal::text, 'aal1') as aal, users.app_role, users.email, 'authenticated' as role,
      users.id as sub
    from auth.sessions join auth.users on users.id = sessions.user_id
    where sessions.id_hash = $1 and not auth.has_ended(sessions) and not auth.is_banned(users)
      and (sessions.not_after is null or sessions.not_after > now() + $2 * interval '1 second')
  ) as claim;
  if not found then
    raise no_data_found using message = 'no session with this cookie lasts so long';
  end if;
  return claims;
end
$$;
comment on function auth.session_claims(bytea, double precision) is
  'The claims of the owner of a cookie''s session, as JSON. Raises an error if the session has ended or ends in less than the given number of seconds, or the account is banned.';

-- A session of tokens keeps its end. The cookie replaces an earlier one of the same session.
create function auth.add_cookie(session_id uuid, user_id uuid, id_hash bytea)
returns table (email text, first_name text, last_name text, expires_at timestamptz)
language sql security definer set search_path = ''
as $$
  update auth.sessions set id_hash = $3, updated_at = now()
  from auth.users
  where sessions.id = $1 and sessions.user_id = $2 and not auth.has_ended(sessions)
    and users.id = $2 and not auth.is_banned(users)
    and not users.is_anonymous and users.email_confirmed_at is not null and users.email <> ''
  returning users.email::text, auth.first_name(users), auth.last_name(users), sessions.not_after
$$;
comment on function auth.add_cookie(uuid, uuid, bytea) is
  'Gives a session of tokens a cookie. Returns no row if the session has ended, or the account is banned or has no confirmed address.';

-- For supabase_auth_admin. The session then has both credentials, and ends with both.
create function auth.issue_tokens(session_id uuid, user_id uuid) returns json
language plpgsql set search_path = ''
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
  if account.id is null or auth.is_banned(account) then
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
comment on function auth.issue_tokens(uuid, uuid) is
  'The active refresh token of a session, or a new one, with what an access token needs: see issued_session. Null if the session has ended.';
grant execute on function auth.issue_tokens(uuid, uuid) to supabase_auth_admin;

create function auth.extend_session(id_hash bytea, lifetime interval, longest interval) returns timestamptz
language sql security definer set search_path = ''
as $$
  update auth.sessions
  set not_after = greatest(sessions.not_after, least(now() + $2, sessions.created_at + $3)),
    refreshed_at = now() at time zone 'UTC', updated_at = now()
  where sessions.id_hash = $1 and not auth.has_ended(sessions) and sessions.not_after is not null
  returning sessions.not_after
$$;
comment on function auth.extend_session(bytea, interval, interval) is
  'Extends a session to `lifetime` from now, at most `longest` after its start. Null if it has ended, or has no fixed end.';

create function auth.list_sessions(user_id uuid)
returns table (
  id uuid, created_at timestamptz, expires_at timestamptz, refreshed_at timestamptz, has_cookie boolean, user_agent text
)
language sql stable security definer set search_path = ''
as $$
  select sessions.id, sessions.created_at, sessions.not_after, sessions.refreshed_at at time zone 'UTC',
    sessions.id_hash is not null, sessions.user_agent
  from auth.sessions
  where sessions.user_id = $1 and not auth.has_ended(sessions)
  order by sessions.created_at desc, sessions.id
  limit 100
$$;
comment on function auth.list_sessions(uuid) is
  'The sessions of an account, with cookies and with refresh tokens, newest first, at most 100.';

create function auth.revoke_session(id_hash bytea, ip text default null) returns boolean
language plpgsql security definer set search_path = ''
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
language sql security definer set search_path = ''
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

-- Raises PostgREST's error for a token with invalid claims.
-- https://docs.postgrest.org/en/v16/references/errors.html#raise-errors-with-http-status-codes
create function auth.check_session(session_id uuid, user_id uuid, app_role text) returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if not exists (
    select from auth.sessions join auth.users on users.id = sessions.user_id
    where sessions.id = $1 and sessions.user_id = $2 and not auth.has_ended(sessions) and not auth.is_banned(users)
      -- Revoking app_role takes effect at once, not when the token expires.
      and ($3 is null or users.app_role = $3)
  ) then
    raise sqlstate 'PGRST' using
      message = '{"code": "PGRST303", "message": "The session of this token has ended", "details": null, "hint": null}',
      detail = '{"status": 401, "headers": {"WWW-Authenticate": "Bearer error=\"invalid_token\", error_description=\"The session of this token has ended\""}}';
  end if;
end
$$;
comment on function auth.check_session(uuid, uuid, text) is
  E'Raises 401 unless the session belongs to the user and has not ended, the account is not banned, and it still has the given app_role, if any.\n\nIf a token has the claim session_id, the server calls this before the statement of the request, in the same transaction.';

create function auth.change_user(
  user_id uuid, old_password_hash text, address text, new_password_hash text, session_id uuid, ip text default null
)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language plpgsql security definer set search_path = ''
as $$
#variable_conflict use_column
declare
  changed auth.users;
begin
  if exists (
    select from auth.users where lower(users.email) = lower($3) and users.is_sso_user = false and users.id <> $1
  ) then
    raise unique_violation using message = 'the address belongs to another account';
  end if;
  update auth.users set
    email = coalesce(lower($3), users.email),
    encrypted_password = coalesce($4, users.encrypted_password),
    -- Pending codes were sent to the old address, or could set another password.
    confirmation_token = '', recovery_token = '', reauthentication_token = '', email_change = '',
    email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
    email_unproven = users.email_unproven or coalesce(lower($3) <> lower(users.email), false),
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
    set identity_data = identity_data || jsonb_build_object('email', changed.email), updated_at = now()
    where identities.user_id = $1 and identities.provider = 'email';
  end if;
  if $4 is not null then
    perform auth.revoke_sessions($1, null, $5);
    perform auth.record_audit(changed, 'user_updated_password', 'user', null, $6);
  end if;
  perform auth.record_audit(changed, 'user_modified', 'user', null, $6);
  return query
    select changed.id, changed.email::text, auth.first_name(changed), auth.last_name(changed), changed.created_at;
end
$$;
comment on function auth.change_user(uuid, text, text, text, uuid, text) is
  E'Changes the address and the password of an account; null leaves a value unchanged. Returns no row if the password has changed.\n\nA new password ends all sessions except `session_id`. Pending one-time codes become invalid.';

create function auth.delete_user(user_id uuid, password_hash text, ip text default null) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  deleted auth.users;
begin
  delete from auth.users where users.id = $1 and users.encrypted_password = $2 returning users.* into deleted;
  if not found then
    return false;
  end if;
  perform auth.record_audit(deleted, 'user_deleted', 'team', jsonb_build_object('user_id', $1), $3);
  return true;
end
$$;
comment on function auth.delete_user(uuid, text, text) is
  'Deletes an account with all its rows. Returns false if the password has changed.';

create function auth.find_api_key(key_hash bytea)
returns table (hash bytea, role text, user_id uuid, email text, expires_at timestamptz)
language sql stable security definer set search_path = ''
as $$
  select api_keys.key_hash, api_keys.role, api_keys.user_id, users.email::text, api_keys.expires_at
  from auth.api_keys left join auth.users on users.id = api_keys.user_id
  where api_keys.key_hash = $1
    and api_keys.revoked_at is null
    and (api_keys.expires_at is null or api_keys.expires_at > now())
    and auth.is_banned(users) is not true
$$;
comment on function auth.find_api_key(bytea) is
  'The role and user of an API key. Returns no row if it is unknown, revoked or expired, or its user is banned or deleted.';

grant execute on function
  auth.create_user(text, text, text, text, text),
  auth.find_user(text),
  auth.find_password(uuid),
  auth.rehash_password(uuid, text, text),
  auth.create_session(uuid, text, bytea, interval, text, text),
  auth.find_session(bytea),
  auth.session_claims(bytea, double precision),
  auth.add_cookie(uuid, uuid, bytea),
  auth.extend_session(bytea, interval, interval),
  auth.list_sessions(uuid),
  auth.revoke_session(bytea, text),
  auth.revoke_sessions(uuid, uuid, uuid),
  auth.check_session(uuid, uuid, text),
  auth.change_user(uuid, text, text, text, uuid, text),
  auth.delete_user(uuid, text, text),
  auth.find_api_key(bytea)
to authenticator;

create function rowhouse.api_key_changed() returns trigger
language plpgsql security definer set search_path = ''
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
language plpgsql security definer set search_path = ''
as $$
begin
  perform pg_catalog.pg_notify('rowhouse', 'forget key ' || pg_catalog.encode(api_keys.key_hash, 'hex'))
  from auth.api_keys where api_keys.user_id = new.id;
  return null;
end
$$;
comment on function rowhouse.api_key_user_changed() is
  'Trigger: makes running servers remove the keys of a banned, deleted or restored user, or of a changed address, from their caches.';
create trigger api_key_user_changed after update of banned_until, deleted_at, email on auth.users
  for each row
  when (
    (old.banned_until, old.deleted_at, old.email) is distinct from (new.banned_until, new.deleted_at, new.email)
  )
  execute function rowhouse.api_key_user_changed();

call rowhouse.end_private_functions();
