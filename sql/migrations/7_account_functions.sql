-- What the program asks about accounts, sessions and keys. These run with the rights of the role that migrates, are
-- executable by `authenticator` alone, and each does one narrow thing.

create function auth.create_user(address text, password_hash text)
returns table (id uuid, email text, created_at timestamptz)
language sql security definer set search_path = ''
as $$
  insert into auth.users (email, password_hash) values ($1, $2)
  on conflict do nothing
  returning users.id, users.email::text, users.created_at
$$;
comment on function auth.create_user(text, text) is 'No row when the address is taken.';

-- The operators of citext must be found, wherever it is installed; without them the comparison would be one of text.
select set_config('search_path', quote_ident(nspname) || ', pg_temp', true)
from pg_catalog.pg_extension
join pg_catalog.pg_namespace on pg_namespace.oid = extnamespace
where extname = 'citext';

create function auth.find_user(address text)
returns table (id uuid, email text, password_hash text)
language sql stable security definer set search_path from current
as $$
  select users.id, users.email::text, users.password_hash from auth.users where users.email = $1::citext
$$;

-- Clears away the user's sessions that are over, and makes the profile anew if its owner deleted it.
create function auth.create_session(user_id uuid, id_hash bytea, lifetime interval)
returns timestamptz
language sql security definer set search_path = ''
as $$
  delete from auth.sessions where sessions.user_id = $1 and sessions.expires_at <= now();
  insert into public.profiles (id) values ($1) on conflict do nothing;
  insert into auth.sessions (user_id, id_hash, expires_at) values ($1, $2, now() + $3) returning sessions.expires_at
$$;

create function auth.find_session(id_hash bytea)
returns table (id uuid, user_id uuid, email text, created_at timestamptz, expires_at timestamptz)
language sql stable security definer set search_path = ''
as $$
  select sessions.id, users.id, users.email::text, sessions.created_at, sessions.expires_at
  from auth.sessions join auth.users on users.id = sessions.user_id
  where sessions.id_hash = $1 and sessions.revoked_at is null and sessions.expires_at > now()
$$;

create function auth.revoke_session(id_hash bytea)
returns boolean
language sql security definer set search_path = ''
as $$
  with revoked as (
    update auth.sessions set revoked_at = now()
    where sessions.id_hash = $1 and sessions.revoked_at is null and sessions.expires_at > now()
    returning 1
  )
  select exists (select from revoked)
$$;
comment on function auth.revoke_session(bytea) is 'Whether there was such a session.';

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

revoke execute on function
  auth.create_user(text, text),
  auth.find_user(text),
  auth.create_session(uuid, bytea, interval),
  auth.find_session(bytea),
  auth.revoke_session(bytea),
  auth.find_api_key(bytea)
from public;
