-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The sessions of /auth/v1, with refresh tokens. These functions run with the rights of supabase_auth_admin.

-- Objects as clients get them

create function auth.json_time(moment timestamptz) returns text
language sql stable parallel safe
as $$
  select pg_catalog.to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
comment on function auth.json_time(timestamptz) is 'A time in the notation of RFC 3339, in UTC.';

create function auth.factor_object(factor auth.mfa_factors) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
    'id', $1.id,
    'created_at', auth.json_time($1.created_at),
    'updated_at', auth.json_time($1.updated_at),
    'status', $1.status,
    'friendly_name', nullif($1.friendly_name, ''),
    'factor_type', $1.factor_type,
    'phone', coalesce($1.phone, ''),
    'last_challenged_at', auth.json_time($1.last_challenged_at)
  ))
$$;
comment on function auth.factor_object(auth.mfa_factors) is 'A factor as the API shows it, without its secret.';

-- Building jsonb, or removing the nulls here, would take most of the time of a request that reads the account.
create function auth.user_record(account auth.users) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.row_to_json(record)
  from (
    select
      account.id,
      coalesce(account.aud, '') as aud,
      coalesce(account.role, '') as role,
      coalesce(account.email, '') as email,
      coalesce(account.phone, '') as phone,
      coalesce(account.raw_app_meta_data, '{}') as app_metadata,
      coalesce(account.raw_user_meta_data, '{}') as user_metadata,
      array(
        select pg_catalog.row_to_json(identity)
        from (
          select
            identities.id as identity_id,
            identities.provider_id as id,
            identities.user_id,
            identities.identity_data,
            identities.provider,
            auth.json_time(identities.last_sign_in_at) as last_sign_in_at,
            auth.json_time(identities.created_at) as created_at,
            auth.json_time(identities.updated_at) as updated_at,
            nullif(identities.email, '') as email
          from auth.identities where identities.user_id = account.id
          order by identities.created_at, identities.id
        ) as identity
      ) as identities,
      coalesce(auth.json_time(account.created_at), '0001-01-01T00:00:00Z') as created_at,
      coalesce(auth.json_time(account.updated_at), '0001-01-01T00:00:00Z') as updated_at,
      account.is_anonymous,
      auth.json_time(account.email_confirmed_at) as email_confirmed_at,
      auth.json_time(account.invited_at) as invited_at,
      auth.json_time(account.phone_confirmed_at) as phone_confirmed_at,
      auth.json_time(account.confirmation_sent_at) as confirmation_sent_at,
      auth.json_time(account.confirmed_at) as confirmed_at,
      auth.json_time(account.recovery_sent_at) as recovery_sent_at,
      nullif(account.email_change, '') as new_email,
      auth.json_time(account.email_change_sent_at) as email_change_sent_at,
      nullif(account.phone_change, '') as new_phone,
      auth.json_time(account.phone_change_sent_at) as phone_change_sent_at,
      auth.json_time(account.reauthentication_sent_at) as reauthentication_sent_at,
      auth.json_time(account.last_sign_in_at) as last_sign_in_at,
      auth.json_time(account.banned_until) as banned_until,
      auth.json_time(account.deleted_at) as deleted_at,
      (
        select pg_catalog.json_agg(auth.factor_object(factors) order by factors.created_at, factors.id)
        from auth.mfa_factors as factors where factors.user_id = account.id
      ) as factors
  ) as record
$$;
comment on function auth.user_record(auth.users) is
  E'An account as clients get it, with its identities and second factors, before members that are null are removed.\n\nA null of ours is written without a blank after the colon, one of the metadata (jsonb) with one.';

create function auth.user_object(account auth.users) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.regexp_replace(auth.user_record(account)::text, ',"[a-z_]+":null', '', 'g')::json
$$;
comment on function auth.user_object(auth.users) is 'An account as clients get it, with its identities and second factors.';

-- Sessions

create function auth.new_refresh_token() returns text
language plpgsql volatile
as $$
declare
  id constant text := replace(gen_random_uuid()::text, '-', '');
  half bigint;
  token text := '';
begin
  -- The first and the last 48 bits of a random UUID are all random.
  foreach half in array array[('x' || left(id, 12))::bit(48)::bigint, ('x' || right(id, 12))::bit(48)::bigint]
  loop
    for place in 1..6 loop
      token := token || substr('0123456789abcdefghijklmnopqrstuvwxyz', (half % 36)::integer + 1, 1);
      half := half / 36;
    end loop;
  end loop;
  return token;
end
$$;
comment on function auth.new_refresh_token() is 'A random refresh token: 12 letters and digits.';

create function auth.add_refresh_token(user_id uuid, session_id uuid) returns text
language sql set search_path = pg_catalog, pg_temp
as $$
  insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
  values ('00000000-0000-0000-0000-000000000000', auth.new_refresh_token(), $1::text, false, now(), now(), $2)
  returning token
$$;
comment on function auth.add_refresh_token(uuid, uuid) is 'Gives a session its first refresh token, and returns it.';

-- The callers set the search path: to set it here as well would cost time at every refresh.
create function auth.issued_session(session auth.sessions, account auth.users, refresh_token text) returns json
language sql stable
as $$
  select json_build_object(
    'session', json_build_object(
      'id', session.id,
      'aal', coalesce(session.aal, 'aal1'),
      'amr', (
        select coalesce(
          json_agg(
            json_build_object(
              'method', claims.authentication_method,
              'timestamp', floor(extract(epoch from claims.updated_at))::bigint
            )
            order by claims.updated_at desc, claims.authentication_method
          ),
          '[]'
        )
        from auth.mfa_amr_claims as claims where claims.session_id = session.id
      ),
      'created_at', floor(extract(epoch from session.created_at))::bigint,
      'not_after', floor(extract(epoch from session.not_after))::bigint,
      'has_verified_factor', exists (
        select from auth.mfa_factors where mfa_factors.user_id = account.id and mfa_factors.status = 'verified'
      ),
      'client_id', session.oauth_client_id,
      'scope', session.scopes,
      'refresh_token', $3
    ),
    'user', auth.user_record(account),
    'app_role', account.app_role
  )
$$;
comment on function auth.issued_session(auth.sessions, auth.users, text) is
  E'What the server needs to sign an access token of a session and to respond with it: {session, user, app_role}.\n\nEvery function that starts or raises a session returns this.';

create function auth.start_session(
  user_id uuid, method text, ip text, user_agent text, traits jsonb default null, password_hash text default null
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  started auth.sessions;
begin
  -- `password_hash` is the hash that the password was compared with. A password change ends all sessions, and may have
  -- happened meanwhile, so no session may start with the old hash. The update waits for such a change.
  update auth.users set last_sign_in_at = now(), updated_at = now()
  where users.id = $1 and ($6 is null or users.encrypted_password = $6)
  returning users.* into account;
  if not found then
    if $6 is not null then
      perform auth.fail(400, 'invalid_credentials', 'Invalid login credentials');
    end if;
    perform auth.fail(403, 'user_not_found', 'User not found');
  end if;
  if auth.is_banned(account) then
    perform auth.fail(400, 'user_banned', 'User is banned');
  end if;
  insert into auth.sessions (id, user_id, aal, created_at, updated_at, user_agent, ip)
  values (gen_random_uuid(), $1, 'aal1', now(), now(), $4, $3::inet)
  returning sessions.* into started;
  insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
  values (gen_random_uuid(), started.id, now(), now(), $2);
  perform auth.record_audit(account, 'login', 'account', $5, $3);
  return auth.issued_session(started, account, auth.add_refresh_token($1, started.id));
end
$$;
comment on function auth.start_session(uuid, text, text, text, jsonb, text) is
  E'Starts a session of a user who was authenticated by `method`, with a refresh token. `traits` go to the audit log.\n\nWith `password_hash`, it starts only if the account still has this hash.';

-- A revoked token that is the parent of the active one gives the active one again: the client has lost the response. Any
-- other revoked token is accepted only within the reuse interval; after that it may have been stolen, so the family ends.
create function auth.refresh_session(
  token text, successor text, reuse_interval interval, rotates boolean, timebox interval, inactivity interval, low_aal interval,
  single_per_user boolean, ip text, user_agent text
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
  presented auth.refresh_tokens;
  active auth.refresh_tokens;
  current_session auth.sessions;
  account auth.users;
  locked record;
  fault text;
  issued text;
begin
  -- Concurrent refreshes of a session wait here for each other, and then see what the others have done to the token.
  select sessions as of_session, refresh_tokens as of_token, users as of_user into locked
  from auth.refresh_tokens
  join auth.sessions on sessions.id = refresh_tokens.session_id
  join auth.users on users.id = sessions.user_id
  where refresh_tokens.token = $1
  for no key update of sessions, refresh_tokens;
  if not found then
    -- A token without a session is of no use any more.
    delete from auth.refresh_tokens where refresh_tokens.token = $1;
    if found then
      return auth.session_error('session_not_found', 'No Valid Session Found', 'the session has ended');
    end if;
    return auth.session_error('refresh_token_not_found', 'Refresh Token Not Found', 'the token is unknown');
  end if;
  current_session := locked.of_session;
  presented := locked.of_token;
  account := locked.of_user;
  if auth.is_banned(account) then
    return auth.session_error('user_banned', 'User Banned', 'the user is banned');
  end if;
  fault := auth.session_fault(current_session, presented.updated_at, $5, $6, $7);
  if fault is not null then
    return auth.session_error('session_expired', fault, 'the session has expired');
  end if;
  -- The condition is not evaluated before, because a query costs more than a parameter.
  if $8 then
    if auth.has_newer_session(current_session, presented.updated_at, $5, $6, $7) then
      return auth.session_error(
        'session_expired', 'Session Expired (Revoked by Newer Login)', 'the user has a newer session'
      );
    end if;
  end if;
  if coalesce(presented.revoked, false) then
    select refresh_tokens.* into active from auth.refresh_tokens
    where refresh_tokens.session_id = current_session.id and refresh_tokens.revoked is false
    order by refresh_tokens.id desc limit 1;
    if active.parent = $1 then
      issued := active.token;
    -- Without an active token, the family has ended.
    elsif active.id is null or clock_timestamp() > presented.updated_at + $3 then
      if $4 then
        update auth.refresh_tokens set revoked = true, updated_at = now()
        where refresh_tokens.session_id = current_session.id and refresh_tokens.revoked is false;
      end if;
      return auth.session_error(
        'refresh_token_already_used', 'Already Used',
        format(
          'token %s of session %s was used %s ago, and its successor since%s',
          presented.id, current_session.id, date_trunc('second', clock_timestamp() - presented.updated_at),
          case when $4 then '; all tokens of the session are revoked' else '' end
        )
      );
    end if;
  end if;
  if issued is not null then
    successor := null;
  end if;
  -- Tokens that were used long ago are no longer needed to detect their reuse. Once a day, because it reads all of a session.
  if date(coalesce(current_session.refreshed_at, current_session.created_at at time zone 'UTC')) < date(now() at time zone 'UTC') then
    delete from auth.refresh_tokens
    where refresh_tokens.session_id = current_session.id and refresh_tokens.revoked
      and refresh_tokens.updated_at < now() - interval '7 days' and refresh_tokens.id <> presented.id;
  end if;
  -- In one statement, because separate ones cost more.
  with used as (
    update auth.refresh_tokens set revoked = true, updated_at = now()
    where refresh_tokens.id = presented.id and refresh_tokens.revoked is not true and successor is not null
  ), created as (
    insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
    select
      '00000000-0000-0000-0000-000000000000', successor, account.id::text, false, now(), now(), $1, current_session.id
    where successor is not null
  ), recorded as (
    insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
    select
      '00000000-0000-0000-0000-000000000000', gen_random_uuid(), auth.audit_payload(account, entry.action, 'token', null),
      now(), left(coalesce($9, ''), 64)
    from (values ('token_revoked', successor is not null), ('token_refreshed', true)) as entry (action, applies)
    where entry.applies
  )
  update auth.sessions
  set refreshed_at = now() at time zone 'UTC', updated_at = now(), user_agent = $10, ip = $9::inet
  where sessions.id = current_session.id;
  -- What is issued has none of the columns that have changed.
  return auth.issued_session(current_session, account, coalesce(issued, successor));
end
$$;
comment on function auth.refresh_session(
  text, text, interval, boolean, interval, interval, interval, boolean, text, text
) is
  E'Exchanges a refresh token for its successor, a new random token, and returns the session, or {error}: status, code, message, and a reason for the log.\n\nConcurrent calls with one token return the same successor.';

create function auth.end_sessions(user_id uuid, session_id uuid, scope text, ip text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  is_low boolean;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  is_low := auth.lacks_second_factor($1, $2);
  if is_low and $3 = 'others' then
    perform auth.fail(403, 'insufficient_aal', 'AAL2 required to end other sessions');
  end if;
  if account.id is not null then
    perform auth.record_audit(account, 'logout', 'account', null, $4);
  end if;
  delete from auth.sessions
  where sessions.user_id = $1
    and case
      when $2 is null or $3 = 'global' then true
      when $3 = 'local' then sessions.id = $2
      else sessions.id <> $2
    end
    -- Signing out always ends the session itself.
    and (not is_low or sessions.id is not distinct from $2 or coalesce(sessions.aal, 'aal1') < 'aal2');
end
$$;
comment on function auth.end_sessions(uuid, uuid, text, text) is
  E'Signs out: ends all sessions of an account (`global`), the given one (`local`), or all but the given one (`others`).\n\nA session that lacks the second factor of its account may not end others; `global` then spares sessions that have it.';

create function auth.find_caller(user_id uuid, session_id uuid)
returns table (user_record json, state json)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select auth.user_record(account), json_build_object(
    'banned', auth.is_banned(account),
    'session', case when sessions.id is not null then json_build_object(
      'id', sessions.id,
      'aal', coalesce(sessions.aal, 'aal1'),
      'created_at', auth.json_time(sessions.created_at),
      'client_id', sessions.oauth_client_id,
      'scope', sessions.scopes,
      'is_recovery', exists (
        select from auth.mfa_amr_claims
        where mfa_amr_claims.session_id = sessions.id and mfa_amr_claims.authentication_method = 'recovery'
      )
    ) end,
    'row', json_build_object(
      'email', account.email,
      'phone', account.phone,
      'is_anonymous', account.is_anonymous,
      'is_sso_user', account.is_sso_user,
      'email_confirmed', account.email_confirmed_at is not null,
      'phone_confirmed', account.phone_confirmed_at is not null,
      'email_proved', account.email_confirmed_at is not null and not account.email_unproven,
      'phone_proved', account.phone_confirmed_at is not null and not account.phone_unproven,
      'has_password', coalesce(account.encrypted_password, '') <> '',
      'has_verified_factor', auth.has_verified_factor(account.id),
      'last_sign_in_at', auth.json_time(account.last_sign_in_at)
    )
  )
  from auth.users as account
  left join auth.sessions on sessions.id = $2 and sessions.user_id = account.id and not auth.has_ended(sessions)
  where account.id = $1
$$;
comment on function auth.find_caller(uuid, uuid) is
  'The account and the session of an access token: the record of the user, and {banned, session, row}. The session is null if it has ended.';

create function auth.find_sign_in(address text, number text, audience text) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select json_build_object(
    'id', account.id,
    'password_hash', nullif(account.encrypted_password, ''),
    'banned', auth.is_banned(account),
    'email_confirmed', account.email_confirmed_at is not null,
    'email_unproven', account.email_unproven,
    'phone_confirmed', account.phone_confirmed_at is not null
  )
  from auth.users as account
  where account.is_sso_user = false
    and case when $1 is null then account.phone = $2 else lower(account.email collate "C") = lower($1 collate "C") end
    and coalesce(account.aud, $3) = $3
  -- Only a seed can write an address twice, in different case.
  order by account.email = lower($1 collate "C") desc, account.created_at
  limit 1
$$;
comment on function auth.find_sign_in(text, text, text) is
  'The account with an e-mail address or phone number, as far as sign-in with its password needs it.';

-- Accounts

-- Concurrent sign-ups with one address wait at the unique index, so that one of them creates the account.
create function auth.sign_up(
  new_id uuid, provider text, address text, password_hash text, metadata jsonb, audience text, new_role text,
  confirms boolean, ip text
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  is_new boolean := false;
begin
  if $2 = 'anonymous' then
    insert into auth.users (
      instance_id, id, aud, role, raw_app_meta_data, raw_user_meta_data, created_at, updated_at, is_anonymous,
      confirmation_token, recovery_token, email_change_token_new, email_change, encrypted_password
    )
    values (
      '00000000-0000-0000-0000-000000000000', $1, $6, $7, '{}', coalesce($5, '{}'), now(), now(), true,
      '', '', '', '', ''
    )
    returning users.* into account;
    return json_build_object('outcome', 'created', 'id', account.id, 'user', auth.user_object(account));
  end if;
  select users.* into account from auth.users
  where users.is_sso_user = false
    and case when $2 = 'email' then lower(users.email collate "C") = $3 else users.phone = $3 end
  for no key update;
  if not found then
    insert into auth.users (
      instance_id, id, aud, role, email, phone, encrypted_password, raw_app_meta_data, raw_user_meta_data, created_at,
      updated_at, confirmation_token, recovery_token, email_change_token_new, email_change, password_unproven
    )
    values (
      '00000000-0000-0000-0000-000000000000', $1, $6, $7, case when $2 = 'email' then $3 end,
      case when $2 = 'phone' then $3 end, $4, jsonb_build_object('provider', $2, 'providers', jsonb_build_array($2)),
      coalesce($5, '{}'), now(), now(), '', '', '', '', $4 is not null and not $8
    )
    on conflict do nothing
    returning users.* into account;
    is_new := found;
    if not is_new then
      select users.* into account from auth.users
      where users.is_sso_user = false
        and case when $2 = 'email' then lower(users.email collate "C") = $3 else users.phone = $3 end
      for no key update;
      if not found then
        perform auth.fail(409, 'conflict', 'The account was changed at the same time: try again');
      end if;
    end if;
  end if;
  if (case when $2 = 'email' then account.email_confirmed_at else account.phone_confirmed_at end) is not null
    -- The account is in use: without a proof, it does not pass to another person.
    or $8 and not is_new and (account.email_unproven or account.last_sign_in_at is not null)
  then
    perform auth.record_audit(account, 'user_repeated_signup', 'user', jsonb_build_object('provider', $2), $9);
    return json_build_object('outcome', 'exists', 'id', account.id, 'user', auth.user_object(account));
  end if;
  if not exists (
    select from auth.identities where identities.user_id = account.id and identities.provider = $2
  ) then
    -- There is no proof that the address belongs to these identities.
    if not is_new and account.confirmed_at is null then
      delete from auth.identities where identities.user_id = account.id;
      update auth.users set
        raw_app_meta_data = coalesce(raw_app_meta_data, '{}')
          || jsonb_build_object('provider', $2, 'providers', jsonb_build_array($2))
      where users.id = account.id;
    end if;
    perform auth.add_own_identity(account, $2, $5);
  end if;
  if $8 then
    -- The password of an earlier sign-up that was not confirmed must not open the account.
    if not is_new then
      update auth.users set encrypted_password = $4 where users.id = account.id;
      delete from auth.sessions where sessions.user_id = account.id;
    end if;
    perform auth.record_audit(account, 'user_signedup', 'team', jsonb_build_object('provider', $2), $9);
    account := auth.confirm_address(account, $2, false);
  else
    perform auth.record_audit(account, 'user_confirmation_requested', 'user', jsonb_build_object('provider', $2), $9);
  end if;
  -- Triggers may have changed the row.
  select users.* into account from auth.users where users.id = account.id;
  return json_build_object(
    'outcome', case when is_new then 'created' else 'unconfirmed' end,
    'id', account.id,
    'invited', account.invited_at is not null,
    'user', auth.user_object(account)
  );
end
$$;
comment on function auth.sign_up(uuid, text, text, text, jsonb, text, text, boolean, text) is
  E'Creates an account of the provider email, phone or anonymous. With `confirms`, its address is confirmed at once.\n\nReturns {outcome, id, user}. The outcome is created, unconfirmed (there is one that was not confirmed), or exists.';

create function auth.sign_up_session(
  new_id uuid, provider text, address text, password_hash text, metadata jsonb, audience text, new_role text, ip text,
  user_agent text
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  outcome json := auth.sign_up($1, $2, $3, $4, $5, $6, $7, true, $8);
begin
  if outcome ->> 'outcome' = 'exists' then
    return outcome;
  end if;
  return json_build_object(
    'outcome', outcome ->> 'outcome',
    'issued', auth.start_session(
      (outcome ->> 'id')::uuid, case when $2 = 'anonymous' then 'anonymous' else 'password' end, $8, $9,
      jsonb_build_object('provider', $2)
    )
  );
end
$$;
comment on function auth.sign_up_session(uuid, text, text, text, jsonb, text, text, text, text) is
  'The same with an address that is confirmed at once, or anonymous, and with a session: {outcome, issued}.';

create function auth.change_account(
  user_id uuid, session_id uuid, sets_password boolean, old_password_hash text, new_password_hash text, metadata jsonb,
  app_metadata jsonb, confirmed_email text, confirmed_phone text, ip text
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  violated text;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  if not found then
    perform auth.fail(403, 'user_not_found', 'User from sub claim in JWT does not exist');
  end if;
  if $3 or $8 is not null or $9 is not null then
    perform auth.require_second_factor(
      $1, $2, 401, 'AAL2 session is required to update email or password when MFA is enabled.'
    );
  end if;
  if $3 then
    -- The new password was compared with the hash that the account had then.
    if coalesce(account.encrypted_password, '') <> coalesce($4, '') then
      perform auth.fail(409, 'conflict', 'The password was changed at the same time: try again');
    end if;
    perform auth.clear_one_time_tokens($1);
    delete from auth.sessions where sessions.user_id = $1 and sessions.id is distinct from $2;
    perform auth.revoke_oauth_grants($1);
    perform auth.record_audit(account, 'user_updated_password', 'user', null, $10);
  end if;
  if auth.is_taken($8, $9, $1) then
    if $8 is not null and auth.is_taken($8, null, $1) then
      perform auth.fail(422, 'email_exists', 'A user with this email address has already been registered');
    end if;
    perform auth.fail(422, 'phone_exists', 'A user with this phone number has already been registered');
  end if;
  update auth.users set
    encrypted_password = case when $3 then $5 else users.encrypted_password end,
    raw_user_meta_data = case
      when $6 is null then users.raw_user_meta_data else auth.merge_metadata(users.raw_user_meta_data, $6)
    end,
    raw_app_meta_data = case
      when $7 is null then users.raw_app_meta_data else auth.merge_metadata(users.raw_app_meta_data, $7)
    end,
    email = coalesce($8, users.email),
    email_change = case when $8 is null then users.email_change else '' end,
    phone = coalesce($9, users.phone),
    phone_change = case when $9 is null then users.phone_change else '' end,
    updated_at = now()
  where users.id = $1
  returning users.* into account;
  if $8 is not null then
    account := auth.adopt_address(account, 'email', false);
  end if;
  if $9 is not null then
    account := auth.adopt_address(account, 'phone', false);
  end if;
  perform auth.record_audit(account, 'user_modified', 'user', null, $10);
  select users.* into account from auth.users where users.id = $1;
  return auth.user_object(account);
exception
  when unique_violation then
    get stacked diagnostics violated = constraint_name;
    if violated not in ('users_email_partial_key', 'users_phone_key') then
      raise;
    end if;
    perform auth.fail(
      422, case when $8 is null then 'phone_exists' else 'email_exists' end,
      case
        when $8 is null then 'A user with this phone number has already been registered'
        else 'A user with this email address has already been registered'
      end
    );
end
$$;
comment on function auth.change_account(
  uuid, uuid, boolean, text, text, jsonb, jsonb, text, text, text
) is
  E'Changes the password, the metadata, and addresses that need no confirmation; null leaves a value unchanged. Returns the user object.\n\nA new password ends all sessions except `session_id`, and makes all codes and links invalid.';

grant execute on function
  auth.json_time(timestamptz),
  auth.factor_object(auth.mfa_factors),
  auth.user_record(auth.users),
  auth.user_object(auth.users),
  auth.new_refresh_token(),
  auth.add_refresh_token(uuid, uuid),
  auth.issued_session(auth.sessions, auth.users, text),
  auth.start_session(uuid, text, text, text, jsonb, text),
  auth.refresh_session(text, text, interval, boolean, interval, interval, interval, boolean, text, text),
  auth.end_sessions(uuid, uuid, text, text),
  auth.find_caller(uuid, uuid),
  auth.find_sign_in(text, text, text),
  auth.sign_up(uuid, text, text, text, jsonb, text, text, boolean, text),
  auth.sign_up_session(uuid, text, text, text, jsonb, text, text, text, text),
  auth.change_account(uuid, uuid, boolean, text, text, jsonb, jsonb, text, text, text)
to supabase_auth_admin;

call rowhouse.end_private_functions();
