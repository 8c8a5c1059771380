-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- One set of rules for both doors, the cookie's and that of /auth/v1:
--
-- 1. An address is confirmed only by proof: by a mail or message, or by a provider that has verified it. Where the settings
--    confirm addresses without proof (GOTRUE_MAILER_AUTOCONFIRM, GOTRUE_SMS_AUTOCONFIRM), or an account is used before, the
--    columns email_unproven and phone_unproven say so. The first proof then ends every other way into the account.
-- 2. A session of an account with a second factor changes credentials only if it has used the factor. The functions that
--    change them ask for the session, and refuse.
-- 3. A session with a cookie has the limits of one with tokens.
-- 4. Addresses are compared without the case of the ASCII letters, and of no others: of other alphabets, two letters may
--    have the same lower case, such as K and the Kelvin sign.

-- Errors for the client are raised by this function; functions whose changes must be kept return them as {"error"}.
create function auth.fail(status integer, code text, message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise sqlstate 'AU000' using message = json_build_object('status', $1, 'code', $2, 'message', $3);
end
$$;
comment on function auth.fail(integer, text, text) is
  'Ends the request with an error response: HTTP status, error code and message.';

-- Names of accounts, as the cookie service shows them. Not security definer, so that queries inline them.
create function auth.first_name(account auth.users) returns text
language sql immutable parallel safe
as $$
  select left(coalesce(nullif(account.raw_user_meta_data ->> 'first_name', ''), split_part(account.email, '@', 1)), 255)
$$;
comment on function auth.first_name(auth.users) is
  'First name of an account; the part of the address before the @ if the account has none.';

create function auth.last_name(account auth.users) returns text
language sql immutable parallel safe
as $$
  select left(nullif(account.raw_user_meta_data ->> 'last_name', ''), 255)
$$;
comment on function auth.last_name(auth.users) is 'Last name of an account, if any.';

create function auth.is_banned(account auth.users) returns boolean
language sql stable parallel safe
as $$
  select account.deleted_at is not null or coalesce(account.banned_until > now(), false)
$$;
comment on function auth.is_banned(auth.users) is 'Whether an account is banned now, or deleted although its row was kept.';

create function auth.has_ended(session auth.sessions) returns boolean
language sql stable parallel safe
as $$
  select coalesce(session.not_after <= now(), false)
$$;
comment on function auth.has_ended(auth.sessions) is 'Whether the time of a session is over.';

-- Statements can inline this function, because it does not set the search path.
create function auth.audit_payload(account auth.users, action text, log_type text, traits jsonb) returns json
language sql stable
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'actor_id', $1.id,
    'actor_username', coalesce($1.email, $1.phone, ''),
    'actor_name', $1.raw_user_meta_data ->> 'full_name',
    'actor_via_sso', $1.is_sso_user,
    'action', $2,
    'log_type', $3,
    'traits', nullif($4, '{}')
  ))::json
$$;
comment on function auth.audit_payload(auth.users, text, text, jsonb) is
  'An entry of the audit log: the account that acted, what it did, the category (account, team, token, user, factor), and details.';

create function auth.record_audit(account auth.users, action text, log_type text, traits jsonb, ip text) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
  values (
    '00000000-0000-0000-0000-000000000000', gen_random_uuid(), auth.audit_payload($1, $2, $3, $4), now(),
    left(coalesce($5, ''), 64)
  )
$$;
comment on function auth.record_audit(auth.users, text, text, jsonb, text) is
  'Adds an entry to the audit log: see audit_payload; and the client address.';

-- Second factors

create function auth.has_verified_factor(user_id uuid) returns boolean
language sql stable
as $$
  select exists (
    select from auth.mfa_factors where mfa_factors.user_id = $1 and mfa_factors.status = 'verified'
  )
$$;
comment on function auth.has_verified_factor(uuid) is 'Whether an account can reach the assurance level aal2.';

create function auth.lacks_second_factor(user_id uuid, session_id uuid) returns boolean
language sql stable
as $$
  select auth.has_verified_factor($1) and not exists (
    select from auth.sessions
    where sessions.id = $2 and sessions.user_id = $1 and sessions.aal >= 'aal2' and not auth.has_ended(sessions)
  )
$$;
comment on function auth.lacks_second_factor(uuid, uuid) is
  'Whether an account has a verified second factor that a session has not used, so that the session may not change how to sign in to the account.';

create function auth.require_second_factor(user_id uuid, session_id uuid, status integer, message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if auth.lacks_second_factor($1, $2) then
    perform auth.fail($3, 'insufficient_aal', $4);
  end if;
end
$$;
comment on function auth.require_second_factor(uuid, uuid, integer, text) is
  'Ends the request with the error insufficient_aal if auth.lacks_second_factor. The account must be locked.';

-- Sessions

create function auth.session_error(code text, message text, reason text) returns json
language sql immutable
as $$
  select json_build_object('error', json_build_object(
    'status', 400, 'code', $1, 'message', 'Invalid Refresh Token: ' || $2, 'reason', $3
  ))
$$;
comment on function auth.session_error(text, text, text) is
  'Why a refresh token is not accepted: error code and message for the client, and the reason for the log.';

create function auth.session_fault(
  session auth.sessions, refreshed timestamptz, timebox interval, inactivity interval, low_aal interval
) returns text
language sql stable
as $$
  select case
    when session.not_after < now() or session.created_at + $3 < now() then 'Session Expired'
    when greatest(coalesce(session.refreshed_at at time zone 'UTC', $2, session.created_at), session.created_at) + $4 < now()
    then 'Session Expired (Inactivity)'
    when $5 is not null and coalesce(session.aal, 'aal1') < 'aal2' and session.created_at + $5 < now()
      and auth.has_verified_factor(session.user_id)
    then 'Session Expired (Low AAL: User Needs MFA Verification)'
  end
$$;
comment on function auth.session_fault(auth.sessions, timestamptz, interval, interval, interval) is
  'Why a session cannot be refreshed; null if it can. Limits that are null do not apply.';

-- A person and each client of the OAuth server have sessions of their own: a client must not end the session of its person.
create function auth.has_newer_session(
  session auth.sessions, refreshed timestamptz, timebox interval, inactivity interval, low_aal interval
)
returns boolean
language sql stable
as $$
  select exists (
    select from auth.sessions as other
    where other.user_id = session.user_id and other.id <> session.id
      and other.oauth_client_id is not distinct from session.oauth_client_id
      and auth.session_fault(other, null, $3, $4, $5) is null
      and coalesce(other.refreshed_at at time zone 'UTC', other.created_at)
        > coalesce(session.refreshed_at at time zone 'UTC', $2, session.created_at)
  )
$$;
comment on function auth.has_newer_session(auth.sessions, timestamptz, interval, interval, interval) is
  'Whether the user of a session has another that was used later and has not ended. For the arguments, see auth.session_fault.';

-- Accounts

create function auth.merge_metadata(stored jsonb, changes jsonb) returns jsonb
language sql immutable
as $$
  select coalesce(
    (
      select jsonb_object_agg(merged.key, merged.value)
      from jsonb_each(coalesce(nullif($1, 'null'), '{}') || $2) as merged
      where not ($2 ? merged.key and merged.value = 'null')
    ),
    '{}'
  )
$$;
comment on function auth.merge_metadata(jsonb, jsonb) is 'Metadata with changes to its members; null deletes a member.';

create function auth.identity_email(identity auth.identities) returns text
language sql immutable parallel safe
as $$
  select pg_catalog.lower((identity.identity_data ->> 'email') collate "C")
$$;
comment on function auth.identity_email(auth.identities) is
  'The address of an identity without the case of ASCII letters. The column email is without that of all letters.';

create function auth.find_account(email text, phone text) returns auth.users
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select users from auth.users
  where users.is_sso_user = false
    and case when $1 is not null then lower(users.email collate "C") = lower($1 collate "C") else users.phone = $2 end
  order by users.email = lower($1 collate "C") desc, users.created_at
  limit 1
$$;
comment on function auth.find_account(text, text) is 'The account with an address or phone number; all null if there is none.';

create function auth.is_taken(address text, number text, except_for uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from auth.users
    where users.id <> $3 and users.is_sso_user = false
      and (lower(users.email collate "C") = lower($1 collate "C") or users.phone = $2)
  )
$$;
comment on function auth.is_taken(text, text, uuid) is
  'Whether an e-mail address or a phone number belongs to another account.';

create function auth.clear_one_time_tokens(user_id uuid) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  update auth.users set
    confirmation_token = '', confirmation_sent_at = null,
    recovery_token = '', recovery_sent_at = null,
    email_change_token_current = '', email_change_token_new = '', email_change_sent_at = null,
    phone_change_token = '', phone_change_sent_at = null,
    reauthentication_token = '', reauthentication_sent_at = null
  where users.id = $1;
  delete from auth.one_time_tokens where one_time_tokens.user_id = $1;
  -- A code of PKCE is what a link has been exchanged for.
  delete from auth.flow_state where flow_state.user_id = $1
$$;
comment on function auth.clear_one_time_tokens(uuid) is
  'Makes all codes and links of an account invalid, and the codes of PKCE that they led to, for instance when its password changes.';

create function auth.clear_codes(account_id uuid) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  delete from auth.one_time_tokens where user_id = $1;
  update auth.users
  set confirmation_token = '', recovery_token = '', email_change_token_new = '', email_change_token_current = '',
    reauthentication_token = '', phone_change_token = ''
  where id = $1
    and concat(
      confirmation_token, recovery_token, email_change_token_new, email_change_token_current, reauthentication_token,
      phone_change_token
    ) <> '';
$$;
comment on function auth.clear_codes(uuid) is
  'Makes all codes and links of an account invalid, as after a change of its password.';

create function auth.add_own_identity(account auth.users, provider text, more jsonb) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  insert into auth.identities (
    id, provider_id, user_id, provider, identity_data, last_sign_in_at, created_at, updated_at
  )
  values (
    gen_random_uuid(), account.id, account.id, $2,
    coalesce($3, '{}') || jsonb_build_object(
      'sub', account.id, 'email_verified', false, 'phone_verified', false,
      $2, case when $2 = 'email' then account.email else account.phone end
    ),
    now(), now(), now()
  )
  on conflict do nothing
$$;
comment on function auth.add_own_identity(auth.users, text, jsonb) is
  'Adds the identity of the account''s own e-mail address or phone number, unless it has one.';

create function auth.set_providers(account_id uuid) returns auth.users
language sql set search_path = pg_catalog, pg_temp
as $$
  with names as (
    select coalesce(array_agg(provider order by since, provider), '{}') as list
    from (
      select provider, min(created_at) as since from auth.identities where user_id = $1 group by provider
    ) as identity
  )
  update auth.users set
    raw_app_meta_data = coalesce(raw_app_meta_data, '{}') || jsonb_build_object('providers', list)
      || case when cardinality(list) > 0 then jsonb_build_object('provider', list[1]) else '{}' end,
    updated_at = now()
  from names where users.id = $1
  returning users.*
$$;
comment on function auth.set_providers(uuid) is 'Writes the providers of an account''s identities to its raw_app_meta_data.';

-- The tables are created later. Grants end with the sessions of their clients: someone who knew the old password may have granted an
-- application of their own access, which it would get again without a question.
create function auth.revoke_oauth_grants(user_id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  update auth.oauth_consents set revoked_at = greatest(now(), oauth_consents.granted_at)
  where oauth_consents.user_id = $1 and oauth_consents.revoked_at is null;
  delete from auth.oauth_authorizations where oauth_authorizations.user_id = $1;
end
$$;
comment on function auth.revoke_oauth_grants(uuid) is
  'Revokes what an account has granted to clients of the OAuth server, for a new password. Their sessions end as all others do.';

create function auth.rehash_password(user_id uuid, old_password_hash text, new_password_hash text) returns boolean
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  with replaced as (
    update auth.users set encrypted_password = $3 where users.id = $1 and users.encrypted_password = $2 returning 1
  ), pending as (
    update auth.one_time_tokens set password_hash = $3
    where one_time_tokens.user_id = $1 and one_time_tokens.password_hash = $2
  )
  select exists (select from replaced)
$$;
comment on function auth.rehash_password(uuid, text, text) is
  'Replaces the hash of an unchanged password by that of a better algorithm, also where a code confirms it. Returns whether it was unchanged.';

-- Proof of addresses

create function auth.confirm_address(account auth.users, provider text, is_proven boolean default true) returns auth.users
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  confirmed auth.users;
begin
  update auth.users set
    email_confirmed_at = case when $2 = 'email' then now() else users.email_confirmed_at end,
    phone_confirmed_at = case when $2 = 'phone' then now() else users.phone_confirmed_at end,
    email_unproven = case when $2 = 'email' then not $3 else users.email_unproven end,
    phone_unproven = case when $2 = 'phone' then not $3 else users.phone_unproven end,
    raw_user_meta_data = case
      when $2 = 'email' then coalesce(users.raw_user_meta_data, '{}') || '{"email_verified": true}'
      else users.raw_user_meta_data
    end,
    confirmation_token = '',
    password_unproven = false,
    updated_at = now()
  where users.id = account.id
  returning users.* into confirmed;
  update auth.identities
  set identity_data = identity_data || jsonb_build_object($2 || '_verified', true), updated_at = now()
  where identities.user_id = account.id and identities.provider = $2;
  delete from auth.one_time_tokens where one_time_tokens.user_id = account.id;
  return confirmed;
end
$$;
comment on function auth.confirm_address(auth.users, text, boolean) is
  'Confirms the e-mail address or phone number of an account, and deletes its one-time tokens. `is_proven`: whether its owner has proved it.';

-- An anonymous account becomes a permanent one, and the identity and the list of providers follow the address.
create function auth.adopt_address(account auth.users, provider text, is_proven boolean default true) returns auth.users
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  adopted auth.users;
begin
  perform auth.add_own_identity(account, $2, null);
  update auth.identities
  set identity_data = identity_data || jsonb_build_object(
      $2, case when $2 = 'email' then account.email else account.phone end
    ),
    updated_at = now()
  where identities.user_id = account.id and identities.provider = $2;
  adopted := auth.confirm_address(account, $2, $3);
  update auth.users set
    is_anonymous = false,
    raw_app_meta_data = coalesce(users.raw_app_meta_data, '{}') || (
      select jsonb_build_object(
        'provider', coalesce(users.raw_app_meta_data ->> 'provider', min(own.provider)),
        'providers', jsonb_agg(own.provider order by own.created_at, own.provider)
      )
      from (
        select identities.provider, min(identities.created_at) as created_at
        from auth.identities where identities.user_id = account.id group by identities.provider
      ) as own
    )
  where users.id = account.id
  returning users.* into adopted;
  return adopted;
end
$$;
comment on function auth.adopt_address(auth.users, text, boolean) is
  'Confirms the address of an account, with its identity and its list of providers. It is no longer anonymous. `is_proven`: whether its owner has proved the address.';

-- A trigger of the project may change the row, so the caller reads it again.
create function auth.confirm_verified_address(account_id uuid, is_proven boolean default true) returns auth.users
language sql set search_path = pg_catalog, pg_temp
as $$
  delete from auth.one_time_tokens where user_id = $1;
  update auth.users set
    email_confirmed_at = now(), confirmation_token = '', is_anonymous = false, password_unproven = false,
    email_unproven = not $2,
    raw_user_meta_data = coalesce(raw_user_meta_data, '{}') || '{"email_verified": true}', updated_at = now()
  where id = $1
  returning *
$$;
comment on function auth.confirm_verified_address(uuid, boolean) is
  'Confirms the address that an account has from a provider. Pending codes become invalid. `is_proven`: whether the provider has verified it.';

create function auth.confirm_unproven(user_id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  account auth.users;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  if not account.email_unproven or account.email_confirmed_at is not null then
    return false;
  end if;
  perform auth.confirm_address(account, 'email', false);
  return true;
end
$$;
comment on function auth.confirm_unproven(uuid) is
  'Confirms the address of an account that was used before, when it signs in while the settings confirm addresses without proof. Returns whether it has changed.';

-- A person who registered another person's address must have no way into the account once the owner signs in.
-- auth.remove_unproven_access is in 000026_oauth_server.sql, after all tables that give access.
create function auth.remove_unconfirmed_access(
  account_id uuid, identity_id uuid, identity_data jsonb, is_linked boolean, flow_id uuid
)
returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  update auth.users set
    encrypted_password = null, password_unproven = false, raw_user_meta_data = $3, recovery_token = '', reauthentication_token = '',
    email_change = '', email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
    phone_change = '', phone_change_token = '', updated_at = now()
  where id = $1;
  delete from auth.identities where user_id = $1 and id <> $2;
  if $4 then
    perform auth.remove_unproven_access($1, $2, $5);
  end if;
end
$$;
comment on function auth.remove_unconfirmed_access(uuid, uuid, jsonb, boolean, uuid) is
  E'Removes the password, the user data and all other identities of an account whose address was not confirmed.\n\nIf the identity was linked just now, its owner has not used the account before: phone number, sessions and factors are removed, too.';

create function auth.password_to_confirm(account auth.users, request json) returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select case
    when $2 -> 'password_hash' is not null then $2 ->> 'password_hash'
    -- A code that is sent again stands for the same sign-up.
    when $1.password_unproven then coalesce(
      (
        select coalesce(password_hash, '')
        from auth.one_time_tokens where user_id = $1.id and token_type = 'confirmation_token'
      ),
      $1.encrypted_password
    )
  end
$$;
comment on function auth.password_to_confirm(auth.users, json) is
  'The hash of the password of the sign-up that a new code confirms: the member password_hash of the request, which is null for a code without a sign-up, or as before.';

-- Another person may have opened the account for the address before its owner, and have chosen the password, have a session
-- or more. A click on the mail of a sign-up confirms this sign-up: its password and what it has led to. Every other
-- proof ends all of that. Of several sign-ups, the only valid password is that of the one whose mail was confirmed.
create function auth.settle_password(account auth.users, kind text, password_hash text) returns auth.users
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  by_phone constant boolean := $2 = 'sms';
  is_confirmed constant boolean := case
    when $2 = 'sms' then account.phone_confirmed_at else account.email_confirmed_at
  end is not null;
  is_unproven constant boolean := case when $2 = 'sms' then account.phone_unproven else account.email_unproven end;
  own_identity constant uuid := (
    select id from auth.identities where user_id = account.id and provider = case when $2 = 'sms' then 'phone' else 'email' end
    limit 1
  );
  settled auth.users := account;
begin
  if is_confirmed and not is_unproven then
    return account;
  end if;
  if $2 = 'signup' and (
    $3 is not null and $3 = account.encrypted_password
    -- The mail of a sign-up at a provider, which did not know whether the address is the user's.
    or $3 is null and is_unproven and not is_confirmed and own_identity is null
  ) then
    return account;
  end if;
  if is_unproven and by_phone then
    -- An address that was proved is another way to the same person.
    if account.email_confirmed_at is not null and not account.email_unproven then
      return account;
    end if;
    perform auth.remove_unproven_access(account.id, own_identity, null);
    update auth.users set
      phone = account.phone, phone_confirmed_at = account.phone_confirmed_at, email = null, email_confirmed_at = null
    where id = account.id;
    return auth.set_providers(account.id);
  elsif is_unproven then
    perform auth.remove_unproven_access(account.id, own_identity, null);
    settled := auth.set_providers(account.id);
    if is_confirmed then
      return settled;
    end if;
  elsif account.password_unproven and account.encrypted_password is distinct from $3 then
    if not by_phone then
      perform auth.remove_unproven_access(account.id, own_identity, null);
      perform auth.set_providers(account.id);
    end if;
  -- A user who was invited chooses a password after accepting.
  elsif $3 is null or coalesce(account.encrypted_password, '') <> '' or account.invited_at is not null then
    return account;
  end if;
  update auth.users set encrypted_password = $3, updated_at = now() where users.id = account.id returning * into settled;
  return settled;
end
$$;
comment on function auth.settle_password(auth.users, text, text) is
  E'What becomes of the ways into an account when a code proves its address, unless the address is proved already: the password of the sign-up that the code confirms is valid, and no other; unless the account has this password, all other ways are removed.\n\n`kind` is the type of the code. The hash is null for a code that confirms no sign-up with a password.';

grant execute on function
  auth.fail(integer, text, text),
  auth.is_banned(auth.users),
  auth.has_ended(auth.sessions),
  auth.audit_payload(auth.users, text, text, jsonb),
  auth.record_audit(auth.users, text, text, jsonb, text),
  auth.has_verified_factor(uuid),
  auth.lacks_second_factor(uuid, uuid),
  auth.require_second_factor(uuid, uuid, integer, text),
  auth.session_error(text, text, text),
  auth.session_fault(auth.sessions, timestamptz, interval, interval, interval),
  auth.has_newer_session(auth.sessions, timestamptz, interval, interval, interval),
  auth.merge_metadata(jsonb, jsonb),
  auth.identity_email(auth.identities),
  auth.find_account(text, text),
  auth.is_taken(text, text, uuid),
  auth.clear_one_time_tokens(uuid),
  auth.clear_codes(uuid),
  auth.add_own_identity(auth.users, text, jsonb),
  auth.set_providers(uuid),
  auth.confirm_address(auth.users, text, boolean),
  auth.adopt_address(auth.users, text, boolean),
  auth.confirm_verified_address(uuid, boolean),
  auth.remove_unconfirmed_access(uuid, uuid, jsonb, boolean, uuid),
  auth.password_to_confirm(auth.users, json),
  auth.settle_password(auth.users, text, text)
to supabase_auth_admin;
grant execute on function auth.revoke_oauth_grants(uuid) to supabase_auth_admin;
grant execute on function
  auth.rehash_password(uuid, text, text),
  auth.confirm_unproven(uuid)
to authenticator, supabase_auth_admin;

call rowhouse.end_private_functions();
