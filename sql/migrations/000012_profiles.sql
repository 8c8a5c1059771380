-- Only with the services: profiles, reports, analysis
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Profiles may exist without a row in auth.users, for users of other identity providers who sign in with a JWT.
create table public.profiles (
  id uuid constraint profiles_pkey primary key default auth.uid(),
  -- Two names of 255 characters with a space between them.
  full_name text constraint profiles_full_name_check check (char_length(full_name) between 1 and 511),
  display_name text constraint profiles_display_name_check check (char_length(display_name) between 1 and 511),
  -- On the web or on the device of a client: a page that makes a link of `javascript:` or `data:` would execute it.
  avatar_url text
    constraint profiles_avatar_url_check check (char_length(avatar_url) between 1 and 2048)
    constraint profiles_avatar_url_scheme_check check (avatar_url ~* '^(https?|file|content|ph):'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table public.profiles is
  E'Profiles of users\n\nAn account has a profile from registration to deletion. Users can read and change only their own.';
comment on column public.profiles.id is 'The id of the user.';
comment on column public.profiles.full_name is
  'The person''s name. At sign-up: full_name of the user''s data, else name, else first_name and last_name.';
comment on column public.profiles.display_name is 'What others see, chosen by the user; null for the full name.';
comment on column public.profiles.avatar_url is 'URL of a picture of the user.';
comment on column public.profiles.created_at is 'When the profile was created.';
comment on column public.profiles.updated_at is 'When the profile was last changed.';

create trigger set_updated_at before update on public.profiles
  for each row execute function rowhouse.set_updated_at();

create function rowhouse.full_name(user_meta_data jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp
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
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into public.profiles (id, full_name) values (new.id, rowhouse.full_name(new.raw_user_meta_data))
  on conflict do nothing;
  return null;
end
$$;
comment on function rowhouse.create_profile() is 'Trigger: creates a profile with the full name of a new account.';

create function rowhouse.recreate_profile() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into public.profiles (id) values (new.user_id) on conflict do nothing;
  return null;
end
$$;
comment on function rowhouse.recreate_profile() is
  'Trigger: when a session begins, recreates the profile of an account whose user deleted it.';

create function rowhouse.delete_profile() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
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

-- Default privileges, such as those of Supabase, give `anon` and `authenticated` every privilege on new tables and functions in
-- `public`: users could write columns that they must not write.
revoke all on public.profiles from anon, authenticated;
-- Clients write whole rows, and an upsert assigns every column that is sent, changed or not. So users may write ids and
-- owners, too; the policies allow only their own, both before and after the change.
grant select, delete,
  insert (id, full_name, display_name, avatar_url),
  update (id, full_name, display_name, avatar_url)
on public.profiles to authenticated;

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

-- The title and the description of the OpenAPI document. A comment set by the DBA is kept.
do $$
begin
  if coalesce(pg_catalog.obj_description('public'::regnamespace, 'pg_namespace'), 'standard public schema')
    = 'standard public schema'
  then
    comment on schema public is
      E'Profiles, classification runs and vehicle reports\n\nProfiles of users, results of image classification, and reports about vehicles with estimates of their value.';
  end if;
exception
  when insufficient_privilege then
    raise notice 'only the owner of the schema public can comment on it: the OpenAPI document has no title of its own';
end
$$;

call rowhouse.end_private_functions();
