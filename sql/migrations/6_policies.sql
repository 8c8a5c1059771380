-- Accounts, sessions and keys have no policy at all: no role of the API reads them but through the functions of `auth`.
alter table auth.users enable row level security;
alter table auth.sessions enable row level security;
alter table auth.api_keys enable row level security;

alter table public.profiles enable row level security;
alter table public.classification_runs enable row level security;
alter table public.reports enable row level security;

create policy owner_select on public.profiles for select to authenticated using ((select auth.uid()) = id);
create policy owner_insert on public.profiles for insert to authenticated with check ((select auth.uid()) = id);
create policy owner_update on public.profiles for update to authenticated
  using ((select auth.uid()) = id) with check ((select auth.uid()) = id);
create policy owner_delete on public.profiles for delete to authenticated using ((select auth.uid()) = id);

create policy owner_select on public.classification_runs for select to authenticated
  using ((select auth.uid()) = user_id);
create policy owner_insert on public.classification_runs for insert to authenticated
  with check ((select auth.uid()) = user_id);
create policy owner_update on public.classification_runs for update to authenticated
  using ((select auth.uid()) = user_id) with check ((select auth.uid()) = user_id);
create policy owner_delete on public.classification_runs for delete to authenticated
  using ((select auth.uid()) = user_id);

create policy owner_select on public.reports for select to authenticated using ((select auth.uid()) = user_id);
create policy owner_insert on public.reports for insert to authenticated with check ((select auth.uid()) = user_id);
create policy owner_update on public.reports for update to authenticated
  using ((select auth.uid()) = user_id) with check ((select auth.uid()) = user_id);
create policy owner_delete on public.reports for delete to authenticated using ((select auth.uid()) = user_id);

-- BYPASSRLS makes these superfluous, but not every migrating role can give service_role that attribute.
create policy service on public.profiles to service_role using (true) with check (true);
create policy service on public.classification_runs to service_role using (true) with check (true);
create policy service on public.reports to service_role using (true) with check (true);
