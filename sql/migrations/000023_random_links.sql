-- Everyone who knew an address could compute the tokens of its links, which were hashes of the address and a code of six
-- digits. The token of a link is now random and has nothing to do with the code; of both only hashes are stored, of the
-- code one with a key that the database does not have: a hash without a key would reveal it after a million attempts.
--
-- The links and codes that are pending now end, because their hashes have another form: users ask for new ones. A server of
-- an earlier version beside this one can issue and accept links, but its codes are not accepted, because it sends no keyed
-- hash of them.

-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

comment on table auth.one_time_tokens is
  'Hashes of the links and codes that were sent to users; at most one of each per user and purpose.';
comment on column auth.one_time_tokens.token_hash is
  'Hexadecimal SHA-256 of the token of the link, with its prefix pkce_ if the request had a code challenge.';
-- Not columns of GoTrue.
alter table auth.one_time_tokens add column if not exists code_hash text;
comment on column auth.one_time_tokens.code_hash is
  'Hash of the address and the keyed hash of the code. The key is derived from those of access tokens, and is not in the database. Null if no code is accepted.';
alter table auth.one_time_tokens add column if not exists invites boolean not null default false;
comment on column auth.one_time_tokens.invites is 'Whether the link is that of an invitation.';
comment on column auth.flow_state.invite_token is
  'Hash of the token of the invitation that is accepted, as in auth.one_time_tokens.token_hash.';

create function auth.new_link_token() returns text
language sql volatile parallel safe set search_path = ''
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

create or replace function auth.code_hash(address text, code text) returns text
language sql immutable parallel safe
as $$
  select encode(sha256(convert_to(lower($1) || ' ' || $2, 'UTF8')), 'hex')
$$;
comment on function auth.code_hash(text, text) is
  'What is stored of a code: hexadecimal SHA-256 of its address and its keyed hash (HMAC), which the server computes.';

drop function auth.store_code(uuid, auth.one_time_token_type, text, text);
create function auth.store_code(
  account_id uuid, purpose auth.one_time_token_type, address text, link_hash text, code_mac text
)
returns void
language sql set search_path = ''
as $$
  insert into auth.one_time_tokens (id, user_id, token_type, token_hash, code_hash, relates_to, created_at, updated_at)
  values (
    gen_random_uuid(), $1, $2, $4, auth.code_hash($3, $5), lower($3), now() at time zone 'UTC', now() at time zone 'UTC'
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
create or replace function auth.issue_code(request json) returns json
language plpgsql set search_path = ''
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

  -- Servers of earlier versions send the code itself, and expect it in the result.
  mails := json_build_array(json_build_object('to', target, 'code', request ->> 'code', 'token', token));
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
      mails := json_build_array(
        mails -> 0,
        json_build_object('to', account.email, 'code', request ->> 'current_code', 'token', current_token)
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

-- A wrong code counts against all codes that it may have been a guess of, so an error must be returned, not raised.
create or replace function auth.find_code(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  most_tries constant integer := 5;
  address constant text := coalesce(lower(request ->> 'email'), request ->> 'phone');
  hash constant text := auth.link_hash(request ->> 'token_hash');
  -- Servers of earlier versions send a code without its keyed hashes: it is wrong.
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
  E'Finds the account of a code or link, and locks it until the end of the transaction: user_id, id, purpose and password_hash of the code, or error (otp_expired, user_banned). After five wrong codes a code is no longer valid; its link is.\n\nMembers of the request: type, email or phone with code_macs (keyed hashes of the code, one for each key), or token_hash (the token of a link); user_id; lifetime of codes in seconds.';

create or replace function auth.use_nonce(request json) returns json
language plpgsql set search_path = ''
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
language sql stable set search_path = ''
as $$
  select users.id
  from auth.one_time_tokens join auth.users on users.id = one_time_tokens.user_id
  where one_time_tokens.token_type = 'confirmation_token' and one_time_tokens.token_hash = $1 and one_time_tokens.invites
    and one_time_tokens.relates_to = lower(users.email) and users.confirmation_sent_at > now() - $2
  limit 1
$$;
comment on function auth.invited_account(text, interval) is
  'The account of an invitation, by the hash of the token of its link; null if there is none, or it has expired.';

create or replace function auth.find_invited(invite_token text, lifetime interval) returns uuid
language sql stable set search_path = ''
as $$
  select auth.invited_account(auth.link_hash($1), $2)
$$;
comment on function auth.find_invited(text, interval) is
  'The account of an invitation, by the token of its link; null if the token is unknown, has expired, or is that of another link.';

create or replace function auth.create_flow_state(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  state_id uuid;
  created record;
begin
  -- Abandoned flows.
  delete from auth.flow_state where id in (
    select id from auth.flow_state where created_at < now() - interval '1 day' limit 10 for update skip locked
  );
  delete from auth.oauth_client_states where id in (
    select id from auth.oauth_client_states where created_at < now() - interval '1 day' limit 10 for update skip locked
  );
  if request ->> 'code_verifier' is not null then
    insert into auth.oauth_client_states (id, provider_type, code_verifier, created_at)
    values (gen_random_uuid(), request ->> 'provider_type', request ->> 'code_verifier', now())
    returning id into state_id;
  end if;
  insert into auth.flow_state (
    id, user_id, auth_code, code_challenge_method, code_challenge, provider_type, authentication_method, referrer,
    oauth_client_state_id, linking_target_id, email_optional, invite_token, created_at, updated_at
  )
  values (
    gen_random_uuid(), (request ->> 'user_id')::uuid,
    case when request ->> 'code_challenge' is not null then gen_random_uuid()::text end,
    (request ->> 'code_challenge_method')::auth.code_challenge_method, request ->> 'code_challenge',
    request ->> 'provider_type', request ->> 'authentication_method', request ->> 'referrer', state_id,
    (request ->> 'linking_target_id')::uuid, coalesce((request ->> 'email_optional')::boolean, false),
    auth.link_hash(request ->> 'invite_token'), now(), now()
  )
  returning id into created;
  return json_build_object('id', created.id);
end
$$;
comment on function auth.create_flow_state(json) is
  E'Starts a flow and returns its id.\n\nMembers of the request: provider_type, authentication_method; with PKCE of the client code_challenge and code_challenge_method (s256, plain); user_id, if it is known; for a flow at a provider code_verifier, referrer (where to return to), linking_target_id (the account that gets the identity), invite_token (of the invitation that is accepted) and email_optional.';

-- The token proves that its user has read the mail, so the provider need not have verified the address.
create or replace function auth.accept_invitation(request json, out result json, out started json)
language plpgsql set search_path = ''
as $$
declare
  provider_name constant text := request ->> 'provider';
  subject constant text := request ->> 'subject';
  data constant jsonb := request -> 'identity_data';
  traits constant jsonb := jsonb_build_object('provider', request ->> 'provider');
  invited constant interval := (request ->> 'lifetime')::double precision * interval '1 second';
  address constant text := lower(nullif(request ->> 'email', ''));
  owner uuid;
  identity_id uuid;
  account auth.users;
begin
  perform auth.lock_identity(provider_name, subject, address);
  perform from auth.users where users.id = auth.invited_account(request ->> 'invite_token', invited) for update;
  -- Another request may have used the token while this one waited.
  select * into account from auth.users where users.id = auth.invited_account(request ->> 'invite_token', invited);
  if not found then
    result := json_build_object('outcome', 'invite_not_found');
    return;
  end if;
  if auth.is_banned(account) then
    result := json_build_object('outcome', 'user_banned');
    return;
  end if;
  if address is distinct from lower(account.email) then
    result := json_build_object('outcome', 'invite_mismatch');
    return;
  end if;
  select identities.user_id, identities.id into owner, identity_id
  from auth.identities where identities.provider_id = subject and identities.provider = provider_name;
  if owner <> account.id then
    result := json_build_object('outcome', 'linked_to_other');
    return;
  end if;
  identity_id := coalesce(identity_id, auth.add_identity(account.id, provider_name, subject, data));
  update auth.users set raw_user_meta_data = coalesce(raw_user_meta_data, '{}') || data, updated_at = now()
  where users.id = account.id;
  perform auth.record_audit(account, 'invite_accepted', 'account', traits, request ->> 'ip');
  if account.email_confirmed_at is null then
    perform auth.remove_unproven_access(account.id, identity_id, (request ->> 'flow_id')::uuid);
  end if;
  perform auth.set_providers(account.id);
  account := auth.confirm_verified_address(account.id);
  result := json_build_object(
    'outcome', 'signed_in', 'created', false, 'user', auth.user_object(account),
    'auth_code', auth.finish_flow(request, account.id)
  );
  started := auth.start_unless_flow(request, account.id);
end
$$;
comment on function auth.accept_invitation(json) is
  E'Accepts an invitation by a sign-in at a provider with the invited address.\n\nMembers of the request: invite_token (what auth.create_flow_state has stored of it), lifetime of invitations in seconds, and those of auth.sign_in_with_provider. The outcome is signed_in, invite_not_found, invite_mismatch (another address), linked_to_other or user_banned.';

grant execute on function
  auth.new_link_token(),
  auth.link_hash(text),
  auth.store_code(uuid, auth.one_time_token_type, text, text, text),
  auth.invited_account(text, interval)
to supabase_auth_admin;

call rowhouse.end_private_functions();
