-- Accounts have a first name and perhaps a last name. The profile of a new account begins with both as its full name.

alter table auth.users
  add column first_name text check (char_length(first_name) between 1 and 255),
  add column last_name text check (char_length(last_name) between 1 and 255);
comment on column auth.users.first_name is
  'Null for an account from before there were names; it is called by the part of its address before the @.';

alter table public.profiles rename column display_name to full_name;
alter table public.profiles drop constraint profiles_display_name_check;
-- Two names of 255 characters with a blank between them.
alter table public.profiles add constraint profiles_full_name_check check (char_length(full_name) between 1 and 511);

create or replace function rowhouse.create_profile() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into public.profiles (id, full_name) values (new.id, nullif(concat_ws(' ', new.first_name, new.last_name), ''))
  on conflict do nothing;
  return null;
end
$$;

drop function auth.create_user(text, text);
drop function auth.find_user(text);
drop function auth.find_session(bytea);
drop function auth.change_user(uuid, text, text, text, uuid);

create function auth.create_user(address text, password_hash text, first_name text, last_name text)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language sql security definer set search_path = ''
as $$
  insert into auth.users (email, password_hash, first_name, last_name) values ($1, $2, $3, $4)
  on conflict do nothing
  returning users.id, users.email::text, users.first_name, users.last_name, users.created_at
$$;
comment on function auth.create_user(text, text, text, text) is 'No row when the address is taken.';

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
  'No row when the password is another by now. A new password ends all sessions but the one named.';

-- The operators of citext must be found, wherever it is installed; without them the comparison would be one of text.
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

revoke execute on function
  auth.create_user(text, text, text, text),
  auth.find_user(text),
  auth.find_session(bytea),
  auth.change_user(uuid, text, text, text, uuid)
from public;
grant execute on function
  auth.create_user(text, text, text, text),
  auth.find_user(text),
  auth.find_session(bytea),
  auth.change_user(uuid, text, text, text, uuid)
to authenticator;
