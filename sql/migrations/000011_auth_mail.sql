-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- One-time codes and links of /auth/v1. The service runs these functions as supabase_auth_admin.

-- Not a column of GoTrue.
alter table auth.one_time_tokens
  add column if not exists wrong_tries smallint not null default 0
    constraint one_time_tokens_wrong_tries_check check (wrong_tries >= 0);
comment on column auth.one_time_tokens.wrong_tries is 'How often a wrong code was entered for the address while this one was valid.';

create function auth.code_hash(address text, code text) returns text
language sql immutable parallel safe
as $$
  select encode(sha224(convert_to(lower($1) || $2, 'UTF8')), 'hex')
$$;
comment on function auth.code_hash(text, text) is 'What is stored of a code, and the token of its link: hexadecimal SHA-224 of address and code.';

create function auth.store_code(account_id uuid, purpose auth.one_time_token_type, address text, hash text) returns void
language sql set search_path = ''
as $$
  insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
  values (gen_random_uuid(), $1, $2, $4, lower($3), now() at time zone 'UTC', now() at time zone 'UTC')
  on conflict (user_id, token_type) do update
  set token_hash = excluded.token_hash, relates_to = excluded.relates_to, wrong_tries = 0,
    created_at = excluded.created_at, updated_at = excluded.updated_at
$$;
comment on function auth.store_code(uuid, auth.one_time_token_type, text, text) is
  'Replaces the code of an account for a purpose.';

create function auth.clear_codes(account_id uuid) returns void
language sql set search_path = ''
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

create function auth.find_account(email text, phone text) returns auth.users
language sql stable set search_path = ''
as $$
  select users from auth.users
  where users.is_sso_user = false
    and case when $1 is not null then lower(users.email) = lower($1) else users.phone = $2 end
  order by users.email = lower($1) desc, users.created_at
  limit 1
$$;
comment on function auth.find_account(text, text) is 'The account with an address or phone number; all null if there is none.';

-- The request names the account by user_id, email or phone. The result has the member `status`:
--   absent: there is no such account
--   confirmed, unconfirmed: the account is not in the state that the request asks for (`only`)
--   idle: there is no change of the address to confirm
--   wait: with retry_after, the seconds until the next mail may be sent
--   exists: another account has the new address
--   sent: with the user, and with mails: to, code and token (of the link) of each
create function auth.issue_code(request json) returns json
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
    perform auth.store_code(account.id, 'confirmation_token', target, hash);
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
  E'Stores a code for an account, unless one was sent a moment ago. Returns what to send.\n\nMembers of the request: purpose (confirmation, invite, recovery, magiclink, email_change, reauthentication, phone_confirmation, phone_change, phone_reauthentication); user_id, email or phone; only (confirmed, unconfirmed, phone_confirmed, phone_unconfirmed); code; for a change of the address new_email or new_phone, secure, current_code and side (new, current); frequency in seconds; code_challenge and code_challenge_method; audit, audit_type, audit_traits and ip.';

create function auth.issue_code_to_new_account(request json) returns json
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
  if outcome ->> 'outcome' <> 'exists' or (request ->> 'confirmed')::boolean then
    issued := auth.issue_code((request::jsonb || jsonb_build_object('user_id', outcome ->> 'id'))::json);
  end if;
  return json_build_object('outcome', outcome ->> 'outcome', 'issued', issued);
end
$$;
comment on function auth.issue_code_to_new_account(json) is
  E'Creates an account unless there is one, and stores a code for it. Returns the outcome of auth.sign_up, and what issue_code returns.\n\nMembers of the request: those of issue_code; new_id, email or phone, password_hash, data (user_metadata), aud, role, and confirmed.';

-- A wrong code counts against all codes that it may have been a guess of, so an error must be returned, not raised.
create function auth.find_code(request json) returns json
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
  return json_build_object('user_id', account.id, 'id', code.id, 'purpose', code.token_type);
end
$$;
comment on function auth.find_code(json) is
  E'Finds the account of a code or link, and locks it until the end of the transaction: user_id, id and purpose of the code, or error (otp_expired, user_banned). After five wrong codes a code is no longer valid; its link is.\n\nMembers of the request: type, email or phone with token, or token_hash; user_id; lifetime of codes in seconds.';

-- The result has one of the members `error`, `half` (the first of two confirmations of a new address), `auth_code` or
-- `session`.
create function auth.use_code(request json) returns json
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

create function auth.use_nonce(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  account constant auth.users := (select users from auth.users where id = (request ->> 'user_id')::uuid);
  found_code json;
begin
  found_code := auth.find_code(json_build_object(
    'type', 'reauthentication', 'email', nullif(account.email, ''),
    'phone', case when coalesce(account.email, '') = '' then account.phone end,
    'token', request ->> 'nonce', 'user_id', account.id, 'lifetime', request ->> 'lifetime'
  ));
  if found_code ->> 'error' is null then
    perform auth.clear_codes(account.id);
  end if;
  return json_build_object('valid', found_code ->> 'error' is null);
end
$$;
comment on function auth.use_nonce(json) is
  'Uses up the code of a reauthentication: user_id, nonce and lifetime in seconds. Returns whether it was valid.';

grant execute on function
  auth.code_hash(text, text),
  auth.store_code(uuid, auth.one_time_token_type, text, text),
  auth.clear_codes(uuid),
  auth.find_account(text, text),
  auth.issue_code(json),
  auth.issue_code_to_new_account(json),
  auth.find_code(json),
  auth.use_code(json),
  auth.use_nonce(json)
to supabase_auth_admin;

call rowhouse.end_private_functions();
