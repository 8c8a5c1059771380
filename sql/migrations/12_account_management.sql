-- What the program asks about accounts and sessions, continued. Executable by `authenticator` alone, like the first.

drop function auth.create_session(uuid, bytea, interval);
drop function auth.find_session(bytea);

-- The hash is the one that the password was compared with. While that took its time the password may have been changed,
-- which ends all sessions: none may begin with the old one afterwards. The lock makes a change in between wait.
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
comment on function auth.create_session(uuid, text, bytea, interval) is 'Null when the account has another password now.';

create function auth.find_session(id_hash bytea)
returns table (
  id uuid, user_id uuid, email text, app_role text, registered_at timestamptz, created_at timestamptz,
  expires_at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  select sessions.id, users.id, users.email::text, users.app_role, users.created_at, sessions.created_at,
    sessions.expires_at
  from auth.sessions join auth.users on users.id = sessions.user_id
  where sessions.id_hash = $1 and sessions.revoked_at is null and sessions.expires_at > now()
$$;

create function auth.extend_session(id_hash bytea, lifetime interval, longest interval)
returns timestamptz
language sql security definer set search_path = ''
as $$
  update auth.sessions
  set expires_at = greatest(sessions.expires_at, least(now() + $2, sessions.created_at + $3))
  where sessions.id_hash = $1 and sessions.revoked_at is null and sessions.expires_at > now()
  returning sessions.expires_at
$$;
comment on function auth.extend_session(bytea, interval, interval) is 'Null when the session is over.';

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

-- `chosen` names one session of the user; without it, all but `spared` are meant.
create function auth.revoke_sessions(user_id uuid, chosen uuid, spared uuid)
returns integer
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
comment on function auth.revoke_sessions(uuid, uuid, uuid) is 'How many there were.';

create function auth.find_password(user_id uuid)
returns text
language sql stable security definer set search_path = ''
as $$
  select users.password_hash from auth.users where users.id = $1
$$;

-- No row when the password is another by now. A new password ends all sessions but the one named.
create function auth.change_user(
  user_id uuid, old_password_hash text, address text, new_password_hash text, session_id uuid
)
returns table (id uuid, email text, created_at timestamptz)
language plpgsql security definer set search_path = ''
as $$
#variable_conflict use_column
begin
  return query
    update auth.users set
      email = case when $3 is null then users.email else $3 end,
      password_hash = coalesce($4, users.password_hash)
    where users.id = $1 and users.password_hash = $2
    returning users.id, users.email::text, users.created_at;
  if found and $4 is not null then
    perform auth.revoke_sessions($1, null, $5);
  end if;
end
$$;

create function auth.delete_user(user_id uuid, password_hash text)
returns boolean
language sql security definer set search_path = ''
as $$
  with deleted as (
    delete from auth.users where users.id = $1 and users.password_hash = $2 returning 1
  )
  select exists (select from deleted)
$$;
comment on function auth.delete_user(uuid, text) is 'False when the password is another by now.';

-- Counts of attempts, shared by all processes. Their loss in a crash does no harm, so they are not logged.
create unlogged table auth.rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
comment on table auth.rate_limits is 'Attempts by hashes of addresses and accounts; the columns are rate-limiter-flexible''s.';
create index on auth.rate_limits (expire);
alter table auth.rate_limits enable row level security;
create policy counts on auth.rate_limits to authenticator using (true) with check (true);
grant select, insert, update, delete on auth.rate_limits to authenticator;

revoke execute on function
  auth.create_session(uuid, text, bytea, interval),
  auth.find_session(bytea),
  auth.extend_session(bytea, interval, interval),
  auth.list_sessions(uuid),
  auth.revoke_sessions(uuid, uuid, uuid),
  auth.find_password(uuid),
  auth.change_user(uuid, text, text, text, uuid),
  auth.delete_user(uuid, text)
from public;
grant execute on function
  auth.create_session(uuid, text, bytea, interval),
  auth.find_session(bytea),
  auth.extend_session(bytea, interval, interval),
  auth.list_sessions(uuid),
  auth.revoke_sessions(uuid, uuid, uuid),
  auth.find_password(uuid),
  auth.change_user(uuid, text, text, text, uuid),
  auth.delete_user(uuid, text)
to authenticator;
