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
--
-- A server of an earlier version beside this one does not name the session in some calls. It cannot link or unlink
-- identities of accounts with a second factor, or delete such accounts, until it is replaced.

-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Not columns of GoTrue.
alter table auth.users add column if not exists phone_unproven boolean not null default false;
alter table auth.flow_state add column if not exists linking_session_id uuid;
comment on column auth.users.email_unproven is
  'Whether the account is used although its owner has not proved the address: it has a cookie or a provider''s identity before the address is confirmed, or the settings or an administrator have confirmed the address. The first proof ends all other ways into the account.';
comment on column auth.users.phone_unproven is
  'Whether the phone number counts as confirmed although its owner has not proved it.';
comment on column auth.flow_state.linking_session_id is 'The session that links an identity to its account.';

-- Addresses without the case of ASCII letters
--
-- Not an index of GoTrue. Only seeds and providers write other letters than lower-case ASCII.
create index if not exists users_ascii_email_idx on auth.users (lower(email collate "C")) where is_sso_user = false;
drop index if exists auth.users_lower_email_idx;

create function auth.identity_email(identity auth.identities) returns text
language sql immutable parallel safe
as $$
  select pg_catalog.lower((identity.identity_data ->> 'email') collate "C")
$$;
comment on function auth.identity_email(auth.identities) is
  'The address of an identity without the case of ASCII letters. The column email is without that of all letters.';

-- Of these functions only the comparison changes; and an invitation is a proof for an address that was confirmed without one.
do $$
declare
  changed record;
begin
  for changed in
    select pg_catalog.pg_get_functiondef(oid) as definition
    from pg_catalog.pg_proc
    where pronamespace = 'auth'::regnamespace and proname in (
      'code_hash', 'store_code', 'find_account', 'issue_code', 'issue_code_to_new_account', 'find_code', 'find_invited',
      'invited_account', 'accept_invitation', 'is_taken', 'admin_create_user'
    )
  loop
    execute replace(
      regexp_replace(changed.definition, '\mlower\(((?:[^()]|\([^()]*\))*)\)', 'lower((\1) collate "C")', 'g'),
      'if account.email_confirmed_at is null then', 'if account.email_confirmed_at is null or account.email_unproven then'
    );
  end loop;
end
$$;

-- Second factors

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
language plpgsql set search_path = ''
as $$
begin
  if auth.lacks_second_factor($1, $2) then
    perform auth.fail($3, 'insufficient_aal', $4);
  end if;
end
$$;
comment on function auth.require_second_factor(uuid, uuid, integer, text) is
  'Ends the request with the error insufficient_aal if auth.lacks_second_factor. The account must be locked.';

create or replace function auth.end_sessions(user_id uuid, session_id uuid, scope text, ip text) returns void
language plpgsql set search_path = ''
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
    -- Signing out always ends the own session.
    and (not is_low or sessions.id is not distinct from $2 or coalesce(sessions.aal, 'aal1') < 'aal2');
end
$$;
comment on function auth.end_sessions(uuid, uuid, text, text) is
  E'Signs out: ends all sessions of an account (`global`), the given one (`local`), or all but the given one (`others`).\n\nA session that lacks the second factor of its account may not end others; `global` then spares sessions that have it.';

create function auth.revoke_own_sessions(user_id uuid, session_id uuid, chosen uuid) returns integer
language plpgsql security definer set search_path = ''
as $$
begin
  perform from auth.users where users.id = $1 for no key update;
  if $3 is null or $3 is distinct from $2 then
    perform auth.require_second_factor($1, $2, 403, 'AAL2 required to end other sessions');
  end if;
  return auth.revoke_sessions($1, $3, case when $3 is null then $2 end);
end
$$;
comment on function auth.revoke_own_sessions(uuid, uuid, uuid) is
  E'Ends the session `chosen` of an account for its session `session_id`, or all others if `chosen` is null. Returns the number of ended sessions.\n\nOther sessions than its own are ended only by a session that has used the second factor of the account, if there is one.';

create or replace function auth.rehash_password(user_id uuid, old_password_hash text, new_password_hash text) returns boolean
language sql security definer set search_path = ''
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

drop function auth.confirm_address(auth.users, text);
create function auth.confirm_address(account auth.users, provider text, is_proven boolean default true) returns auth.users
language plpgsql set search_path = ''
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

drop function auth.adopt_address(auth.users, text);
create function auth.adopt_address(account auth.users, provider text, is_proven boolean default true) returns auth.users
language plpgsql set search_path = ''
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

drop function auth.confirm_verified_address(uuid);
-- A trigger of the project may change the row, so the caller reads it again.
create function auth.confirm_verified_address(account_id uuid, is_proven boolean default true) returns auth.users
language sql set search_path = ''
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
language plpgsql security definer set search_path = ''
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

create or replace function auth.remove_unproven_access(account_id uuid, identity_id uuid, flow_id uuid) returns void
language sql set search_path = ''
as $$
  update auth.users set
    encrypted_password = null, phone = null, phone_confirmed_at = null,
    confirmation_token = '', recovery_token = '', reauthentication_token = '',
    email_change = '', email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
    phone_change = '', phone_change_token = '', email_unproven = false, phone_unproven = false,
    password_unproven = false, updated_at = now()
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

-- Another person may have opened the account for the address before its owner, and have chosen the password, have a session
-- or more. Whoever clicks on the mail of a sign-up confirms this sign-up: its password and what it has led to. Every other
-- proof ends all of that. Of several sign-ups, the only valid password is that of the one whose mail was confirmed.
create or replace function auth.settle_password(account auth.users, kind text, password_hash text) returns auth.users
language plpgsql set search_path = ''
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

-- A later sign-up with a pending address replaces the code of an earlier one, but not its link: whoever has asked for a mail
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
language plpgsql set search_path = ''
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
language plpgsql set search_path = ''
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

create or replace function auth.use_code(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  found_code json := auth.find_code(request);
  kind text := request ->> 'type';
  account auth.users;
  issued json;
begin
  if found_code ->> 'error' = 'otp_expired' then
    found_code := coalesce(auth.find_earlier_sign_up(request), found_code);
  end if;
  if found_code ->> 'error' is not null then
    return found_code;
  end if;
  select * into account from auth.users where id = (found_code ->> 'user_id')::uuid;
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
    -- Someone uses the account already: without a proof, nobody else gets it.
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

create or replace function auth.find_sign_in(address text, number text, audience text) returns json
language sql stable set search_path = ''
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

create or replace function auth.change_account(
  user_id uuid, session_id uuid, sets_password boolean, old_password_hash text, new_password_hash text, metadata jsonb,
  app_metadata jsonb, confirmed_email text, confirmed_phone text, ip text
)
returns json
language plpgsql set search_path = ''
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

-- Limits of sessions
--
-- `limits` are those of the settings, or null without any: timebox, inactivity and low_aal in seconds, single_per_user.

create function auth.has_newer_session(
  session auth.sessions, refreshed timestamptz, timebox interval, inactivity interval, low_aal interval
)
returns boolean
language sql stable
as $$
  select exists (
    select from auth.sessions as other
    where other.user_id = session.user_id and other.id <> session.id
      and auth.session_fault(other, null, $3, $4, $5) is null
      and coalesce(other.refreshed_at at time zone 'UTC', other.created_at)
        > coalesce(session.refreshed_at at time zone 'UTC', $2, session.created_at)
  )
$$;
comment on function auth.has_newer_session(auth.sessions, timestamptz, interval, interval, interval) is
  'Whether the user of a session has another that was used later and has not ended. For the arguments, see auth.session_fault.';
create or replace function auth.refresh_session(
  token text, successor text, reuse_interval interval, rotates boolean, timebox interval, inactivity interval, low_aal interval,
  single_per_user boolean, ip text, user_agent text
)
returns json
language plpgsql set search_path = '' set lock_timeout = '5s'
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

create function auth.breaks_limits(session auth.sessions, limits json) returns boolean
language sql stable
as $$
  select $2 is not null and (
    auth.session_fault(
      session, null, ($2 ->> 'timebox')::float8 * interval '1 second', ($2 ->> 'inactivity')::float8 * interval '1 second',
      ($2 ->> 'low_aal')::float8 * interval '1 second'
    ) is not null
    or ($2 ->> 'single_per_user')::boolean and auth.has_newer_session(
      session, null, ($2 ->> 'timebox')::float8 * interval '1 second', ($2 ->> 'inactivity')::float8 * interval '1 second',
      ($2 ->> 'low_aal')::float8 * interval '1 second'
    )
  )
$$;
comment on function auth.breaks_limits(auth.sessions, json) is
  'Whether a session has ended by the limits of the settings, as when its refresh token is exchanged.';

create function auth.session_end(session auth.sessions, limits json) returns timestamptz
language sql stable
as $$
  select least(session.not_after, session.created_at + ($2 ->> 'timebox')::float8 * interval '1 second')
$$;
comment on function auth.session_end(auth.sessions, json) is 'When a session ends, unless it is extended; null for no fixed end.';

drop function auth.find_session(bytea);
create function auth.find_session(id_hash bytea, limits json default null)
returns table (
  id uuid, user_id uuid, email text, first_name text, last_name text, app_role text, aal text, registered_at timestamptz,
  created_at timestamptz, expires_at timestamptz, email_confirmed boolean, used_at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  select sessions.id, users.id, users.email::text, auth.first_name(users), auth.last_name(users), users.app_role,
    coalesce(sessions.aal::text, 'aal1'),
    -- Seeded accounts may have no time.
    coalesce(users.created_at, sessions.created_at), sessions.created_at, auth.session_end(sessions, $2),
    users.email_confirmed_at is not null, coalesce(sessions.refreshed_at at time zone 'UTC', sessions.created_at)
  from auth.sessions join auth.users on users.id = sessions.user_id
  where sessions.id_hash = $1 and not auth.has_ended(sessions) and not auth.is_banned(users)
    and not auth.breaks_limits(sessions, $2)
$$;
comment on function auth.find_session(bytea, json) is
  'The session of a cookie, its account, and when it was last extended. Returns no row if the session has ended or the account is banned.';

drop function auth.session_claims(bytea, double precision);
create function auth.session_claims(id_hash bytea, remaining double precision, limits json default null) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  claims text;
begin
  -- The keys are in alphabetical order and without blanks, as the server writes the claims of a token.
  select json_strip_nulls(row_to_json(claim))::text into claims
  from (
    select coalesce(sessions.aal::text, 'aal1') as aal, users.app_role,
      case when users.email_confirmed_at is not null then users.email end as email, 'authenticated' as role,
      users.id as sub
    from auth.sessions join auth.users on users.id = sessions.user_id
    where sessions.id_hash = $1 and not auth.has_ended(sessions) and not auth.is_banned(users)
      and coalesce(auth.session_end(sessions, $3) > now() + $2 * interval '1 second', true)
      and not auth.breaks_limits(sessions, $3)
  ) as claim;
  if not found then
    raise no_data_found using message = 'no session with this cookie lasts so long';
  end if;
  return claims;
end
$$;
comment on function auth.session_claims(bytea, double precision, json) is
  'The claims of the owner of a cookie''s session, as JSON; the address only if it is confirmed. Raises an error if the session has ended or ends in less than the given number of seconds, or the account is banned.';

create function auth.note_use(id_hash bytea) returns void
language sql security definer set search_path = ''
as $$
  update auth.sessions set refreshed_at = now() at time zone 'UTC', updated_at = now()
  where sessions.id_hash = $1 and not auth.has_ended(sessions)
$$;
comment on function auth.note_use(bytea) is 'Notes that the session of a cookie is used, for the limit of inactivity.';

-- A session of tokens keeps its end. The cookie replaces an earlier one of the same session.
drop function auth.add_cookie(uuid, uuid, bytea);
create function auth.add_cookie(session_id uuid, user_id uuid, id_hash bytea, limits json default null)
returns table (email text, first_name text, last_name text, expires_at timestamptz)
language sql security definer set search_path = ''
as $$
  update auth.sessions set id_hash = $3, updated_at = now()
  from auth.users
  where sessions.id = $1 and sessions.user_id = $2 and not auth.has_ended(sessions)
    and not auth.breaks_limits(sessions, $4)
    and users.id = $2 and not auth.is_banned(users) and not users.is_anonymous and users.email <> ''
    and (users.email_confirmed_at is not null or users.email_unproven)
  returning users.email::text, auth.first_name(users), auth.last_name(users), auth.session_end(sessions, $4)
$$;
comment on function auth.add_cookie(uuid, uuid, bytea, json) is
  'Gives a session of tokens a cookie. Returns no row if the session has ended, or the account is banned or has no address that may be used.';

-- For supabase_auth_admin. The session then has both credentials, and ends with both.
drop function auth.issue_tokens(uuid, uuid);
create function auth.issue_tokens(session_id uuid, user_id uuid, limits json default null) returns json
language plpgsql set search_path = ''
as $$
#variable_conflict use_column
declare
  current_session auth.sessions;
  account auth.users;
  active text;
begin
  -- Concurrent requests wait here for each other, and all get the same token.
  select sessions.* into current_session from auth.sessions
  where sessions.id = $1 and sessions.user_id = $2 and not auth.has_ended(sessions)
  for no key update;
  select users.* into account from auth.users where users.id = current_session.user_id;
  if account.id is null or auth.is_banned(account) or auth.breaks_limits(current_session, $3) then
    return null;
  end if;
  select refresh_tokens.token into active from auth.refresh_tokens
  where refresh_tokens.session_id = $1 and refresh_tokens.revoked is false
  order by refresh_tokens.id desc limit 1;
  if active is null then
    active := auth.add_refresh_token($2, $1);
  end if;
  return auth.issued_session(current_session, account, active);
end
$$;
comment on function auth.issue_tokens(uuid, uuid, json) is
  'The active refresh token of a session, or a new one, with what an access token needs: see issued_session. Null if the session has ended.';

create function auth.find_issued_session(session_id uuid, user_id uuid) returns json
language sql stable set search_path = ''
as $$
  select auth.issued_session(sessions, users, null)
  from auth.sessions join auth.users on users.id = sessions.user_id
  where sessions.id = $1 and users.id = $2 and not auth.has_ended(sessions) and not auth.is_banned(users)
$$;
comment on function auth.find_issued_session(uuid, uuid) is
  'What an access token of a session needs, without a refresh token: see issued_session. Null if the session has ended.';

drop function auth.list_sessions(uuid);
create function auth.list_sessions(user_id uuid, limits json default null)
returns table (
  id uuid, created_at timestamptz, expires_at timestamptz, refreshed_at timestamptz, has_cookie boolean, user_agent text
)
language sql stable security definer set search_path = ''
as $$
  select sessions.id, sessions.created_at, auth.session_end(sessions, $2), sessions.refreshed_at at time zone 'UTC',
    sessions.id_hash is not null, sessions.user_agent
  from auth.sessions
  where sessions.user_id = $1 and not auth.has_ended(sessions) and not auth.breaks_limits(sessions, $2)
  order by sessions.created_at desc, sessions.id
  limit 100
$$;
comment on function auth.list_sessions(uuid, json) is
  'The sessions of an account, with cookies and with refresh tokens, newest first, at most 100.';

-- Providers, changes of addresses, second factors, administrators

create or replace function auth.find_linked_account(
  provider text, subject text, verified_email text, out decision text, out account_id uuid, out identity_id uuid
)
language plpgsql stable set search_path = ''
as $$
declare
  owners uuid[];
begin
  select identities.user_id, identities.id into account_id, identity_id
  from auth.identities where identities.provider_id = $2 and identities.provider = $1;
  if found then
    decision := 'exists';
    return;
  end if;
  select array_agg(users.id) into owners
  from auth.users where lower(users.email collate "C") = $3 and users.is_sso_user = false;
  -- An address that a provider did not verify may belong to another person.
  if owners is null then
    select array_agg(distinct identities.user_id) into owners
    from auth.identities join auth.users on users.id = identities.user_id
    where identities.email = $3 and auth.identity_email(identities) = $3
      and identities.identity_data ->> 'email_verified' = 'true'
      and identities.provider not like 'sso:%' and users.is_sso_user = false and users.deleted_at is null;
  end if;
  account_id := owners[1];
  decision := case coalesce(cardinality(owners), 0) when 0 then 'create' when 1 then 'link' else 'multiple' end;
end
$$;

create or replace function auth.sign_in_with_provider(request json, out result json, out started json)
language plpgsql set search_path = ''
as $$
declare
  provider_name constant text := request ->> 'provider';
  subject constant text := request ->> 'subject';
  data constant jsonb := request -> 'identity_data';
  traits constant jsonb := jsonb_build_object('provider', request ->> 'provider');
  is_verified constant boolean := (request ->> 'email_verified')::boolean;
  is_trusted constant boolean := is_verified or (request ->> 'autoconfirm')::boolean;
  address text := lower(nullif(request ->> 'email', '') collate "C");
  decision text;
  account_id uuid;
  identity_id uuid;
  account auth.users;
begin
  perform auth.lock_identity(provider_name, subject, address);

  select it.decision, it.account_id, it.identity_id into decision, account_id, identity_id
  from auth.find_linked_account(provider_name, subject, case when is_verified then address end) as it;

  case decision
    when 'multiple' then
      result := json_build_object('outcome', 'multiple_accounts');
      return;
    when 'create' then
      if (request ->> 'disable_signup')::boolean then
        result := json_build_object('outcome', 'signup_disabled');
        return;
      end if;
      -- An address that is not verified, and belongs to an account already, is not that of the new account.
      if not is_verified and (
        auth.is_taken(address, null, '00000000-0000-0000-0000-000000000000')
        or exists (
          select from auth.identities
          where identities.email = address and auth.identity_email(identities) = address and identities.provider not like 'sso:%'
        )
      ) then
        address := null;
      end if;
      insert into auth.users (
        instance_id, id, aud, role, email, confirmation_token, recovery_token, email_change_token_new, email_change,
        raw_app_meta_data, raw_user_meta_data, created_at, updated_at, email_unproven
      )
      values (
        '00000000-0000-0000-0000-000000000000', gen_random_uuid(), request ->> 'aud', request ->> 'role', address,
        '', '', '', '',
        jsonb_build_object('provider', provider_name, 'providers', jsonb_build_array(provider_name)), data, now(), now(),
        address is not null and not is_verified
      )
      returning * into account;
      identity_id := auth.add_identity(account.id, provider_name, subject, data);
    else
      select * into account from auth.users where users.id = account_id for update;
      if auth.is_banned(account) then
        result := json_build_object('outcome', 'user_banned');
        return;
      end if;
      if decision = 'link' then
        identity_id := auth.add_identity(account.id, provider_name, subject, data);
        perform auth.record_audit(
          account, 'identity_linked', 'user',
          traits || jsonb_build_object('identity_id', identity_id, 'provider_id', subject), request ->> 'ip'
        );
      else
        update auth.identities set identity_data = data, last_sign_in_at = now(), updated_at = now()
        where identities.id = identity_id;
      end if;
      update auth.users set raw_user_meta_data = coalesce(raw_user_meta_data, '{}') || data, updated_at = now()
      where users.id = account.id;
      account := auth.set_providers(account.id);
  end case;

  -- The provider has verified an address since the first sign-in, which had none that was free.
  if decision = 'exists' and is_trusted and address is not null and coalesce(account.email, '') = ''
    and not auth.is_taken(address, null, account.id)
  then
    update auth.users set email = address, email_unproven = not is_verified
    where users.id = account.id returning * into account;
  end if;

  if account.email_confirmed_at is null and not (
    (request ->> 'email_optional')::boolean and coalesce(account.email, '') = ''
  ) then
    if not is_trusted then
      if not (request ->> 'allow_unverified')::boolean then
        result := json_build_object(
          'outcome', 'needs_verification', 'created', decision = 'create', 'user', auth.user_object(account)
        );
        return;
      end if;
    elsif lower(account.email collate "C") = address then
      if decision <> 'create' then
        perform auth.remove_unconfirmed_access(
          account.id, identity_id, data, decision = 'link' or account.email_unproven, (request ->> 'flow_id')::uuid
        );
        perform auth.set_providers(account.id);
      end if;
      account := auth.confirm_verified_address(account.id, is_verified);
    end if;
  elsif account.email_unproven and is_verified and lower(account.email collate "C") = address then
    perform auth.remove_unconfirmed_access(account.id, identity_id, data, true, (request ->> 'flow_id')::uuid);
    perform auth.set_providers(account.id);
    account := auth.confirm_verified_address(account.id);
  end if;

  if decision = 'create' then
    perform auth.record_audit(account, 'user_signedup', 'team', traits, request ->> 'ip');
  end if;
  result := json_build_object(
    'outcome', 'signed_in', 'created', decision = 'create', 'user', auth.user_object(account),
    'auth_code', auth.finish_flow(request, account.id)
  );
  started := auth.start_unless_flow(request, account.id);
end
$$;

create or replace function auth.link_identity(request json, out result json, out started json)
language plpgsql set search_path = ''
as $$
declare
  provider_name constant text := request ->> 'provider';
  subject constant text := request ->> 'subject';
  data constant jsonb := request -> 'identity_data';
  address constant text := lower(nullif(request ->> 'email', '') collate "C");
  is_verified constant boolean := (request ->> 'email_verified')::boolean;
  is_trusted constant boolean := is_verified or (request ->> 'autoconfirm')::boolean;
  owner uuid;
  identity_id uuid;
  account auth.users;
begin
  perform auth.lock_identity(provider_name, subject, address);
  select * into account from auth.users where users.id = (request ->> 'user_id')::uuid for update;
  if not found then
    result := json_build_object('outcome', 'user_not_found');
    return;
  end if;
  if auth.is_banned(account) then
    result := json_build_object('outcome', 'user_banned');
    return;
  end if;
  if auth.lacks_second_factor(account.id, (request ->> 'session_id')::uuid) then
    result := json_build_object('outcome', 'insufficient_aal');
    return;
  end if;
  select identities.user_id into owner
  from auth.identities where identities.provider_id = subject and identities.provider = provider_name;
  if found then
    result := json_build_object('outcome', case owner when account.id then 'already_linked' else 'linked_to_other' end);
    return;
  end if;
  if coalesce(account.email, '') = '' and address is not null and auth.is_taken(address, null, account.id) then
    result := json_build_object('outcome', 'email_exists');
    return;
  end if;
  identity_id := auth.add_identity(account.id, provider_name, subject, data);
  perform auth.record_audit(
    account, 'identity_linked', 'user',
    jsonb_build_object('identity_id', identity_id, 'provider', provider_name, 'provider_id', subject), request ->> 'ip'
  );
  account := auth.set_providers(account.id);
  if coalesce(account.email, '') = '' and address is not null then
    update auth.users set
      email = address, email_unproven = not is_verified, email_change = '', email_change_token_new = '', email_change_token_current = '',
      email_change_confirm_status = 0
    where users.id = account.id returning * into account;
    delete from auth.one_time_tokens where user_id = account.id;
    if not is_trusted then
      result := json_build_object('outcome', 'needs_verification', 'user', auth.user_object(account));
      return;
    end if;
    account := auth.confirm_verified_address(account.id, is_verified);
  elsif account.email_unproven and is_verified and lower(account.email collate "C") = address then
    -- The owner of the address may have been lured into linking it to the account of the person who registered it.
    perform auth.remove_unproven_access(account.id, identity_id, (request ->> 'flow_id')::uuid);
    perform auth.set_providers(account.id);
    account := auth.confirm_verified_address(account.id);
  elsif account.is_anonymous and address is null then
    update auth.users set is_anonymous = false where users.id = account.id returning * into account;
  end if;
  result := json_build_object('outcome', 'linked', 'auth_code', auth.finish_flow(request, account.id));
  started := auth.start_unless_flow(request, account.id);
end
$$;

drop function auth.unlink_identity(uuid, uuid, boolean, text);
create function auth.unlink_identity(
  account_id uuid, identity_id uuid, autoconfirm boolean, ip text, session_id uuid default null
)
returns json
language plpgsql set search_path = ''
as $$
declare
  account auth.users;
  removed auth.identities;
  primary_identity auth.identities;
  address text;
  is_verified boolean;
begin
  select * into account from auth.users where users.id = $1 for update;
  if not found then
    return json_build_object('outcome', 'user_not_found');
  end if;
  if auth.lacks_second_factor($1, $5) then
    return json_build_object('outcome', 'insufficient_aal');
  end if;
  if (select count(*) from auth.identities where identities.user_id = $1) <= 1 then
    return json_build_object('outcome', 'single_identity');
  end if;
  select * into removed from auth.identities where identities.id = $2 and identities.user_id = $1;
  if not found then
    return json_build_object('outcome', 'not_found');
  end if;
  -- The new address of the account: preferably one that the provider has verified.
  if removed.provider <> 'phone' and not exists (
    select from auth.identities
    where identities.user_id = $1 and identities.id <> $2 and auth.identity_email(identities) = lower(account.email collate "C")
  ) then
    select * into primary_identity
    from auth.identities
    where identities.user_id = $1 and identities.id <> $2
      and (coalesce(identities.email, '') = '' or not exists (
        select from auth.users
        where lower(users.email collate "C") = auth.identity_email(identities) and users.is_sso_user = false and users.id <> $1
      ))
    order by coalesce(identities.email, '') = '',
      (identities.identity_data ->> 'email_verified') is distinct from 'true',
      identities.created_at, identities.id
    limit 1;
    if not found then
      return json_build_object('outcome', 'email_conflict');
    end if;
  end if;
  perform auth.record_audit(
    account, 'identity_unlinked', 'user',
    jsonb_build_object('identity_id', $2, 'provider', removed.provider, 'provider_id', removed.provider_id), $4
  );
  delete from auth.identities where identities.id = $2;
  if removed.provider = 'phone' then
    update auth.users set phone = null, phone_confirmed_at = null where users.id = $1;
  elsif primary_identity.id is not null then
    address := nullif(auth.identity_email(primary_identity), '');
    is_verified := coalesce(primary_identity.identity_data ->> 'email_verified' = 'true', false);
    -- Codes that were sent to the old address, and pending changes, are no longer valid.
    update auth.users set
      email = address, email_unproven = address is not null and not is_verified, confirmation_token = '', recovery_token = '', reauthentication_token = '',
      confirmation_sent_at = null, recovery_sent_at = null, reauthentication_sent_at = null,
      email_change = '', email_change_token_new = '', email_change_token_current = '', email_change_sent_at = null,
      email_change_confirm_status = 0, phone_change = '', phone_change_token = '', phone_change_sent_at = null
    where users.id = $1;
    delete from auth.one_time_tokens where one_time_tokens.user_id = $1;
    if address is null or not is_verified and not $3 then
      update auth.users set
        email_confirmed_at = null,
        raw_user_meta_data = coalesce(raw_user_meta_data, '{}') || '{"email_verified": false}'
      where users.id = $1;
    end if;
  end if;
  account := auth.set_providers($1);
  return json_build_object('outcome', 'unlinked', 'user', auth.user_object(account));
end
$$;

comment on function auth.unlink_identity(uuid, uuid, boolean, text, uuid) is
  E'Removes an identity of an account, which must have another one, for one of its sessions. If no other identity has the address of the account, the account gets that of one of them.\n\nThe outcome is unlinked, insufficient_aal (see auth.lacks_second_factor), single_identity, not_found, email_conflict (all other addresses belong to other accounts) or user_not_found.';
comment on function auth.link_identity(json) is
  E'Adds an identity at a provider to an account, for one of its sessions. An account without an address gets that of the identity. Finishes the flow of the client, or starts a session.\n\nMembers of the request: user_id, session_id, and those of auth.sign_in_with_provider. The outcome is linked, insufficient_aal (see auth.lacks_second_factor), needs_verification, already_linked, linked_to_other, email_exists, user_banned or user_not_found.';

create function auth.start_linking(request json) returns json
language plpgsql set search_path = ''
as $$
declare
  account_id constant uuid := (request ->> 'linking_target_id')::uuid;
  created json;
begin
  perform from auth.users where users.id = account_id for no key update;
  perform auth.require_second_factor(
    account_id, (request ->> 'session_id')::uuid, 403, 'AAL2 required to link an identity'
  );
  created := auth.create_flow_state(request);
  update auth.flow_state set linking_session_id = (request ->> 'session_id')::uuid where id = (created ->> 'id')::uuid;
  return created;
end
$$;
comment on function auth.start_linking(json) is
  'auth.create_flow_state for a flow that links an identity to the account `linking_target_id`, for its session `session_id`.';

create or replace function auth.take_oauth_state(state uuid, lifetime interval) returns json
language plpgsql set search_path = ''
as $$
declare
  flow auth.flow_state;
  verifier text;
begin
  select * into flow from auth.flow_state where id = $1 and oauth_client_state_id is not null for update;
  if not found then
    return json_build_object('outcome', 'not_found');
  end if;
  delete from auth.oauth_client_states
  where id = flow.oauth_client_state_id and provider_type = flow.provider_type
  returning code_verifier into verifier;
  if verifier is null then
    return json_build_object('outcome', 'used');
  end if;
  if flow.auth_code is null then
    delete from auth.flow_state where id = flow.id;
  end if;
  if flow.created_at + $2 <= now() then
    return json_build_object('outcome', 'expired');
  end if;
  return json_build_object(
    'outcome', 'taken',
    'flow_id', flow.id,
    'provider', flow.provider_type,
    'code_verifier', verifier,
    'referrer', flow.referrer,
    'linking_target_id', flow.linking_target_id,
    'linking_session_id', flow.linking_session_id,
    'email_optional', flow.email_optional,
    'invite_token', flow.invite_token,
    'is_pkce', flow.auth_code is not null
  );
end
$$;

create function auth.issue_change_code(request json) returns json
language plpgsql set search_path = ''
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

create or replace function auth.verify_factor(
  user_id uuid, session_id uuid, factor_id uuid, challenge_id uuid, totp_step bigint, recovery_hash text, method text,
  ip text
) returns json
language plpgsql set search_path = ''
as $$
#variable_conflict use_column
declare
  account auth.users;
  raised auth.sessions;
  factor auth.mfa_factors;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  perform from auth.sessions
  where sessions.id = $2 and sessions.user_id = $1 and not auth.has_ended(sessions) for update;
  if not found then
    return '{"refused": "session_not_found"}';
  end if;
  select mfa_factors.* into factor from auth.mfa_factors
  where mfa_factors.id = $3 and mfa_factors.user_id = $1 for update;
  if not found then
    return '{"refused": "mfa_factor_not_found"}';
  end if;
  -- A factor that was added before another was verified must not take its place.
  if factor.status <> 'verified' and auth.lacks_second_factor($1, $2) then
    return '{"refused": "insufficient_aal"}';
  end if;
  if factor.last_totp_step >= $5 then
    return '{"refused": "code_used"}';
  end if;
  if $6 is not null then
    if factor.status <> 'verified' or not exists (
      select from auth.mfa_recovery_codes
      where mfa_recovery_codes.user_id = $1 and mfa_recovery_codes.code_hash = $6 and mfa_recovery_codes.used_at is null
    ) then
      return '{"refused": "wrong_recovery_code"}';
    end if;
  end if;
  update auth.mfa_challenges set verified_at = now()
  where mfa_challenges.id = $4 and mfa_challenges.factor_id = $3 and mfa_challenges.verified_at is null;
  if not found then
    return '{"refused": "mfa_ip_address_mismatch"}';
  end if;

  if $6 is not null then
    update auth.mfa_recovery_codes set used_at = now()
    where mfa_recovery_codes.user_id = $1 and mfa_recovery_codes.code_hash = $6;
  end if;
  -- Before the first factor, every session could get recovery codes. Those of other sessions would bypass this factor.
  if not exists (
    select from auth.mfa_factors where mfa_factors.user_id = $1 and mfa_factors.status = 'verified'
  ) then
    delete from auth.mfa_recovery_codes
    where mfa_recovery_codes.user_id = $1 and mfa_recovery_codes.session_id is distinct from $2;
    -- The same is true of changes that they have begun.
    delete from auth.one_time_tokens
    where one_time_tokens.user_id = $1
      and one_time_tokens.token_type in ('email_change_token_new', 'email_change_token_current', 'phone_change_token');
    delete from auth.flow_state where flow_state.linking_target_id = $1;
    update auth.users set
      email_change = '', email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
      phone_change = '', phone_change_token = ''
    where users.id = $1;
  end if;
  update auth.mfa_factors
  set status = 'verified', last_totp_step = coalesce($5, mfa_factors.last_totp_step), updated_at = now()
  where mfa_factors.id = $3;
  delete from auth.mfa_factors
  where mfa_factors.user_id = $1 and mfa_factors.status = 'unverified' and mfa_factors.factor_type = factor.factor_type;

  insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
  values (gen_random_uuid(), $2, now(), now(), $7)
  on conflict (session_id, authentication_method) do update set updated_at = now();
  update auth.sessions set aal = 'aal2', factor_id = $3, updated_at = now() where sessions.id = $2
  returning sessions.* into raised;
  delete from auth.sessions
  where sessions.user_id = $1 and sessions.id <> $2 and coalesce(sessions.aal, 'aal1') < 'aal2';
  -- The refresh tokens of before must not give access at aal2.
  delete from auth.refresh_tokens where refresh_tokens.session_id = $2;
  perform auth.record_audit(
    account, 'verification_attempted', 'factor',
    jsonb_build_object('factor_id', $3, 'challenge_id', $4, 'factor_type', factor.factor_type, 'method', $7), $8
  );
  return auth.issued_session(raised, account, auth.add_refresh_token($1, $2));
end
$$;

create or replace function auth.admin_update_user(
  user_id uuid, attributes jsonb, password_hash text, ban interval, actor text, ip text
) returns json
language plpgsql set search_path = ''
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

-- Accounts of the cookie

drop function auth.create_user(text, text, text, text, text);
-- The trigger functions of a project's own tables may raise errors here, so a sign-up fails with their message.
create function auth.create_user(
  address text, password_hash text, given_name text, family_name text, ip text default null, new_id uuid default null,
  audience text default 'authenticated', new_role text default 'authenticated', confirms boolean default false
)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language plpgsql security definer set search_path = ''
as $$
#variable_conflict use_column
declare
  folded constant text := lower($1 collate "C");
  outcome json;
  created auth.users;
begin
  if exists (select from auth.users where lower(users.email collate "C") = folded and users.is_sso_user = false) then
    return;
  end if;
  outcome := auth.sign_up(
    coalesce($6, gen_random_uuid()), 'email', folded, $2,
    jsonb_strip_nulls(jsonb_build_object(
      'first_name', $3, 'last_name', $4,
      'full_name', case when $3 is not null and $4 is not null then $3 || ' ' || $4 else coalesce($3, $4) end,
      'email_verified', false
    )),
    $7, $8, $9, $5
  );
  -- Another request may have registered the address at the same time.
  if outcome ->> 'outcome' <> 'created' then
    return;
  end if;
  update auth.users set email_unproven = true where users.id = (outcome ->> 'id')::uuid returning users.* into created;
  return query select created.id, created.email::text, $3, $4, created.created_at;
end
$$;
comment on function auth.create_user(text, text, text, text, text, uuid, text, text, boolean) is
  'Registers an account that is used at once, before its owner has proved the address. With `confirms`, the address is confirmed at once. Returns no row if the address is taken.';

create or replace function auth.find_user(address text)
returns table (
  id uuid, email text, password_hash text, first_name text, last_name text, is_confirmed boolean, is_banned boolean
)
language sql stable security definer set search_path = ''
as $$
  select users.id, users.email::text, nullif(users.encrypted_password, ''), auth.first_name(users), auth.last_name(users),
    users.email_confirmed_at is not null or users.email_unproven, auth.is_banned(users)
  from auth.users
  where lower(users.email collate "C") = lower($1 collate "C") and users.is_sso_user = false
  -- Only a seed can write an address twice, in different case.
  order by users.email = lower($1 collate "C") desc, users.created_at
  limit 1
$$;
comment on function auth.find_user(text) is
  'The account with an address, its password hash (null without a password), and whether it may sign in with a cookie: its address is confirmed, or it was opened there.';

drop function auth.change_user(uuid, text, text, text, uuid, text);
create function auth.change_user(
  user_id uuid, old_password_hash text, address text, new_password_hash text, session_id uuid, ip text default null,
  confirms boolean default false
)
returns table (id uuid, email text, first_name text, last_name text, created_at timestamptz)
language plpgsql security definer set search_path = ''
as $$
#variable_conflict use_column
declare
  folded constant text := lower($3 collate "C");
  is_new boolean;
  changed auth.users;
begin
  select users.* into changed from auth.users where users.id = $1 for no key update;
  perform auth.require_second_factor($1, $5, 403, 'AAL2 required to change the account');
  if auth.is_taken(folded, null, $1) then
    raise unique_violation using message = 'the address belongs to another account';
  end if;
  is_new := coalesce(folded <> lower(changed.email collate "C"), false);
  update auth.users set
    email = coalesce(folded, users.email),
    encrypted_password = coalesce($4, users.encrypted_password),
    -- Pending codes were sent to the old address, or could set another password.
    confirmation_token = '', recovery_token = '', reauthentication_token = '', email_change = '',
    email_change_token_new = '', email_change_token_current = '', email_change_confirm_status = 0,
    -- The account is used before the new address is proved, as after a sign-up.
    email_confirmed_at = case when is_new then case when $7 then now() end else users.email_confirmed_at end,
    email_unproven = users.email_unproven or is_new,
    password_unproven = users.password_unproven or is_new and not $7,
    raw_user_meta_data = case
      when is_new then coalesce(users.raw_user_meta_data, '{}') || jsonb_build_object('email_verified', $7)
      else users.raw_user_meta_data
    end,
    updated_at = now()
  where users.id = $1 and users.encrypted_password = $2
  returning users.* into changed;
  if not found then
    return;
  end if;
  delete from auth.one_time_tokens where one_time_tokens.user_id = $1;
  delete from auth.flow_state where flow_state.user_id = $1;
  if $3 is not null then
    update auth.identities
    set identity_data = identity_data || jsonb_build_object('email', changed.email)
        || case when is_new then jsonb_build_object('email_verified', $7) else '{}' end,
      updated_at = now()
    where identities.user_id = $1 and identities.provider = 'email';
  end if;
  if $4 is not null then
    perform auth.revoke_sessions($1, null, $5);
    perform auth.record_audit(changed, 'user_updated_password', 'user', null, $6);
  end if;
  perform auth.record_audit(changed, 'user_modified', 'user', null, $6);
  return query
    select changed.id, changed.email::text, auth.first_name(changed), auth.last_name(changed), changed.created_at;
end
$$;
comment on function auth.change_user(uuid, text, text, text, uuid, text, boolean) is
  E'Changes the address and the password of an account for one of its sessions; null leaves a value unchanged. Returns no row if the password has changed.\n\nA new address is not confirmed, unless `confirms`. A new password ends all sessions except `session_id`. Pending one-time codes become invalid.';

drop function auth.delete_user(uuid, text, text);
create function auth.delete_user(
  user_id uuid, password_hash text, ip text default null, session_id uuid default null
)
returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  deleted auth.users;
begin
  perform from auth.users where users.id = $1 for update;
  perform auth.require_second_factor($1, $4, 403, 'AAL2 required to delete the account');
  delete from auth.users where users.id = $1 and users.encrypted_password = $2 returning users.* into deleted;
  if not found then
    return false;
  end if;
  perform auth.record_audit(deleted, 'user_deleted', 'team', jsonb_build_object('user_id', $1), $3);
  return true;
end
$$;
comment on function auth.delete_user(uuid, text, text, uuid) is
  'Deletes an account with all its rows, for one of its sessions. Returns false if the password has changed.';

create or replace function auth.find_api_key(key_hash bytea)
returns table (hash bytea, role text, user_id uuid, email text, expires_at timestamptz, id uuid, limits jsonb)
language sql stable security definer set search_path = ''
as $$
  select api_keys.key_hash, api_keys.role, api_keys.user_id,
    case when users.email_confirmed_at is not null then users.email::text end, api_keys.expires_at, api_keys.id,
    api_keys.limits
  from auth.api_keys left join auth.users on users.id = api_keys.user_id
  where api_keys.key_hash = $1
    and api_keys.revoked_at is null
    and (api_keys.expires_at is null or api_keys.expires_at > now())
    and auth.is_banned(users) is not true
$$;
comment on function auth.find_api_key(bytea) is
  'The role, user and limits of an API key; the address of the user only if it is confirmed. Returns no row if it is unknown, revoked or expired, or its user is banned or deleted.';

drop trigger api_key_user_changed on auth.users;
create trigger api_key_user_changed after update of banned_until, deleted_at, email, email_confirmed_at on auth.users
  for each row
  when (
    (old.banned_until, old.deleted_at, old.email, old.email_confirmed_at)
      is distinct from (new.banned_until, new.deleted_at, new.email, new.email_confirmed_at)
  )
  execute function rowhouse.api_key_user_changed();

-- Accounts that were opened with a cookie counted as confirmed. They stay in use there.
update auth.users set
  email_confirmed_at = null,
  password_unproven = coalesce(encrypted_password, '') <> '',
  raw_user_meta_data = coalesce(raw_user_meta_data, '{}') || '{"email_verified": false}'
where email_unproven and email_confirmed_at is not null;
update auth.identities set identity_data = identity_data || '{"email_verified": false}'
from auth.users
where users.id = identities.user_id and users.email_unproven and identities.provider = 'email';

grant execute on function
  auth.find_session(bytea, json),
  auth.session_claims(bytea, double precision, json),
  auth.note_use(bytea),
  auth.add_cookie(uuid, uuid, bytea, json),
  auth.list_sessions(uuid, json),
  auth.revoke_own_sessions(uuid, uuid, uuid),
  auth.create_user(text, text, text, text, text, uuid, text, text, boolean),
  auth.change_user(uuid, text, text, text, uuid, text, boolean),
  auth.delete_user(uuid, text, text, uuid),
  auth.confirm_unproven(uuid)
to authenticator;
grant execute on function
  auth.identity_email(auth.identities),
  auth.find_earlier_sign_up(json),
  auth.keep_earlier_sign_up(),
  auth.lacks_second_factor(uuid, uuid),
  auth.require_second_factor(uuid, uuid, integer, text),
  auth.rehash_password(uuid, text, text),
  auth.confirm_address(auth.users, text, boolean),
  auth.adopt_address(auth.users, text, boolean),
  auth.confirm_verified_address(uuid, boolean),
  auth.confirm_unproven(uuid),
  auth.has_newer_session(auth.sessions, timestamptz, interval, interval, interval),
  auth.breaks_limits(auth.sessions, json),
  auth.session_end(auth.sessions, json),
  auth.issue_tokens(uuid, uuid, json),
  auth.find_issued_session(uuid, uuid),
  auth.unlink_identity(uuid, uuid, boolean, text, uuid),
  auth.start_linking(json),
  auth.issue_change_code(json)
to supabase_auth_admin;

call rowhouse.end_private_functions();
