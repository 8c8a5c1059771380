// The tables of a small project, as in Supabase's guides: rows of users, and a trigger that follows sign-ups.

/** SQL: `notes`, which belong to their users, and `members`, which `handle_new_user` fills. */
export const notesProject = `
  create table public.notes (
    id bigint generated always as identity primary key,
    owner uuid not null default auth.uid() references auth.users (id) on delete cascade,
    text text not null
  );
  alter table public.notes enable row level security;
  create policy own on public.notes to authenticated using ((select auth.uid()) = owner);
  grant select, insert on public.notes to authenticated;
  create table public.members (id uuid primary key references auth.users (id) on delete cascade, name text);
  create function public.handle_new_user() returns trigger language plpgsql security definer set search_path = '' as $$
  begin
    insert into public.members (id, name) values (new.id, new.raw_user_meta_data ->> 'full_name');
    return new;
  end $$;
  create trigger on_auth_user_created after insert on auth.users for each row execute function public.handle_new_user()`
