-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The server's access to accounts, sessions and keys. These functions run with the rights of the migrating role, only
-- `authenticator` may execute them, and each does one narrow thing.

create function auth.create_user(address text, password_hash text, first_name text, last_name text)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language sql security definer set search_path = ''
as $$
  insert into auth.users (email, password_hash, first_name, last_name) values ($1, $2, $3, $4)
  on conflict do nothing
  returning users.id, users.email::text, users.first_name, users.last_name, users.created_at
$$;
comment on function auth.create_user(text, text, text, text) is
  'Registers an account. Returns no row if the address is taken.';

-- `auth.find_user` keeps this search_path. Without the operators of citext, whichever schema it is installed in, it would
-- compare case-sensitively.
select set_config('search_path', quote_ident(nspname) || ', pg_temp', true)
from pg_catalog.pg_extension
join pg_catalog.pg_namespace on pg_namespace.oid = extnamespace
where extname = 'citext';

create function auth.find_user(address text)
returns table (id uuid, email text, password_hash text, first_name text, last_name text)
language sql stable security definer set search_path from current
as $$
  select users.id, users.email::text, users.password_hash,
    coalesce(users.first_name, split_part(users.email::text, '@', 1)), users.last_name
  from auth.users where users.email = $1::citext
$$;
comment on function auth.find_user(text) is 'The account with an address, and its password hash.';

create function auth.find_password(user_id uuid) returns text
language sql stable security definer set search_path = ''
as $$
  select users.password_hash from auth.users where users.id = $1
$$;
comment on function auth.find_password(uuid) is 'The password hash of an account; null if there is no such account.';

-- `password_hash` is the hash that the password was verified against. A password change ends all sessions, and may have
-- happened during that verification, so no session may start with the old hash. The lock makes a concurrent change wait.
create function auth.create_session(user_id uuid, password_hash text, id_hash bytea, lifetime interval)
returns timestamptz
language plpgsql security definer set search_path = ''
as $$
declare
  expiry timestamptz;
begin
  perform from auth.users where users.id = $1 and users.password_hash = $2 for share;
  if not found then
    return null;
  end if;
  delete from auth.sessions where sessions.user_id = $1 and sessions.expires_at <= now();
  insert into public.profiles (id) values ($1) on conflict do nothing;
  insert into auth.sessions (user_id, id_hash, expires_at) values ($1, $3, now() + $4)
  returning sessions.expires_at into expiry;
  return expiry;
end
$$;
comment on function auth.create_session(uuid, text, bytea, interval) is
  E'Starts a session and returns when it expires. Null if the password has changed.\n\nDeletes the account''s expired sessions, and recreates its profile if the user deleted it.';

create function auth.find_session(id_hash bytea)
returns table (
  id uuid, user_id uuid, email text, first_name text, last_name text, app_role text, registered_at timestamptz,
  created_at timestamptz, expires_at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  select sessions.id, users.id, users.email::text, coalesce(users.first_name, split_part(users.email::text, '@', 1)),
    users.last_name, users.app_role, users.created_at, sessions.created_at, sessions.expires_at
  from auth.sessions join auth.users on users.id = sessions.user_id
  where sessions.id_hash = $1 and sessions.revoked_at is null and sessions.expires_at > now()
$$;
comment on function auth.find_session(bytea) is 'The session of a cookie, and its account. Returns no row if the session has ended.';

create function auth.extend_session(id_hash bytea, lifetime interval, longest interval) returns timestamptz
language sql security definer set search_path = ''
as $$
  update auth.sessions
  set expires_at = greatest(sessions.expires_at, least(now() + $2, sessions.created_at + $3))
  where sessions.id_hash = $1 and sessions.revoked_at is null and sessions.expires_at > now()
  returning sessions.expires_at
$$;
comment on function auth.extend_session(bytea, interval, interval) is
  'Extends a session to `lifetime` from now, at most `longest` after its start. Null if it has ended.';

create function auth.list_sessions(user_id uuid)
returns table (id uuid, created_at timestamptz, expires_at timestamptz)
language sql stable security definer set search_path = ''
as $$
  select sessions.id, sessions.created_at, sessions.expires_at
  from auth.sessions
  where sessions.user_id = $1 and sessions.revoked_at is null and sessions.expires_at > now()
  order by sessions.created_at desc, sessions.id
  limit 100
$$;
comment on function auth.list_sessions(uuid) is 'The sessions of an account, newest first, at most 100.';

create function auth.revoke_session(id_hash bytea) returns boolean
language sql security definer set search_path = ''
as $$
  with revoked as (
    update auth.sessions set revoked_at = now()
    where sessions.id_hash = $1 and sessions.revoked_at is null and sessions.expires_at > now()
    returning 1
  )
  select exists (select from revoked)
$$;
comment on function auth.revoke_session(bytea) is 'Ends the session of a cookie. Returns whether there was one.';

create function auth.revoke_sessions(user_id uuid, chosen uuid, spared uuid) returns integer
language sql security definer set search_path = ''
as $$
  with revoked as (
    update auth.sessions set revoked_at = now()
    where sessions.user_id = $1
      and ($2 is null or sessions.id = $2)
      and sessions.id is distinct from $3
      and sessions.revoked_at is null and sessions.expires_at > now()
    returning 1
  )
  select count(*)::integer from revoked
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
    where sessions.id = $1 and sessions.user_id = $2 and sessions.revoked_at is null and sessions.expires_at > now()
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
  E'Raises 401 unless the session belongs to the user and has not ended, and the account still has the given app_role, if any.\n\nIf a token has the claim session_id, the server calls this before the statement of the request, in the same transaction.';

create function auth.change_user(
  user_id uuid, old_password_hash text, address text, new_password_hash text, session_id uuid
)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language plpgsql security definer set search_path = ''
as $$
#variable_conflict use_column
begin
  return query
    update auth.users set
      email = case when $3 is null then users.email else $3 end,
      password_hash = coalesce($4, users.password_hash)
    where users.id = $1 and users.password_hash = $2
    returning users.id, users.email::text, coalesce(users.first_name, split_part(users.email::text, '@', 1)),
      users.last_name, users.created_at;
  if found and $4 is not null then
    perform auth.revoke_sessions($1, null, $5);
  end if;
end
$$;
comment on function auth.change_user(uuid, text, text, text, uuid) is
  E'Changes the address and the password of an account; null leaves a value unchanged. Returns no row if the password has changed.\n\nA new password ends all sessions except `session_id`.';

create function auth.delete_user(user_id uuid, password_hash text) returns boolean
language sql security definer set search_path = ''
as $$
  with deleted as (
    delete from auth.users where users.id = $1 and users.password_hash = $2 returning 1
  )
  select exists (select from deleted)
$$;
comment on function auth.delete_user(uuid, text) is
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
$$;
comment on function auth.find_api_key(bytea) is 'The role and user of an API key. Returns no row if it is unknown, revoked or expired.';

grant execute on function
  auth.create_user(text, text, text, text),
  auth.find_user(text),
  auth.find_password(uuid),
  auth.create_session(uuid, text, bytea, interval),
  auth.find_session(bytea),
  auth.extend_session(bytea, interval, interval),
  auth.list_sessions(uuid),
  auth.revoke_session(bytea),
  auth.revoke_sessions(uuid, uuid, uuid),
  auth.check_session(uuid, uuid, text),
  auth.change_user(uuid, text, text, text, uuid),
  auth.delete_user(uuid, text),
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

call rowhouse.end_private_functions();
