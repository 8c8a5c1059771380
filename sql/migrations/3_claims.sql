-- Who the current transaction acts for, as policies and column defaults ask for it. In a policy, write
-- `(select auth.uid())`: it is then worked out once per statement and not once per row.

create function auth.jwt() returns jsonb
language sql stable parallel safe
as $$
  select nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::pg_catalog.jsonb
$$;
comment on function auth.jwt() is 'The claims of the caller; null when there are none.';

-- A subject that is no UUID comes from elsewhere and is none of the users here: null, not an error in every policy.
create function auth.uid() returns uuid
language sql stable parallel safe
as $$
  select case
    when auth.jwt() ->> 'sub' ~ '^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$'
    then (auth.jwt() ->> 'sub')::pg_catalog.uuid
  end
$$;
comment on function auth.uid() is 'The id of the user that the caller acts for; null when there is none.';

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

revoke execute on function auth.jwt(), auth.uid(), auth.role(), auth.email() from public;
