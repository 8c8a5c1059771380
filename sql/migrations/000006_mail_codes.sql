-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- One-time codes and links of /auth/v1. The service runs these functions as supabase_auth_admin.
--
-- The token of a link is random and has nothing to do with the code. Of both only hashes are stored, of the code one with a
-- key that the database does not have: a hash without a key would reveal it after a million attempts.

create function auth.new_link_token() returns text
language sql volatile parallel safe set search_path = pg_catalog, pg_temp
as $$
  select left(encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'), 56)
$$;
comment on function auth.new_link_token() is 'A random token for a link: 56 hexadecimal digits, as those of GoTrue, of 224 bits.';

create function auth.link_hash(token text) returns text
language sql immutable parallel safe
as $$
  select encode(sha256(convert_to($1, 'UTF8')), 'hex')
$$;
comment on function auth.link_hash(text) is 'What is stored of the token of a link: its hexadecimal SHA-256.';

create function auth.code_hash(address text, code text) returns text
language sql immutable parallel safe
as $$
  select encode(sha256(convert_to(lower($1 collate "C") || ' ' || $2, 'UTF8')), 'hex')
$$;
comment on function auth.code_hash(text, text) is
  'What is stored of a code: hexadecimal SHA-256 of its address and its keyed hash (HMAC), which the server computes.';

create function auth.store_code(
  account_id uuid, purpose auth.one_time_token_type, address text, link_hash text, code_mac text
)
returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  insert into auth.one_time_tokens (id, user_id, token_type, token_hash, code_hash, relates_to, created_at, updated_at)
  values (
    gen_random_uuid(), $1, $2, $4, auth.code_hash($3, $5), lower($3 collate "C"), now() at time zone 'UTC', now() at time zone 'UTC'
  )
  on conflict (user_id, token_type) do update
  set token_hash = excluded.token_hash, code_hash = excluded.code_hash, relates_to = excluded.relates_to, wrong_tries = 0,
    invites = false, created_at = excluded.created_at, updated_at = excluded.updated_at
$$;
comment on function auth.store_code(uuid, auth.one_time_token_type, text, text, text) is
  'Replaces the link and the code of an account for a purpose. Without a keyed hash, no code is accepted.';

-- The request names the account by user_id, email or phone. The result has the member `status`:
--   absent: there is no such account
--   confirmed, unconfirmed: the account is not in the state that the request asks for (`only`)
--   idle: there is no change of the address to confirm
--   wait: with retry_after, the seconds until the next mail may be sent
--   exists: another account has the new address
--   sent: with the user, and the mails: address (to) and token of the link of each
create function auth.issue_code(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  purpose constant text := request ->> 'purpose';
  prefix constant text := case when request ->> 'code_challenge' is null then '' else 'pkce_' end;
  account auth.users;
  found_id uuid := (request ->> 'user_id')::uuid;
  sent_at timestamptz;
  remaining double precision;
  target text;
  token constant text := prefix || auth.new_link_token();
  hash constant text := auth.link_hash(token);
  current_token text;
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
    when 'email_change' then coalesce(lower((request ->> 'new_email') collate "C"), nullif(account.email_change, ''))
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
      and case purpose when 'email_change' then lower(email collate "C") = target else phone = target end
    union all
    select from auth.identities
    where user_id <> account.id and purpose = 'email_change' and email = target and provider !~ '^sso:'
  ) then
    return json_build_object('status', 'exists');
  end if;

  mails := json_build_array(json_build_object('to', target, 'token', token));
  if purpose in ('confirmation', 'invite', 'phone_confirmation') then
    update auth.users
    set confirmation_token = hash, confirmation_sent_at = now(), updated_at = now(),
      invited_at = case when purpose = 'invite' then now() else invited_at end
    where id = account.id returning * into account;
    confirmed_password := auth.password_to_confirm(account, request);
    perform auth.store_code(account.id, 'confirmation_token', target, hash, request ->> 'code_mac');
    update auth.one_time_tokens set password_hash = confirmed_password, invites = purpose = 'invite'
    where user_id = account.id and token_type = 'confirmation_token';
  elsif purpose in ('recovery', 'magiclink') then
    update auth.users set recovery_token = hash, recovery_sent_at = now(), updated_at = now()
    where id = account.id returning * into account;
    perform auth.store_code(account.id, 'recovery_token', target, hash, request ->> 'code_mac');
  elsif purpose in ('reauthentication', 'phone_reauthentication') then
    update auth.users set reauthentication_token = hash, reauthentication_sent_at = now(), updated_at = now()
    where id = account.id returning * into account;
    perform auth.store_code(account.id, 'reauthentication_token', target, hash, request ->> 'code_mac');
  elsif purpose = 'phone_change' then
    update auth.users
    set phone_change = target, phone_change_token = hash, phone_change_sent_at = now(), updated_at = now()
    where id = account.id returning * into account;
    perform auth.store_code(account.id, 'phone_change_token', target, hash, request ->> 'code_mac');
  elsif purpose = 'email_change' then
    if (request ->> 'secure')::boolean and account.email is not null then
      current_token := prefix || auth.new_link_token();
      current_hash := auth.link_hash(current_token);
      mails := json_build_array(mails -> 0, json_build_object('to', account.email, 'token', current_token));
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
      perform auth.store_code(account.id, 'email_change_token_new', target, hash, request ->> 'code_mac');
    end if;
    if current_hash is not null and coalesce(request ->> 'side', 'current') = 'current' then
      perform auth.store_code(
        account.id, 'email_change_token_current', account.email, current_hash, request ->> 'current_code_mac'
      );
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
  E'Stores a code for an account, unless one was sent a moment ago. Returns what to send.\n\nMembers of the request: purpose (confirmation, invite, recovery, magiclink, email_change, reauthentication, phone_confirmation, phone_change, phone_reauthentication); user_id, email or phone; only (confirmed, unconfirmed, phone_confirmed, phone_unconfirmed); code_mac, the keyed hash of the code; for a change of the address new_email or new_phone, secure, current_code_mac and side (new, current); frequency in seconds; for a confirmation password_hash (of the sign-up; left out when the code is sent again); code_challenge and code_challenge_method; audit, audit_type, audit_traits and ip.';

create function auth.issue_code_to_new_account(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  outcome constant json := auth.sign_up(
    (request ->> 'new_id')::uuid, case when request ->> 'email' is null then 'phone' else 'email' end,
    coalesce(lower((request ->> 'email') collate "C"), request ->> 'phone'), request ->> 'password_hash', (request -> 'data')::jsonb,
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

create function auth.issue_change_code(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform from auth.users where users.id = (request ->> 'user_id')::uuid for no key update;
  perform auth.require_second_factor(
    (request ->> 'user_id')::uuid, (request ->> 'session_id')::uuid, 401,
    'AAL2 session is required to update email or password when MFA is enabled.'
  );
  return auth.issue_code(request);
end
$$;
comment on function auth.issue_change_code(json) is
  'auth.issue_code for a change of the address or phone number of the account `user_id` that its session `session_id` asks for.';

-- A wrong code counts against all codes that it may have been a guess of, so an error must be returned, not raised.
create function auth.find_code(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  most_tries constant integer := 5;
  address constant text := coalesce(lower((request ->> 'email') collate "C"), request ->> 'phone');
  hash constant text := auth.link_hash(request ->> 'token_hash');
  code_hashes constant text[] := array(
    select auth.code_hash(address, mac)
    from json_array_elements_text(case json_typeof(request -> 'code_macs') when 'array' then request -> 'code_macs' else '[]' end)
      as macs (mac)
  );
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
      when by_code then relates_to = address and code_hash = any (code_hashes) and wrong_tries < most_tries
      else token_hash = hash
    end
    and users.deleted_at is null
    and (request ->> 'user_id' is null or users.id = (request ->> 'user_id')::uuid)
    -- A code for an address proves nothing about another that the account has got since.
    and relates_to = case
      when kind = 'sms' then users.phone
      when kind = 'phone_change' then users.phone_change
      when token_type = 'email_change_token_new' then lower(users.email_change collate "C")
      when kind = 'reauthentication' then coalesce(lower((nullif(users.email, '')) collate "C"), users.phone)
      else lower(users.email collate "C")
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
  E'Finds the account of a code or link, and locks it until the end of the transaction: user_id, id, purpose and password_hash of the code, or error (otp_expired, user_banned). After five wrong codes a code is no longer valid; its link is.\n\nMembers of the request: type, email or phone with code_macs (keyed hashes of the code, one for each key), or token_hash (the token of a link); user_id; lifetime of codes in seconds.';

-- A later sign-up with a pending address replaces the code of an earlier one, but not its link: a person who has asked for a mail
-- can confirm what they have asked for, although another person has signed up with the address since.
create table auth.earlier_sign_ups (
  token_hash text not null constraint earlier_sign_ups_pkey primary key,
  user_id uuid not null constraint earlier_sign_ups_user_id_fkey references auth.users on delete cascade,
  password_hash text not null,
  relates_to text not null,
  created_at timestamp not null
);
create index earlier_sign_ups_user_id_idx on auth.earlier_sign_ups (user_id);
comment on table auth.earlier_sign_ups is 'Links of sign-ups with an address that others have signed up with since, before it was confirmed.';
comment on column auth.earlier_sign_ups.token_hash is 'As in auth.one_time_tokens.';
comment on column auth.earlier_sign_ups.password_hash is 'Hash of the password of the sign-up.';
comment on column auth.earlier_sign_ups.relates_to is 'The address that the link was sent to.';
comment on column auth.earlier_sign_ups.created_at is 'When the link was sent, in UTC.';
alter table auth.earlier_sign_ups enable row level security;
grant select, insert, update, delete on auth.earlier_sign_ups to supabase_auth_admin;
create policy service on auth.earlier_sign_ups to supabase_auth_admin using (true) with check (true);
comment on policy service on auth.earlier_sign_ups is 'The service of /auth/v1 reads and writes all rows.';

create function auth.keep_earlier_sign_up() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'DELETE' then
    delete from auth.earlier_sign_ups where user_id = old.user_id;
  elsif new.token_hash <> old.token_hash and old.password_hash <> '' then
    delete from auth.earlier_sign_ups where user_id = old.user_id and created_at < new.created_at - interval '7 days';
    insert into auth.earlier_sign_ups (token_hash, user_id, password_hash, relates_to, created_at)
    values (old.token_hash, old.user_id, old.password_hash, old.relates_to, old.updated_at)
    on conflict do nothing;
  else
    -- A mail that is sent again stands for the same sign-up, and replaces its link.
    delete from auth.earlier_sign_ups where user_id = new.user_id and password_hash = new.password_hash;
  end if;
  return null;
end
$$;
comment on function auth.keep_earlier_sign_up() is
  'Trigger: keeps the link of a sign-up when the code of another one with the same address replaces it.';

create trigger keep_earlier_sign_up_on_update after update of token_hash, password_hash on auth.one_time_tokens
  for each row when (old.token_type = 'confirmation_token') execute function auth.keep_earlier_sign_up();
create trigger keep_earlier_sign_up_on_delete after delete on auth.one_time_tokens
  for each row when (old.token_type = 'confirmation_token') execute function auth.keep_earlier_sign_up();

create function auth.find_earlier_sign_up(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  hash constant text := auth.link_hash(request ->> 'token_hash');
  found_link auth.earlier_sign_ups;
begin
  perform from auth.users
  where users.id = (select user_id from auth.earlier_sign_ups where token_hash = hash)
  for no key update;
  select earlier.* into found_link
  from auth.earlier_sign_ups as earlier join auth.users on users.id = earlier.user_id
  where earlier.token_hash = hash and request ->> 'type' in ('signup', 'email')
    and earlier.created_at at time zone 'UTC' > now() - make_interval(secs => (request ->> 'lifetime')::double precision)
    and earlier.relates_to = lower(users.email collate "C") and users.email_confirmed_at is null
    and not auth.is_banned(users);
  if not found then
    return null;
  end if;
  return json_build_object(
    'user_id', found_link.user_id, 'purpose', 'confirmation_token', 'password_hash', found_link.password_hash
  );
end
$$;
comment on function auth.find_earlier_sign_up(json) is
  'What auth.find_code returns, for the link of an earlier sign-up with an address that is not confirmed yet. Null if there is none.';

-- The result has one of the members `error`, `half` (the first of two confirmations of a new address), `auth_code` or
-- `session`.
create function auth.use_code(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  found_code json := auth.find_code(request);
  kind text := request ->> 'type';
  account auth.users;
  earlier auth.users;
  changed jsonb;
  issued json;
begin
  if found_code ->> 'error' = 'otp_expired' then
    found_code := coalesce(auth.find_earlier_sign_up(request), found_code);
  end if;
  if found_code ->> 'error' is not null then
    return found_code;
  end if;
  select * into account from auth.users where id = (found_code ->> 'user_id')::uuid;
  earlier := account;
  if kind = 'email' then
    kind := case found_code ->> 'purpose' when 'confirmation_token' then 'signup' else 'magiclink' end;
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
    if coalesce(earlier.phone, '') <> '' then
      changed := jsonb_build_object('kind', 'phone_changed', 'old', earlier.phone);
    elsif not exists (select from auth.identities where user_id = account.id and provider = 'phone') then
      changed := '{"kind": "identity_linked"}';
    end if;
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
      set email = lower(email_change collate "C"), email_change = '', email_change_confirm_status = 0, updated_at = now()
      where id = account.id returning * into account;
    exception
      when unique_violation then
        return json_build_object('error', 'email_exists');
    end;
    account := auth.adopt_address(account, 'email');
    perform auth.record_audit(account, 'user_modified', 'user', null, request ->> 'ip');
    perform auth.clear_codes(account.id);
    if earlier.email_confirmed_at is not null and earlier.email <> account.email then
      changed := jsonb_build_object('kind', 'email_changed', 'old', earlier.email);
    end if;
  end if;
  if changed is not null then
    select * into account from auth.users where id = account.id;
    changed := changed || jsonb_build_object('user', auth.user_object(account));
  end if;

  if (request ->> 'pkce')::boolean then
    issued := auth.issue_auth_code(account.id, case kind when 'signup' then 'email/signup' else kind end);
    if issued is null then
      perform auth.fail(
        400, 'flow_state_not_found', 'No associated flow state found. No valid flow state found for user.'
      );
    end if;
    return issued::jsonb || jsonb_build_object('changed', changed);
  end if;
  return json_build_object(
    'type', kind,
    'changed', changed,
    'session', auth.start_session(
      account.id, 'otp', request ->> 'ip', request ->> 'user_agent',
      jsonb_build_object('provider', case when kind in ('sms', 'phone_change') then 'phone' else 'email' end)
    )
  );
end
$$;
comment on function auth.use_code(json) is
  E'Uses up a code or link: confirms what it stands for, and starts a session or issues an authorization code. Of concurrent requests with the same code, one succeeds.\n\nWhat the owner of the account may be notified of is in `changed`: kind (phone_changed, email_changed, identity_linked, by the names of notices), old (what the account had before), user.\n\nMembers of the request: those of find_code; secure (whether a new address needs both confirmations); pkce; ip and user_agent.';

create function auth.use_nonce(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  account constant auth.users := (select users from auth.users where id = (request ->> 'user_id')::uuid);
  found_code json;
begin
  found_code := auth.find_code(json_build_object(
    'type', 'reauthentication', 'email', nullif(account.email, ''),
    'phone', case when coalesce(account.email, '') = '' then account.phone end,
    'code_macs', request -> 'code_macs', 'user_id', account.id, 'lifetime', request ->> 'lifetime'
  ));
  if found_code ->> 'error' is null then
    perform auth.clear_codes(account.id);
  end if;
  return json_build_object('valid', found_code ->> 'error' is null);
end
$$;
comment on function auth.use_nonce(json) is
  'Uses up the code of a reauthentication: user_id, code_macs and lifetime in seconds. Returns whether it was valid.';

create function auth.invited_account(hash text, lifetime interval) returns uuid
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select users.id
  from auth.one_time_tokens join auth.users on users.id = one_time_tokens.user_id
  where one_time_tokens.token_type = 'confirmation_token' and one_time_tokens.token_hash = $1 and one_time_tokens.invites
    and one_time_tokens.relates_to = lower(users.email collate "C") and users.confirmation_sent_at > now() - $2
  limit 1
$$;
comment on function auth.invited_account(text, interval) is
  'The account of an invitation, by the hash of the token of its link; null if there is none, or it has expired.';

create function auth.find_invited(invite_token text, lifetime interval) returns uuid
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select auth.invited_account(auth.link_hash($1), $2)
$$;
comment on function auth.find_invited(text, interval) is
  'The account of an invitation, by the token of its link; null if the token is unknown, has expired, or is that of another link.';

grant execute on function
  auth.new_link_token(),
  auth.link_hash(text),
  auth.code_hash(text, text),
  auth.store_code(uuid, auth.one_time_token_type, text, text, text),
  auth.issue_code(json),
  auth.issue_code_to_new_account(json),
  auth.issue_change_code(json),
  auth.find_code(json),
  auth.keep_earlier_sign_up(),
  auth.find_earlier_sign_up(json),
  auth.use_code(json),
  auth.use_nonce(json),
  auth.invited_account(text, interval),
  auth.find_invited(text, interval)
to supabase_auth_admin;

call rowhouse.end_private_functions();
