-- Functions that policies and triggers call. The schema is not exposed.
create schema tenancy;
comment on schema tenancy is 'Functions of policies and triggers. Never exposed.';
revoke all on schema tenancy from public;
grant usage on schema tenancy to anon, authenticated, service_role;

create function tenancy.claim(name text) returns text
language sql stable set search_path = ''
as $$
  select nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::pg_catalog.jsonb operator(pg_catalog.->>) $1
$$;
comment on function tenancy.claim(text) is 'A claim of the caller; null if the token lacks it.';

create function tenancy.rank(role text) returns integer
language sql immutable set search_path = ''
as $$
  select pg_catalog.array_position(array['viewer', 'member', 'admin', 'owner'], $1)
$$;
comment on function tenancy.rank(text) is 'Roles within an organisation in ascending order: viewer 1, member 2, admin 3, owner 4.';

create function tenancy.set_updated_at() returns trigger
language plpgsql set search_path = ''
as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function tenancy.set_updated_at() is 'Trigger: sets updated_at to the time of the transaction.';

revoke execute on all functions in schema tenancy from public;
grant execute on function tenancy.claim(text), tenancy.rank(text) to authenticated, service_role;
grant execute on function tenancy.set_updated_at() to authenticated, service_role;
