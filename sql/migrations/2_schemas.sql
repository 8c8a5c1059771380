-- `auth` holds accounts, sessions and keys, and is never exposed. `rowhouse`, which exists already because it holds the
-- record of migrations, takes what the program itself needs.
create schema if not exists auth;
revoke all on schema auth from public;
revoke all on schema rowhouse from public;

-- Text that compares without regard to case, for e-mail addresses. Where it is installed already, it stays there.
do $$
begin
  if not exists (select from pg_catalog.pg_extension where extname = 'citext') then
    create schema if not exists extensions;
    create extension citext with schema extensions;
  end if;
end
$$;
