-- Only the password of the sign-up that its owner has confirmed is valid: the functions below replace those of the
-- migrations before, and know the two columns.

-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Not columns of GoTrue.
alter table auth.users add column if not exists password_unproven boolean not null default false;
comment on column auth.users.password_unproven is
  'Whether the password was chosen at a sign-up whose address or phone number has not been confirmed yet.';
alter table auth.one_time_tokens add column if not exists password_hash text;
comment on column auth.one_time_tokens.password_hash is
  'Hash of the password of the sign-up that the code confirms; null if it confirms no sign-up with a password.';

create or replace function auth.confirm_address(account auth.users, provider text) returns auth.users
language plpgsql set search_path = ''
as $$
declare
  confirmed auth.users;
begin
  update auth.users set
    email_confirmed_at = case when $2 = 'email' then now() else users.email_confirmed_at end,
    phone_confirmed_at = case when $2 = 'phone' then now() else users.phone_confirmed_at end,
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
comment on function auth.confirm_address(auth.users, text) is
  'Confirms the e-mail address or phone number of an account, and deletes its one-time tokens.';

-- An address that counts as confirmed without proof may have been registered by another person, who could then use the
-- account together with the owner of the address, once the owner signs in by a mail or at a provider.
create or replace function auth.remove_unproven_access(account_id uuid, identity_id uuid, flow_id uuid) returns void
language sql set search_path = ''
as $$
  update auth.users set
    encrypted_password = null, phone = null, phone_confirmed_at = null,
    confirmation_token = '', recovery_token = '', reauthentication_token = '',
    email_change = '', email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
    phone_change = '', phone_change_token = '', email_unproven = false, password_unproven = false, updated_at = now()
  where users.id = $1;
  delete from auth.identities where identities.user_id = $1 and identities.id is distinct from $2;
  delete from auth.sessions where sessions.user_id = $1;
  delete from auth.mfa_factors where mfa_factors.user_id = $1;
  delete from auth.mfa_recovery_codes where mfa_recovery_codes.user_id = $1;
  delete from auth.one_time_tokens where one_time_tokens.user_id = $1;
  delete from auth.flow_state
  where (flow_state.linking_target_id = $1 or flow_state.user_id = $1 and flow_state.auth_code_issued_at is not null)
    and flow_state.id is distinct from $3
$$;
comment on function auth.remove_unproven_access(uuid, uuid, uuid) is
  'Removes all ways into an account, when someone else than its creator may have proved to own its address, apart from one identity and the flow of the request, if any: password, phone number, sessions, factors, codes and pending flows.';

-- Concurrent sign-ups with one address wait at the unique index, so that one of them creates the account.
create or replace function auth.sign_up(
  new_id uuid, provider text, address text, password_hash text, metadata jsonb, audience text, new_role text,
  confirms boolean, ip text
)
returns json
language plpgsql set search_path = ''
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
    and case when $2 = 'email' then lower(users.email) = $3 else users.phone = $3 end
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
        and case when $2 = 'email' then lower(users.email) = $3 else users.phone = $3 end
      for no key update;
      if not found then
        perform auth.fail(409, 'conflict', 'The account was changed at the same time: try again');
      end if;
    end if;
  end if;
  if (case when $2 = 'email' then account.email_confirmed_at else account.phone_confirmed_at end) is not null then
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
    account := auth.confirm_address(account, $2);
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

create or replace function auth.password_to_confirm(account auth.users, request json) returns text
language sql stable set search_path = ''
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

-- Another person may have signed up with the address before its owner, and chosen the password. After the confirmation, the
-- only valid password is that of the sign-up whose mail or message was confirmed.
create or replace function auth.settle_password(account auth.users, kind text, password_hash text) returns auth.users
language plpgsql set search_path = ''
as $$
#variable_conflict use_column
declare
  settled auth.users := account;
begin
  if (case when $2 = 'sms' then account.phone_confirmed_at else account.email_confirmed_at end) is not null then
    return account;
  end if;
  if account.password_unproven and account.encrypted_password is distinct from $3 then
    if $2 <> 'sms' then
      perform auth.remove_unproven_access(
        account.id, (select id from auth.identities where user_id = account.id and provider = 'email' limit 1), null
      );
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
  E'Makes the password of the sign-up that a code confirms that of the account, unless its address is confirmed already. If the account has another one from an earlier sign-up, all ways into it are removed.\n\n`kind` is the type of the code. The hash is null for a code that confirms no sign-up with a password.';

-- The request names the account by user_id, email or phone. The result has the member `status`:
--   absent: there is no such account
--   confirmed, unconfirmed: the account is not in the state that the request asks for (`only`)
--   idle: there is no change of the address to confirm
--   wait: with retry_after, the seconds until the next mail may be sent
--   exists: another account has the new address
--   sent: with the user, and with mails: to, code and token (of the link) of each
create or replace function auth.issue_code(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  purpose constant text := request ->> 'purpose';
  code constant text := request ->> 'code';
  prefix constant text := case when request ->> 'code_challenge' is null then '' else 'pkce_' end;
  account auth.users;
  found_id uuid := (request ->> 'user_id')::uuid;
  sent_at timestamptz;
  remaining double precision;
  target text;
  hash text;
  current_hash text;
  confirmed_password text;
  mails json;
begin
  if found_id is null then
    account := auth.find_account(request ->> 'email', request ->> 'phone');
    found_id := account.id;
  end if;
  -- A concurrent request for the same account waits here, and then sees that a mail has just been sent.
  select * into account from auth.users where id = found_id and deleted_at is null for no key update;
  if not found then
    return json_build_object('status', 'absent');
  end if;
  if request ->> 'only' = 'confirmed' and account.email_confirmed_at is null then
    return json_build_object('status', 'unconfirmed');
  elsif request ->> 'only' = 'phone_confirmed' and account.phone_confirmed_at is null then
    return json_build_object('status', 'unconfirmed');
  elsif request ->> 'only' = 'unconfirmed' and account.email_confirmed_at is not null then
    return json_build_object('status', 'confirmed');
  elsif request ->> 'only' = 'phone_unconfirmed' and account.phone_confirmed_at is not null then
    return json_build_object('status', 'confirmed');
  end if;

  target := case purpose
    when 'email_change' then coalesce(lower(request ->> 'new_email'), nullif(account.email_change, ''))
    when 'phone_change' then coalesce(request ->> 'new_phone', nullif(account.phone_change, ''))
    when 'phone_confirmation' then account.phone
    when 'phone_reauthentication' then account.phone
    else account.email
  end;
  if target is null then
    return json_build_object('status', 'idle');
  end if;
  sent_at := case purpose
    when 'confirmation' then account.confirmation_sent_at
    when 'phone_confirmation' then account.confirmation_sent_at
    when 'recovery' then account.recovery_sent_at
    when 'magiclink' then account.recovery_sent_at
    when 'email_change' then account.email_change_sent_at
    when 'phone_change' then account.phone_change_sent_at
    when 'reauthentication' then account.reauthentication_sent_at
    when 'phone_reauthentication' then account.reauthentication_sent_at
  end;
  remaining := extract(epoch from sent_at - now()) + (request ->> 'frequency')::double precision;
  if remaining > 0 then
    return json_build_object('status', 'wait', 'retry_after', remaining);
  end if;
  if purpose in ('email_change', 'phone_change') and exists (
    select from auth.users
    where id <> account.id and is_sso_user = false
      and case purpose when 'email_change' then lower(email) = target else phone = target end
    union all
    select from auth.identities
    where user_id <> account.id and purpose = 'email_change' and email = target and provider !~ '^sso:'
  ) then
    return json_build_object('status', 'exists');
  end if;

  hash := prefix || auth.code_hash(target, code);
  mails := json_build_array(json_build_object('to', target, 'code', code, 'token', hash));
  if purpose in ('confirmation', 'invite', 'phone_confirmation') then
    update auth.users
    set confirmation_token = hash, confirmation_sent_at = now(), updated_at = now(),
      invited_at = case when purpose = 'invite' then now() else invited_at end
    where id = account.id returning * into account;
    confirmed_password := auth.password_to_confirm(account, request);
    perform auth.store_code(account.id, 'confirmation_token', target, hash);
    update auth.one_time_tokens set password_hash = confirmed_password
    where user_id = account.id and token_type = 'confirmation_token';
  elsif purpose in ('recovery', 'magiclink') then
    update auth.users set recovery_token = hash, recovery_sent_at = now(), updated_at = now()
    where id = account.id returning * into account;
    perform auth.store_code(account.id, 'recovery_token', target, hash);
  elsif purpose in ('reauthentication', 'phone_reauthentication') then
    update auth.users set reauthentication_token = hash, reauthentication_sent_at = now(), updated_at = now()
    where id = account.id returning * into account;
    perform auth.store_code(account.id, 'reauthentication_token', target, hash);
  elsif purpose = 'phone_change' then
    update auth.users
    set phone_change = target, phone_change_token = hash, phone_change_sent_at = now(), updated_at = now()
    where id = account.id returning * into account;
    perform auth.store_code(account.id, 'phone_change_token', target, hash);
  elsif purpose = 'email_change' then
    if (request ->> 'secure')::boolean and account.email is not null then
      current_hash := prefix || auth.code_hash(account.email, request ->> 'current_code');
      mails := json_build_array(
        mails -> 0,
        json_build_object('to', account.email, 'code', request ->> 'current_code', 'token', current_hash)
      );
    end if;
    -- `side` is that of a link which an administrator asks for: the other side keeps its link for the same change.
    if request ->> 'side' is null or account.email_change is distinct from target then
      delete from auth.one_time_tokens
      where user_id = account.id and token_type in ('email_change_token_new', 'email_change_token_current');
      update auth.users set email_change_token_new = '', email_change_token_current = '' where id = account.id;
    end if;
    update auth.users
    set email_change = target, email_change_sent_at = now(), email_change_confirm_status = 0, updated_at = now(),
      email_change_token_new = case when request ->> 'side' = 'current' then email_change_token_new else hash end,
      email_change_token_current =
        case when current_hash is null or request ->> 'side' = 'new' then email_change_token_current else current_hash end
    where id = account.id returning * into account;
    if coalesce(request ->> 'side', 'new') = 'new' then
      perform auth.store_code(account.id, 'email_change_token_new', target, hash);
    end if;
    if current_hash is not null and coalesce(request ->> 'side', 'current') = 'current' then
      perform auth.store_code(account.id, 'email_change_token_current', account.email, current_hash);
    end if;
  end if;

  if prefix <> '' then
    perform auth.create_flow_state(json_build_object(
      'user_id', account.id,
      'provider_type', case purpose when 'confirmation' then 'email' else purpose end,
      'authentication_method', case purpose when 'confirmation' then 'email/signup' else purpose end,
      'code_challenge', request ->> 'code_challenge',
      'code_challenge_method', request ->> 'code_challenge_method'
    ));
  end if;
  if request ->> 'audit' is not null then
    perform auth.record_audit(
      account, request ->> 'audit', request ->> 'audit_type', (request -> 'audit_traits')::jsonb, request ->> 'ip'
    );
  end if;
  return json_build_object(
    'status', 'sent', 'user', auth.user_object(account), 'email', account.email, 'phone', account.phone,
    'new_email', account.email_change, 'mails', mails
  );
end
$$;
comment on function auth.issue_code(json) is
  E'Stores a code for an account, unless one was sent a moment ago. Returns what to send.\n\nMembers of the request: purpose (confirmation, invite, recovery, magiclink, email_change, reauthentication, phone_confirmation, phone_change, phone_reauthentication); user_id, email or phone; only (confirmed, unconfirmed, phone_confirmed, phone_unconfirmed); code; for a change of the address new_email or new_phone, secure, current_code and side (new, current); frequency in seconds; for a confirmation password_hash (of the sign-up; left out when the code is sent again); code_challenge and code_challenge_method; audit, audit_type, audit_traits and ip.';

create or replace function auth.issue_code_to_new_account(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  outcome constant json := auth.sign_up(
    (request ->> 'new_id')::uuid, case when request ->> 'email' is null then 'phone' else 'email' end,
    coalesce(lower(request ->> 'email'), request ->> 'phone'), request ->> 'password_hash', (request -> 'data')::jsonb,
    request ->> 'aud', request ->> 'role', (request ->> 'confirmed')::boolean, request ->> 'ip'
  );
  issued json := json_build_object('status', 'exists');
begin
  -- An administrator has chosen the password.
  if outcome ->> 'outcome' = 'created' and request ->> 'password_hash' is not null then
    update auth.users set password_unproven = false where id = (outcome ->> 'id')::uuid;
  end if;
  if outcome ->> 'outcome' <> 'exists' or (request ->> 'confirmed')::boolean then
    issued := auth.issue_code((request::jsonb || jsonb_build_object('user_id', outcome ->> 'id'))::json);
  end if;
  return json_build_object('outcome', outcome ->> 'outcome', 'issued', issued);
end
$$;
comment on function auth.issue_code_to_new_account(json) is
  E'Creates an account unless there is one, and stores a code for it. Returns the outcome of auth.sign_up, and what issue_code returns.\n\nMembers of the request: those of issue_code; new_id, email or phone, password_hash, data (user_metadata), aud, role, and confirmed.';

-- A wrong code counts against all codes that it may have been a guess of, so an error must be returned, not raised.
create or replace function auth.find_code(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  most_tries constant integer := 5;
  address constant text := coalesce(lower(request ->> 'email'), request ->> 'phone');
  hash constant text := coalesce(request ->> 'token_hash', auth.code_hash(address, request ->> 'token'));
  kind constant text := request ->> 'type';
  by_code constant boolean := request ->> 'token_hash' is null;
  purposes constant auth.one_time_token_type[] := case kind
    when 'signup' then '{confirmation_token}'
    when 'invite' then '{confirmation_token}'
    when 'recovery' then '{recovery_token}'
    when 'magiclink' then '{recovery_token}'
    when 'email' then '{confirmation_token, recovery_token}'
    when 'email_change' then '{email_change_token_new, email_change_token_current}'
    when 'sms' then '{confirmation_token}'
    when 'phone_change' then '{phone_change_token}'
    when 'reauthentication' then '{reauthentication_token}'
  end;
  code auth.one_time_tokens;
  account auth.users;
  sent_at timestamptz;
begin
  -- The rows of accounts are locked first, as in issue_code: of concurrent requests with codes of the same account, each
  -- sees what the one before has changed.
  perform from auth.users
  where id in (
    select user_id from auth.one_time_tokens
    where token_type = any (purposes) and case when by_code then relates_to = address else token_hash = hash end
  )
  order by id
  for no key update;
  select one_time_tokens.* into code
  from auth.one_time_tokens join auth.users on users.id = one_time_tokens.user_id
  where token_type = any (purposes)
    and case
      when by_code then relates_to = address and token_hash in (hash, 'pkce_' || hash) and wrong_tries < most_tries
      else token_hash = hash
    end
    and users.deleted_at is null
    and (request ->> 'user_id' is null or users.id = (request ->> 'user_id')::uuid)
    -- A code for an address proves nothing about another that the account has got since.
    and relates_to = case
      when kind = 'sms' then users.phone
      when kind = 'phone_change' then users.phone_change
      when token_type = 'email_change_token_new' then lower(users.email_change)
      when kind = 'reauthentication' then coalesce(lower(nullif(users.email, '')), users.phone)
      else lower(users.email)
    end
  limit 1;
  if not found then
    update auth.one_time_tokens set wrong_tries = least(wrong_tries + 1, most_tries)
    where by_code and relates_to = address and token_type = any (purposes)
      and (request ->> 'user_id' is null or user_id = (request ->> 'user_id')::uuid);
    return json_build_object('error', 'otp_expired');
  end if;
  select * into account from auth.users where id = code.user_id;
  sent_at := case code.token_type
    when 'confirmation_token' then account.confirmation_sent_at
    when 'recovery_token' then account.recovery_sent_at
    when 'phone_change_token' then account.phone_change_sent_at
    when 'reauthentication_token' then account.reauthentication_sent_at
    else account.email_change_sent_at
  end;
  if auth.is_banned(account) then
    return json_build_object('error', 'user_banned');
  end if;
  if sent_at is null or sent_at < now() - make_interval(secs => (request ->> 'lifetime')::double precision) then
    return json_build_object('error', 'otp_expired');
  end if;
  return json_build_object(
    'user_id', account.id, 'id', code.id, 'purpose', code.token_type, 'password_hash', nullif(code.password_hash, '')
  );
end
$$;
comment on function auth.find_code(json) is
  E'Finds the account of a code or link, and locks it until the end of the transaction: user_id, id, purpose and password_hash of the code, or error (otp_expired, user_banned). After five wrong codes a code is no longer valid; its link is.\n\nMembers of the request: type, email or phone with token, or token_hash; user_id; lifetime of codes in seconds.';

-- The result has one of the members `error`, `half` (the first of two confirmations of a new address), `auth_code` or
-- `session`.
create or replace function auth.use_code(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  found_code constant json := auth.find_code(request);
  kind text := request ->> 'type';
  account auth.users;
  issued json;
begin
  if found_code ->> 'error' is not null then
    return found_code;
  end if;
  select * into account from auth.users where id = (found_code ->> 'user_id')::uuid;
  if kind = 'email' then
    kind := case found_code ->> 'purpose' when 'confirmation_token' then 'signup' else 'magiclink' end;
  end if;

  if account.email_unproven and kind in ('signup', 'invite', 'recovery', 'magiclink') then
    perform auth.remove_unproven_access(
      account.id, (select id from auth.identities where user_id = account.id and provider = 'email' limit 1), null
    );
    account := auth.set_providers(account.id);
  end if;
  if kind in ('signup', 'invite', 'recovery', 'magiclink', 'sms') then
    account := auth.settle_password(account, kind, found_code ->> 'password_hash');
  end if;
  if kind in ('signup', 'invite') then
    perform auth.record_audit(account, 'user_signedup', 'team', '{"provider": "email"}', request ->> 'ip');
    account := auth.confirm_address(account, 'email');
    perform auth.clear_codes(account.id);
  elsif kind in ('recovery', 'magiclink') then
    if account.email_confirmed_at is null then
      perform auth.record_audit(account, 'user_signedup', 'team', '{"provider": "email"}', request ->> 'ip');
      account := auth.confirm_address(account, 'email');
    end if;
    perform auth.clear_codes(account.id);
  elsif kind = 'sms' then
    perform auth.record_audit(account, 'user_signedup', 'team', '{"provider": "phone"}', request ->> 'ip');
    account := auth.confirm_address(account, 'phone');
    perform auth.clear_codes(account.id);
  elsif kind = 'phone_change' then
    begin
      update auth.users set phone = phone_change, phone_change = '', updated_at = now()
      where id = account.id returning * into account;
    exception
      when unique_violation then
        return json_build_object('error', 'phone_exists');
    end;
    account := auth.adopt_address(account, 'phone');
    perform auth.record_audit(account, 'user_modified', 'user', null, request ->> 'ip');
    perform auth.clear_codes(account.id);
  elsif kind = 'email_change' then
    if (request ->> 'secure')::boolean and account.email_change_confirm_status = 0 and coalesce(account.email, '') <> '' then
      delete from auth.one_time_tokens where id = (found_code ->> 'id')::uuid;
      update auth.users
      set email_change_confirm_status = 1, updated_at = now(),
        email_change_token_new =
          case found_code ->> 'purpose' when 'email_change_token_new' then '' else email_change_token_new end,
        email_change_token_current =
          case found_code ->> 'purpose' when 'email_change_token_current' then '' else email_change_token_current end
      where id = account.id;
      return json_build_object('half', true);
    end if;
    begin
      update auth.users
      set email = lower(email_change), email_change = '', email_change_confirm_status = 0, updated_at = now()
      where id = account.id returning * into account;
    exception
      when unique_violation then
        return json_build_object('error', 'email_exists');
    end;
    account := auth.adopt_address(account, 'email');
    perform auth.record_audit(account, 'user_modified', 'user', null, request ->> 'ip');
    perform auth.clear_codes(account.id);
  end if;

  if (request ->> 'pkce')::boolean then
    issued := auth.issue_auth_code(account.id, case kind when 'signup' then 'email/signup' else kind end);
    if issued is null then
      perform auth.fail(
        400, 'flow_state_not_found', 'No associated flow state found. No valid flow state found for user.'
      );
    end if;
    return issued;
  end if;
  return json_build_object(
    'type', kind,
    'session', auth.start_session(
      account.id, 'otp', request ->> 'ip', request ->> 'user_agent',
      jsonb_build_object('provider', case when kind in ('sms', 'phone_change') then 'phone' else 'email' end)
    )
  );
end
$$;
comment on function auth.use_code(json) is
  E'Uses up a code or link: confirms what it stands for, and starts a session or issues an authorization code. Of concurrent requests with the same code, one succeeds.\n\nMembers of the request: those of find_code; secure (whether a new address needs both confirmations); pkce; ip and user_agent.';

-- A trigger of the project may change the row, so the caller reads it again.
create or replace function auth.confirm_verified_address(account_id uuid) returns auth.users
language sql set search_path = ''
as $$
  delete from auth.one_time_tokens where user_id = $1;
  update auth.users set
    email_confirmed_at = now(), confirmation_token = '', is_anonymous = false, password_unproven = false,
    raw_user_meta_data = coalesce(raw_user_meta_data, '{}') || '{"email_verified": true}', updated_at = now()
  where id = $1
  returning *
$$;
comment on function auth.confirm_verified_address(uuid) is 'Confirms the address of an account, which a provider has verified. Pending codes become invalid.';

-- A person who registered another person's address must have no way into the account once the owner signs in.
create or replace function auth.remove_unconfirmed_access(
  account_id uuid, identity_id uuid, identity_data jsonb, is_linked boolean, flow_id uuid
)
returns void
language plpgsql set search_path = ''
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

create or replace function auth.admin_update_user(
  user_id uuid, attributes jsonb, password_hash text, ban interval, actor text, ip text
) returns json
language plpgsql set search_path = ''
as $$
declare
  account auth.users;
  address constant text := nullif(lower($2 ->> 'email'), '');
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
    select from auth.users where lower(users.email) = address and users.is_sso_user = false and users.id <> $1
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
    email_unproven = users.email_unproven and not confirms_email,
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

grant execute on function
  auth.password_to_confirm(auth.users, json),
  auth.settle_password(auth.users, text, text)
to supabase_auth_admin;

call rowhouse.end_private_functions();
