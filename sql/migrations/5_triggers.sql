create function rowhouse.set_updated_at() returns trigger
language plpgsql set search_path = ''
as $$
begin
  new.updated_at := now();
  return new;
end
$$;

create trigger set_updated_at before update on auth.users
  for each row execute function rowhouse.set_updated_at();
create trigger set_updated_at before update on public.profiles
  for each row execute function rowhouse.set_updated_at();
create trigger set_updated_at before update on public.classification_runs
  for each row execute function rowhouse.set_updated_at();
create trigger set_updated_at before update on public.reports
  for each row execute function rowhouse.set_updated_at();

-- Whoever registers has a profile from the start, and takes it along with all that hangs on it when the account goes.
create function rowhouse.create_profile() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into public.profiles (id) values (new.id) on conflict do nothing;
  return null;
end
$$;

create function rowhouse.delete_profile() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  delete from public.profiles where profiles.id = old.id;
  return null;
end
$$;

revoke execute on function rowhouse.set_updated_at(), rowhouse.create_profile(), rowhouse.delete_profile() from public;

create trigger create_profile after insert on auth.users
  for each row execute function rowhouse.create_profile();
create trigger delete_profile after delete on auth.users
  for each row execute function rowhouse.delete_profile();
