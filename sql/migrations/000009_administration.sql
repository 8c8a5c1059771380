-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Administration of accounts. The functions that change something return {"refused": <reason>} when nothing was changed, and
-- null when there is no such account. `actor` is the role of the administrator, for the audit log.
create function auth.admin_account(actor text) returns auth.users
language sql immutable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.jsonb_populate_record(null::auth.users, pg_catalog.jsonb_build_object(
    'id', '00000000-0000-0000-0000-000000000000', 'email', $1, 'is_sso_user', false
  ))
$$;
comment on function auth.admin_account(text) is
  'Stands for an administrator in the audit log: the zero UUID, with the role in the place of an address.';

create function auth.sha256_base64url(plain text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.rtrim(pg_catalog.translate(
    pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to($1, 'UTF8')), 'base64'), '+/', '-_'
  ), '=')
$$;
comment on function auth.sha256_base64url(text) is 'The SHA-256 of a text in the alphabet of base64url, without padding.';

create function auth.like_pattern(part text) returns text
language sql immutable set search_path = pg_catalog, pg_temp
as $$
  select '%' || pg_catalog.regexp_replace($1, '([\\%_])', '\\\1', 'g') || '%'
$$;
comment on function auth.like_pattern(text) is 'The pattern of texts that contain a text.';

create function auth.list_users(audience text, filter text, ascending boolean, page_size bigint, skipped bigint)
returns table (users json, total bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  found uuid[];
  pattern constant text := auth.like_pattern(lower($2));
begin
  if $2 <> '' then
    found := array(
      select accounts.id from auth.users as accounts
      where coalesce(nullif(accounts.aud, ''), $1) = $1 and (
        lower(accounts.email) = lower($2)
        or accounts.phone = ltrim($2, '+')
        or accounts.id = case when $2 ~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then $2::uuid end
      )
    );
    if cardinality(found) = 0 then
      found := array(
        select accounts.id from auth.users as accounts
        where coalesce(nullif(accounts.aud, ''), $1) = $1 and (
          lower(accounts.email) like pattern
          or accounts.phone like auth.like_pattern(ltrim($2, '+'))
          or lower(accounts.raw_user_meta_data ->> 'full_name') like pattern
        )
      );
    end if;
  end if;
  return query
    select
      (
        select coalesce(json_agg(auth.user_object(page.account) order by page.place), '[]')
        from (
          select accounts as account, row_number() over (
            order by
              case when $3 then accounts.created_at end, case when not $3 then accounts.created_at end desc,
              accounts.id
          ) as place
          from auth.users as accounts
          where coalesce(nullif(accounts.aud, ''), $1) = $1 and (found is null or accounts.id = any (found))
          order by place
          limit $4 offset $5
        ) as page
      ),
      case
        when found is null then (
          select count(*) from auth.users as accounts where coalesce(nullif(accounts.aud, ''), $1) = $1
        )
        else cardinality(found)
      end;
end
$$;
comment on function auth.list_users(text, text, boolean, bigint, bigint) is
  E'A page of accounts by the time of their registration, and the number of all accounts.\n\nA filter that is the address, phone number or id of an account selects this account; any other, those whose address, phone number or full name contains it. An empty one selects all.';

create function auth.admin_find_user(user_id uuid) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select auth.user_object(users) from auth.users where users.id = $1
$$;
comment on function auth.admin_find_user(uuid) is 'The user object of an account.';

create function auth.set_identity(account auth.users, provider text, is_verified boolean) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  insert into auth.identities (
    id, provider_id, user_id, provider, identity_data, last_sign_in_at, created_at, updated_at
  )
  values (
    gen_random_uuid(), $1.id, $1.id, $2,
    pg_catalog.jsonb_build_object('email_verified', false, 'phone_verified', false)
      || pg_catalog.jsonb_build_object(
        'sub', $1.id, $2, case $2 when 'email' then $1.email else $1.phone end, $2 || '_verified', $3
      ),
    -- Identities are listed by time.
    clock_timestamp(), clock_timestamp(), clock_timestamp()
  )
  on conflict (provider_id, provider) do update
  set identity_data = identities.identity_data || pg_catalog.jsonb_build_object(
      $2, excluded.identity_data -> $2, $2 || '_verified', $3
    ),
    updated_at = now()
$$;
comment on function auth.set_identity(auth.users, text, boolean) is
  'Creates the identity of an account for its address or phone number (`provider` is email or phone), or changes it.';

create function auth.admin_create_user(attributes jsonb, password_hash text, ban interval, actor text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  account auth.users;
  address constant text := nullif(lower(($1 ->> 'email') collate "C"), '');
  number constant text := nullif($1 ->> 'phone', '');
  is_email_confirmed constant boolean := coalesce(($1 ->> 'email_confirm')::boolean, false) and address is not null;
  is_phone_confirmed constant boolean := coalesce(($1 ->> 'phone_confirm')::boolean, false) and number is not null;
  providers constant text[] := array_remove(
    array[case when address is not null then 'email' end, case when number is not null then 'phone' end], null
  );
  relation text;
  violated text;
begin
  if exists (select from auth.users where lower(users.email collate "C") = address and users.is_sso_user = false) then
    return '{"refused": "email_exists"}';
  end if;
  if exists (select from auth.users where users.phone = number) then
    return '{"refused": "phone_exists"}';
  end if;
  insert into auth.users (
    instance_id, id, aud, role, email, phone, encrypted_password, email_confirmed_at, phone_confirmed_at,
    confirmation_token, recovery_token, email_change, email_change_token_new, email_change_token_current, phone_change,
    phone_change_token, reauthentication_token, raw_app_meta_data, raw_user_meta_data, banned_until, created_at, updated_at
  )
  values (
    '00000000-0000-0000-0000-000000000000', coalesce(($1 ->> 'id')::uuid, gen_random_uuid()), $1 ->> 'aud', $1 ->> 'role',
    address, number, $2, case when is_email_confirmed then now() end, case when is_phone_confirmed then now() end,
    '', '', '', '', '', '', '', '',
    auth.merge_metadata(
      jsonb_build_object('provider', providers[1], 'providers', providers), coalesce(nullif($1 -> 'app_metadata', 'null'), '{}')
    ),
    auth.merge_metadata(
      coalesce(nullif($1 -> 'user_metadata', 'null'), '{}'),
      case when is_email_confirmed then '{"email_verified": true}'::jsonb else '{}' end
    ),
    case when $3 <> interval '0' then now() + $3 end, now(), now()
  )
  returning users.* into account;
  if address is not null then
    perform auth.set_identity(account, 'email', is_email_confirmed);
  end if;
  if number is not null then
    perform auth.set_identity(account, 'phone', is_phone_confirmed);
  end if;
  perform auth.record_audit(
    auth.admin_account($4), 'user_signedup', 'team',
    jsonb_build_object(
      'user_id', account.id, 'user_email', account.email, 'user_phone', account.phone, 'provider', providers[1]
    ),
    $5
  );
  return auth.user_object(account);
exception
  -- Another request, or an account with the same id. Triggers may violate constraints of other tables.
  when unique_violation then
    get stacked diagnostics relation = table_name, violated = constraint_name;
    if relation is distinct from 'users' then
      raise;
    end if;
    return json_build_object(
      'refused', case when violated like '%pkey' then 'id_exists' when violated like '%phone%' then 'phone_exists' else 'email_exists' end
    );
end
$$;
comment on function auth.admin_create_user(jsonb, text, interval, text, text) is
  E'Creates an account. `attributes` are those of the request; an address or a phone number is required, `ban` is a duration.\n\nReturns the user object.';

create function auth.admin_update_user(
  user_id uuid, attributes jsonb, password_hash text, ban interval, actor text, ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  account auth.users;
  address constant text := nullif(lower(($2 ->> 'email') collate "C"), '');
  number constant text := nullif($2 ->> 'phone', '');
  confirms_email constant boolean := coalesce(($2 ->> 'email_confirm')::boolean, false);
  confirms_phone constant boolean := coalesce(($2 ->> 'phone_confirm')::boolean, false);
  added text[];
  relation text;
  violated text;
begin
  select users.* into account from auth.users where users.id = $1 for update;
  if not found then
    return null;
  end if;
  if exists (
    select from auth.users where lower(users.email collate "C") = address and users.is_sso_user = false and users.id <> $1
  ) and not account.is_sso_user then
    return '{"refused": "email_exists"}';
  end if;
  if exists (select from auth.users where users.phone = number and users.id <> $1) then
    return '{"refused": "phone_exists"}';
  end if;
  -- A new address or phone number is a further way to sign in.
  added := array(
    select kind from unnest(array[case when address is not null then 'email' end, case when number is not null then 'phone' end])
      as kinds (kind)
    where kind is not null and not coalesce(account.raw_app_meta_data -> 'providers' ? kind, false)
  );
  update auth.users set
    role = coalesce(nullif($2 ->> 'role', ''), users.role),
    email = coalesce(address, users.email),
    phone = coalesce(number, users.phone),
    encrypted_password = coalesce($3, users.encrypted_password),
    email_confirmed_at = case when confirms_email then now() else users.email_confirmed_at end,
    -- The administrator vouches for an account with the address or password of the request, but proves no address.
    email_unproven = case
      when not confirms_email then users.email_unproven
      else address is null and $3 is null and (users.email_unproven or users.password_unproven)
    end,
    phone_unproven = case
      when not confirms_phone then users.phone_unproven
      else number is null and $3 is null and (users.phone_unproven or users.password_unproven)
    end,
    password_unproven = users.password_unproven and $3 is null and not confirms_email and not confirms_phone,
    phone_confirmed_at = case when confirms_phone then now() else users.phone_confirmed_at end,
    is_anonymous = users.is_anonymous
      and not (address is not null and confirms_email) and not (number is not null and confirms_phone),
    raw_app_meta_data = auth.merge_metadata(
      case when added = '{}' then users.raw_app_meta_data
      else auth.merge_metadata(users.raw_app_meta_data, jsonb_build_object(
        'provider', coalesce(users.raw_app_meta_data ->> 'provider', added[1]),
        'providers', coalesce(nullif(users.raw_app_meta_data -> 'providers', 'null'), '[]') || to_jsonb(added)
      )) end,
      coalesce(nullif($2 -> 'app_metadata', 'null'), '{}')
    ),
    raw_user_meta_data = auth.merge_metadata(
      auth.merge_metadata(
        users.raw_user_meta_data, case when confirms_email then '{"email_verified": true}'::jsonb else '{}' end
      ),
      coalesce(nullif($2 -> 'user_metadata', 'null'), '{}')
    ),
    banned_until = case
      when $4 is null then users.banned_until
      when $4 <> interval '0' then now() + $4
    end,
    updated_at = now()
  where users.id = $1
  returning users.* into account;
  if address is not null then
    perform auth.set_identity(account, 'email', confirms_email);
  end if;
  if number is not null then
    perform auth.set_identity(account, 'phone', confirms_phone);
  end if;
  -- Codes that are pending were sent to the old address, confirm what is confirmed, or could set another password.
  if address is not null or number is not null or confirms_email or confirms_phone or $3 is not null then
    perform auth.clear_one_time_tokens($1);
    select users.* into account from auth.users where users.id = $1;
  end if;
  if $3 is not null then
    delete from auth.sessions where sessions.user_id = $1;
    perform auth.revoke_oauth_grants($1);
  end if;
  perform auth.record_audit(
    auth.admin_account($5), 'user_modified', 'user',
    jsonb_build_object('user_id', $1, 'user_email', account.email, 'user_phone', account.phone), $6
  );
  return auth.user_object(account);
exception
  when unique_violation then
    get stacked diagnostics relation = table_name, violated = constraint_name;
    if relation is distinct from 'users' then
      raise;
    end if;
    return json_build_object('refused', case when violated like '%phone%' then 'phone_exists' else 'email_exists' end);
end
$$;
comment on function auth.admin_update_user(uuid, jsonb, text, interval, text, text) is
  E'Changes an account as the request says; a new password ends all its sessions.\n\nReturns the user object.';

create function auth.admin_delete_user(user_id uuid, is_soft boolean, actor text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
begin
  select users.* into account from auth.users where users.id = $1 for update;
  if not found then
    return null;
  end if;
  perform auth.record_audit(
    auth.admin_account($3), 'user_deleted', 'team',
    jsonb_build_object('user_id', $1, 'user_email', account.email, 'user_phone', account.phone), $4
  );
  if not $2 then
    delete from auth.users where users.id = $1;
  elsif account.deleted_at is null then
    perform auth.clear_one_time_tokens($1);
    update auth.users set
      email = auth.sha256_base64url($1::text || users.email),
      phone = left(auth.sha256_base64url($1::text || nullif(users.phone, '')), 15),
      email_change = coalesce(auth.sha256_base64url($1::text || nullif(users.email_change, '')), ''),
      phone_change = coalesce(left(auth.sha256_base64url($1::text || nullif(users.phone_change, '')), 15), ''),
      encrypted_password = null,
      raw_user_meta_data = '{}',
      raw_app_meta_data = '{}',
      deleted_at = now(),
      updated_at = now()
    where users.id = $1;
    update auth.identities set
      identity_data = '{}',
      provider_id = auth.sha256_base64url($1::text || identities.provider || ':' || identities.provider_id),
      updated_at = now()
    where identities.user_id = $1;
    delete from auth.mfa_factors where mfa_factors.user_id = $1;
    delete from auth.mfa_recovery_codes where mfa_recovery_codes.user_id = $1;
    delete from auth.sessions where sessions.user_id = $1;
  end if;
  return '{}';
end
$$;
comment on function auth.admin_delete_user(uuid, boolean, text, text) is
  'Deletes an account with all its rows. Softly: keeps its row and identities, with hashes in the place of addresses.';

create function auth.list_factors(user_id uuid) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (
      select pg_catalog.json_agg(auth.factor_object(mfa_factors) order by mfa_factors.created_at, mfa_factors.id)
      from auth.mfa_factors where mfa_factors.user_id = users.id
    ),
    '[]'
  )
  from auth.users where users.id = $1
$$;
comment on function auth.list_factors(uuid) is 'The factors of an account.';

create function auth.admin_update_factor(
  user_id uuid, factor_id uuid, friendly_name text, phone text, actor text, ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  factor auth.mfa_factors;
begin
  perform from auth.users where users.id = $1 for no key update;
  if not found then
    return null;
  end if;
  update auth.mfa_factors set
    friendly_name = coalesce(nullif($3, ''), mfa_factors.friendly_name),
    phone = case when mfa_factors.factor_type = 'phone' then coalesce($4, mfa_factors.phone) end,
    updated_at = now()
  where mfa_factors.id = $2 and mfa_factors.user_id = $1
  returning mfa_factors.* into factor;
  if not found then
    return '{"refused": "mfa_factor_not_found"}';
  end if;
  perform auth.record_audit(
    auth.admin_account($5), 'factor_updated', 'factor',
    jsonb_build_object('user_id', $1, 'factor_id', $2, 'factor_type', factor.factor_type), $6
  );
  return auth.factor_object(factor);
exception
  when unique_violation then
    return '{"refused": "mfa_factor_name_conflict"}';
end
$$;
comment on function auth.admin_update_factor(uuid, uuid, text, text, text, text) is
  'Changes the name of a factor, and the number of a phone factor; null leaves a value unchanged.';

create function auth.admin_delete_factor(user_id uuid, factor_id uuid, actor text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  factor auth.mfa_factors;
begin
  perform from auth.users where users.id = $1 for no key update;
  if not found then
    return null;
  end if;
  select mfa_factors.* into factor from auth.mfa_factors
  where mfa_factors.id = $2 and mfa_factors.user_id = $1 for update;
  if not found then
    return '{"refused": "mfa_factor_not_found"}';
  end if;
  perform auth.remove_factor(factor);
  perform auth.record_audit(
    auth.admin_account($3), 'factor_deleted', 'factor', jsonb_build_object('user_id', $1, 'factor_id', $2), $4
  );
  return auth.factor_object(factor);
end
$$;
comment on function auth.admin_delete_factor(uuid, uuid, text, text) is
  'Deletes a factor; the sessions that it has raised fall back to aal1. Returns the factor.';

create function auth.list_audit_entries(members text[], part text, page_size bigint, skipped bigint)
returns table (entries json, total bigint)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  with matching as (
    select entry.id, entry.payload, entry.created_at, entry.ip_address
    from auth.audit_log_entries as entry
    where $2 = '' or exists (
      select from unnest($1) as names (name) where entry.payload ->> name ilike auth.like_pattern($2)
    )
  )
  select
    (
      select coalesce(pg_catalog.json_agg(
        pg_catalog.json_build_object(
          'id', page.id, 'payload', page.payload, 'created_at', auth.json_time(page.created_at),
          'ip_address', page.ip_address
        )
        order by page.created_at desc, page.id
      ), '[]')
      from (select * from matching order by created_at desc, id limit $3 offset $4) as page
    ),
    (select count(*) from matching)
$$;
comment on function auth.list_audit_entries(text[], text, bigint, bigint) is
  'A page of the audit log, newest first: entries where one of the named members contains a text, and their number.';

grant execute on function
  auth.admin_account(text),
  auth.sha256_base64url(text),
  auth.like_pattern(text),
  auth.list_users(text, text, boolean, bigint, bigint),
  auth.admin_find_user(uuid),
  auth.set_identity(auth.users, text, boolean),
  auth.admin_create_user(jsonb, text, interval, text, text),
  auth.admin_update_user(uuid, jsonb, text, interval, text, text),
  auth.admin_delete_user(uuid, boolean, text, text),
  auth.list_factors(uuid),
  auth.admin_update_factor(uuid, uuid, text, text, text, text),
  auth.admin_delete_factor(uuid, uuid, text, text),
  auth.list_audit_entries(text[], text, bigint, bigint)
to supabase_auth_admin;

call rowhouse.end_private_functions();
