-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Triggers

create function rowhouse.set_updated_at() returns trigger
language plpgsql set search_path = ''
as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function rowhouse.set_updated_at() is 'Trigger: sets updated_at to the time of the transaction.';

-- The caller

create function auth.jwt() returns jsonb
language sql stable parallel safe
as $$
  select nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::pg_catalog.jsonb
$$;
comment on function auth.jwt() is 'The claims of the caller; null without credentials.';

-- Policies and column defaults call this in nearly every statement, so it must be fast: the claims are parsed once, as json,
-- which builds no tree, and no regular expression has to match the whole text. A text that passes the three tests consists of
-- hexadecimal digits with dashes in the positions of a UUID's.
create function auth.uid() returns uuid
language plpgsql stable parallel safe
as $$
declare
  subject text := nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::pg_catalog.json ->> 'sub';
begin
  return case
    when subject like '________-____-____-____-____________'
      and subject !~ '[^0-9a-fA-F-]'
      and pg_catalog.length(pg_catalog.replace(subject, '-', '')) = 32
    then subject::pg_catalog.uuid
  end;
end
$$;
comment on function auth.uid() is
  E'The id of the user that the caller acts for; null if there is none or the subject is not a UUID.\n\nIn a policy, write (select auth.uid()): PostgreSQL then calls it once per statement instead of once per row.';

create function auth.role() returns text
language sql stable parallel safe
as $$
  select auth.jwt() ->> 'role'
$$;
comment on function auth.role() is 'The role claim of the caller.';

create function auth.email() returns text
language sql stable parallel safe
as $$
  select auth.jwt() ->> 'email'
$$;
comment on function auth.email() is 'The e-mail claim of the caller.';

-- In a security definer function, the setting `role` is still the caller's.
create function auth.is_admin() returns boolean
language sql stable parallel safe
as $$
  select coalesce(
    pg_catalog.current_setting('role', true) = 'service_role'
    or (pg_catalog.current_setting('role', true) = 'authenticated' and auth.jwt() ->> 'app_role' = 'admin'),
    false
  )
$$;
comment on function auth.is_admin() is 'Whether the caller is service_role or a user with the claim app_role: admin.';

grant execute on function auth.jwt(), auth.uid(), auth.role(), auth.email(), auth.is_admin()
to anon, authenticated, service_role;

-- Accounts

-- Makes `citext` visible, whichever schema it is installed in.
select set_config('search_path', quote_ident(nspname) || ', pg_temp', true)
from pg_catalog.pg_extension
join pg_catalog.pg_namespace on pg_namespace.oid = extnamespace
where extname = 'citext';

create table auth.users (
  id uuid constraint users_pkey primary key default gen_random_uuid(),
  email citext not null
    constraint users_email_key unique
    constraint users_email_check check (octet_length(email) between 3 and 254),
  password_hash text not null,
  first_name text constraint users_first_name_check check (char_length(first_name) between 1 and 255),
  last_name text constraint users_last_name_check check (char_length(last_name) between 1 and 255),
  app_role text constraint users_app_role_check check (char_length(app_role) between 1 and 100),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table auth.users is 'Accounts that sign in with an e-mail address and a password.';
comment on column auth.users.id is 'The subject (sub) of the account''s tokens and sessions.';
comment on column auth.users.email is 'Address of the account, compared case-insensitively.';
comment on column auth.users.password_hash is 'Argon2id hash of the password, in PHC string format.';
comment on column auth.users.first_name is
  'First name. Defaults to the part of the address before the @ when the account is shown.';
comment on column auth.users.last_name is 'Last name, if any.';
comment on column auth.users.app_role is
  'The claim app_role of the account''s sessions and tokens; admin may review reports. Set by the DBA.';
comment on column auth.users.created_at is 'When the account was registered.';
comment on column auth.users.updated_at is 'When the account was last changed.';

-- Session ids and API keys are stored only as SHA-256 hashes, which are useless to anyone who reads the tables.
create table auth.sessions (
  id uuid constraint sessions_pkey primary key default gen_random_uuid(),
  id_hash bytea not null
    constraint sessions_id_hash_key unique
    constraint sessions_id_hash_check check (octet_length(id_hash) = 32),
  user_id uuid not null constraint sessions_user_id_fkey references auth.users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index sessions_user_id_idx on auth.sessions (user_id);
comment on table auth.sessions is 'Sessions of accounts, started by sign-in or sign-up.';
comment on column auth.sessions.id is
  'Identifies the session to its user and in tokens. The cookie contains a different, secret id.';
comment on column auth.sessions.id_hash is 'SHA-256 of the secret id in the cookie.';
comment on column auth.sessions.user_id is 'The account.';
comment on column auth.sessions.created_at is 'When the session began.';
comment on column auth.sessions.expires_at is 'When the session ends, unless it is extended.';
comment on column auth.sessions.revoked_at is 'When the session was ended early, by sign-out or a password change.';

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

-- All processes share these counts. The table is unlogged, because losing them in a crash does no harm.
create unlogged table auth.rate_limits (
  key varchar(255) constraint rate_limits_pkey primary key,
  points integer not null default 0,
  expire bigint
);
create index rate_limits_expire_idx on auth.rate_limits (expire);
comment on table auth.rate_limits is
  'Sign-in attempts, by hashes of addresses and accounts. The columns are defined by rate-limiter-flexible.';
comment on column auth.rate_limits.key is 'Name of the limit, and a hash of the address or account.';
comment on column auth.rate_limits.points is 'Attempts in the current window.';
comment on column auth.rate_limits.expire is 'End of the window, in milliseconds since 1970; null for no end.';

create trigger set_updated_at before update on auth.users
  for each row execute function rowhouse.set_updated_at();

-- Without policies, the API's roles can access accounts, sessions and keys only through the functions of the next migration.
alter table auth.users enable row level security;
alter table auth.sessions enable row level security;
alter table auth.api_keys enable row level security;
alter table auth.rate_limits enable row level security;
create policy counts on auth.rate_limits to authenticator using (true) with check (true);
comment on policy counts on auth.rate_limits is 'The server counts the attempts of all addresses and accounts.';
grant select, insert, update, delete on auth.rate_limits to authenticator;

call rowhouse.end_private_functions();
