-- Wherever citext is installed, this transaction finds its name.
select set_config('search_path', quote_ident(nspname), true)
from pg_catalog.pg_extension
join pg_catalog.pg_namespace on pg_namespace.oid = extnamespace
where extname = 'citext';

create table auth.users (
  id uuid primary key default gen_random_uuid(),
  email citext not null unique check (octet_length(email) between 3 and 254),
  password_hash text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Of sessions and keys only the SHA-256 hash is kept: whoever reads these tables can use neither.
create table auth.sessions (
  id uuid primary key default gen_random_uuid(),
  id_hash bytea not null unique check (octet_length(id_hash) = 32),
  user_id uuid not null references auth.users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index on auth.sessions (user_id);
comment on column auth.sessions.id is 'Names the session to its user; the cookie holds another id, which is secret.';

create table auth.api_keys (
  id uuid primary key default gen_random_uuid(),
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  hint text not null,
  label text not null check (char_length(label) between 1 and 200),
  role text not null,
  user_id uuid references auth.users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- A key that acts as a user has that user's rights and no others.
  check (user_id is null or role = 'authenticated')
);
create index on auth.api_keys (user_id);
comment on column auth.api_keys.hint is 'The first characters of the key, to recognise it by.';

-- Not every profile has a row in auth.users: identities may come from elsewhere, with a JWT.
create table public.profiles (
  id uuid primary key default auth.uid(),
  display_name text check (char_length(display_name) between 1 and 100),
  avatar_url text check (char_length(avatar_url) between 1 and 2048),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table public.profiles is 'What a user shows of themselves. The id is the user''s.';

create table public.classification_runs (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null default auth.uid() references public.profiles on delete cascade,
  image_uri text not null check (char_length(image_uri) between 1 and 2048),
  image_source text not null check (char_length(image_source) between 1 and 100),
  result_label text not null check (char_length(result_label) between 1 and 200),
  -- NaN is greater than every number, so it is refused, too.
  confidence numeric not null check (confidence between 0 and 100),
  is_positive boolean not null,
  recommendation text check (char_length(recommendation) <= 10000),
  model_version text check (char_length(model_version) between 1 and 100),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- A user's runs, the newest first; the id makes the order total, for pages that go on from a row.
create index on public.classification_runs (user_id, created_at desc, id desc);
comment on table public.classification_runs is 'Results of image classification.';
comment on column public.classification_runs.confidence is 'Percent, from 0 to 100.';

create table public.reports (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null default auth.uid() references public.profiles on delete cascade,
  manufacturer text not null
    check (char_length(manufacturer) between 1 and 100 and manufacturer = btrim(manufacturer, E' \t\r\n')),
  model text not null check (char_length(model) between 1 and 100 and model = btrim(model, E' \t\r\n')),
  -- Looks at the clock, which is sound here: a year that passed once passes ever after.
  year integer not null
    check (year between 1886 and extract(year from statement_timestamp() at time zone 'UTC')::integer + 1),
  mileage numeric not null check (mileage between 0 and 2000000),
  price numeric not null check (price between 0 and 100000000),
  lat double precision not null check (lat between -90 and 90),
  lng double precision not null check (lng between -180 and 180),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index on public.reports (user_id, created_at desc, id desc);
comment on table public.reports is 'What owners say about their vehicles.';
comment on column public.reports.mileage is 'Kilometres.';
