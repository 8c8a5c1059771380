-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Profiles may exist without a row in auth.users, for users of other identity providers who sign in with a JWT.
create table public.profiles (
  id uuid constraint profiles_pkey primary key default auth.uid(),
  -- Two names of 255 characters with a space between them.
  full_name text constraint profiles_full_name_check check (char_length(full_name) between 1 and 511),
  avatar_url text constraint profiles_avatar_url_check check (char_length(avatar_url) between 1 and 2048),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table public.profiles is
  E'Profiles of users\n\nAn account has a profile from registration to deletion. Users can read and change only their own.';
comment on column public.profiles.id is 'The id of the user.';
comment on column public.profiles.full_name is 'First and last name, as the user wants to be addressed.';
comment on column public.profiles.avatar_url is 'URL of a picture of the user.';
comment on column public.profiles.created_at is 'When the profile was created.';
comment on column public.profiles.updated_at is 'When the profile was last changed.';

create table public.classification_runs (
  id uuid constraint classification_runs_pkey primary key default gen_random_uuid(),
  user_id uuid not null default auth.uid()
    constraint classification_runs_user_id_fkey references public.profiles on delete cascade,
  image_uri text not null
    constraint classification_runs_image_uri_check check (char_length(image_uri) between 1 and 2048),
  image_source text not null
    constraint classification_runs_image_source_check check (char_length(image_source) between 1 and 100),
  result_label text not null
    constraint classification_runs_result_label_check check (char_length(result_label) between 1 and 200),
  -- Also rejects NaN, which is greater than every number.
  confidence numeric not null
    constraint classification_runs_confidence_check check (confidence between 0 and 100),
  is_positive boolean not null,
  recommendation text
    constraint classification_runs_recommendation_check check (char_length(recommendation) <= 10000),
  model_version text
    constraint classification_runs_model_version_check check (char_length(model_version) between 1 and 100),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- A user's runs, newest first. The id makes the order total, for keyset pagination.
create index classification_runs_newest_idx on public.classification_runs (user_id, created_at desc, id desc);
comment on table public.classification_runs is
  E'Results of image classification\n\nUsers can read and change only their own.';
comment on column public.classification_runs.id is 'Chosen by the client, or generated.';
comment on column public.classification_runs.user_id is 'The owner; defaults to the caller.';
comment on column public.classification_runs.image_uri is 'URI of the image; may be a file on the client''s device.';
comment on column public.classification_runs.image_source is 'Source of the image: camera, gallery or file.';
comment on column public.classification_runs.result_label is 'The result, as shown by the client.';
comment on column public.classification_runs.confidence is 'Confidence in percent, from 0 to 100.';
comment on column public.classification_runs.is_positive is 'Whether the image shows the searched object.';
comment on column public.classification_runs.recommendation is 'Recommended action.';
comment on column public.classification_runs.model_version is 'Version of the model that classified the image.';
comment on column public.classification_runs.created_at is 'When the image was classified; may be set by the client.';
comment on column public.classification_runs.updated_at is 'When the row was last changed.';

create trigger set_updated_at before update on public.profiles
  for each row execute function rowhouse.set_updated_at();
create trigger set_updated_at before update on public.classification_runs
  for each row execute function rowhouse.set_updated_at();

create function rowhouse.full_name(user_meta_data jsonb) returns text
language sql immutable set search_path = ''
as $$
  select left(coalesce(
    nullif(btrim(user_meta_data ->> 'full_name'), ''),
    nullif(btrim(user_meta_data ->> 'name'), ''),
    nullif(btrim(concat_ws(' ', user_meta_data ->> 'first_name', user_meta_data ->> 'last_name')), '')
  ), 511)
$$;
comment on function rowhouse.full_name(jsonb) is
  'The name in the data of a sign-up: full_name, else name, else first_name and last_name; null without any.';

create function rowhouse.create_profile() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into public.profiles (id, full_name) values (new.id, rowhouse.full_name(new.raw_user_meta_data))
  on conflict do nothing;
  return null;
end
$$;
comment on function rowhouse.create_profile() is 'Trigger: creates a profile with the full name of a new account.';

create function rowhouse.recreate_profile() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into public.profiles (id) values (new.user_id) on conflict do nothing;
  return null;
end
$$;
comment on function rowhouse.recreate_profile() is
  'Trigger: when a session begins, recreates the profile of an account whose user deleted it.';

create function rowhouse.delete_profile() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  delete from public.profiles where profiles.id = old.id;
  return null;
end
$$;
comment on function rowhouse.delete_profile() is
  'Trigger: deletes the profile of a deleted account, and with it all rows that refer to the profile.';

create trigger create_profile after insert on auth.users
  for each row execute function rowhouse.create_profile();
create trigger recreate_profile after insert on auth.sessions
  for each row execute function rowhouse.recreate_profile();
create trigger delete_profile after delete on auth.users
  for each row execute function rowhouse.delete_profile();

-- Grants decide on commands and columns, policies on rows. `anon` has no access to tables; service_role gets its grants from
-- the default privileges of `public`.

-- Clients write whole rows, and an upsert assigns every column that is sent, changed or not. So users may write ids and
-- owners, too; the policies allow only their own, both before and after the change.
grant select, delete,
  insert (id, full_name, avatar_url),
  update (id, full_name, avatar_url)
on public.profiles to authenticated;

-- Clients that work offline choose the ids and times of their runs.
grant select, delete,
  insert (id, user_id, image_uri, image_source, result_label, confidence, is_positive, recommendation, model_version,
    created_at),
  update (id, user_id, image_uri, image_source, result_label, confidence, is_positive, recommendation, model_version,
    created_at)
on public.classification_runs to authenticated;

alter table public.profiles enable row level security;
create policy owner_select on public.profiles for select to authenticated using ((select auth.uid()) = id);
create policy owner_insert on public.profiles for insert to authenticated with check ((select auth.uid()) = id);
create policy owner_update on public.profiles for update to authenticated
  using ((select auth.uid()) = id) with check ((select auth.uid()) = id);
create policy owner_delete on public.profiles for delete to authenticated using ((select auth.uid()) = id);
-- Redundant with BYPASSRLS, but not every migrating role can grant service_role that attribute.
create policy service on public.profiles to service_role using (true) with check (true);
comment on policy owner_select on public.profiles is 'Users can read their own profile.';
comment on policy owner_insert on public.profiles is 'Users can create their own profile.';
comment on policy owner_update on public.profiles is 'Users can change their own profile.';
comment on policy owner_delete on public.profiles is 'Users can delete their own profile.';
comment on policy service on public.profiles is 'The secret key can read and write all profiles.';

alter table public.classification_runs enable row level security;
create policy owner_select on public.classification_runs for select to authenticated
  using ((select auth.uid()) = user_id);
create policy owner_insert on public.classification_runs for insert to authenticated
  with check ((select auth.uid()) = user_id);
create policy owner_update on public.classification_runs for update to authenticated
  using ((select auth.uid()) = user_id) with check ((select auth.uid()) = user_id);
create policy owner_delete on public.classification_runs for delete to authenticated
  using ((select auth.uid()) = user_id);
create policy service on public.classification_runs to service_role using (true) with check (true);
comment on policy owner_select on public.classification_runs is 'Users can read their own runs.';
comment on policy owner_insert on public.classification_runs is 'Users can add runs of their own.';
comment on policy owner_update on public.classification_runs is 'Users can change their own runs.';
comment on policy owner_delete on public.classification_runs is 'Users can delete their own runs.';
comment on policy service on public.classification_runs is 'The secret key can read and write all runs.';

call rowhouse.end_private_functions();
