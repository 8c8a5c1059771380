-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Sign-in at providers. The service runs these functions as supabase_auth_admin.

-- Flows: sign-ins that continue in another request

create function auth.create_flow_state(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
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

create function auth.issue_auth_code(account_id uuid, method text) returns json
language sql set search_path = pg_catalog, pg_temp
as $$
  with newest as (
    select id from auth.flow_state
    where user_id = $1 and authentication_method = $2 and auth_code is not null
    order by created_at desc
    limit 1
    for update
  )
  update auth.flow_state set auth_code_issued_at = now(), updated_at = now()
  from newest where flow_state.id = newest.id
  returning json_build_object('auth_code', auth_code)
$$;
comment on function auth.issue_auth_code(uuid, text) is
  'The code of the newest flow of an account with an authentication method, which is valid from now on. No row without such a flow.';

-- Compares hashes, so that the time of the comparison says nothing about the challenge.
create function auth.fits_challenge(flow auth.flow_state, code_verifier text) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp
as $$
  select sha256(convert_to($1.code_challenge, 'UTF8')) = sha256(convert_to(
    case $1.code_challenge_method
      when 'plain' then $2
      else rtrim(translate(encode(sha256(convert_to($2, 'UTF8')), 'base64'), E'+/\n', '-_'), '=')
    end, 'UTF8'))
$$;
comment on function auth.fits_challenge(auth.flow_state, text) is
  'Whether a code verifier is that of the challenge of a flow. RFC 7636, section 4.6';

create function auth.exchange_auth_code(
  code text, code_verifier text, lifetime interval, ip text, user_agent text, out result json, out started json
)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  flow auth.flow_state;
begin
  -- The account is locked first, as by a change of its password, which deletes the flow.
  perform from auth.users
  where users.id = (select flow_state.user_id from auth.flow_state where flow_state.auth_code = $1)
  for no key update;
  select * into flow from auth.flow_state
  where flow_state.auth_code = $1 and flow_state.user_id is not null and flow_state.auth_code_issued_at is not null
  for update;
  if not found then
    result := json_build_object('outcome', 'not_found');
  elsif flow.auth_code_issued_at + $3 <= now() then
    result := json_build_object('outcome', 'expired');
  elsif not auth.fits_challenge(flow, $2) then
    result := json_build_object('outcome', 'bad_verifier');
  else
    delete from auth.flow_state where flow_state.id = flow.id;
    result := json_build_object(
      'outcome', 'exchanged',
      'method', flow.authentication_method,
      'provider', flow.provider_type,
      'provider_token', flow.provider_access_token,
      'provider_refresh_token', flow.provider_refresh_token
    );
    started := auth.start_session(
      flow.user_id, flow.authentication_method, $4, $5, jsonb_build_object('provider_type', flow.provider_type)
    );
  end if;
end
$$;
comment on function auth.exchange_auth_code(text, text, interval, text, text) is
  'Uses up a code and starts the session that it stands for. The outcome is exchanged, not_found, expired or bad_verifier; a wrong verifier leaves the code as it is.';

create function auth.take_oauth_state(state uuid, lifetime interval) returns json
language plpgsql set search_path = pg_catalog, pg_temp
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
comment on function auth.take_oauth_state(uuid, interval) is
  'Uses up the state of a flow at a provider, whatever becomes of the flow. The outcome is taken, not_found, expired or used.';

create function auth.finish_flow(request json, account_id uuid) returns text
language sql set search_path = pg_catalog, pg_temp
as $$
  update auth.flow_state set
    user_id = $2, provider_access_token = $1 ->> 'provider_token',
    provider_refresh_token = $1 ->> 'provider_refresh_token', auth_code_issued_at = now(), updated_at = now()
  where id = ($1 ->> 'flow_id')::uuid and user_id is null and auth_code is not null
  returning auth_code
$$;
comment on function auth.finish_flow(json, uuid) is
  'Binds the flow of a request to an account that has signed in at the provider, and returns the code for the client.';

create function auth.start_unless_flow(request json, account_id uuid) returns json
language sql set search_path = pg_catalog, pg_temp
as $$
  select case when $1 ->> 'flow_id' is null then
    auth.start_session($2, 'oauth', $1 ->> 'ip', $1 ->> 'user_agent', jsonb_build_object('provider', $1 ->> 'provider'))
  end
$$;
comment on function auth.start_unless_flow(json, uuid) is
  'Starts the session of an account that has signed in at a provider; null if the request finishes a flow, whose code stands for the session.';

-- Accounts of providers

create function auth.find_linked_account(
  provider text, subject text, verified_email text, out decision text, out account_id uuid, out identity_id uuid
)
language plpgsql stable set search_path = pg_catalog, pg_temp
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
comment on function auth.find_linked_account(text, text, text) is
  E'The account for a sign-in at a provider. The decision is exists (the account that has the identity), link (the account with the same verified address, which gets the identity), create, or multiple (more than one account with the address).\n\nThe address is in lower case; null if the provider has not verified it.';

create function auth.linking_decision(provider text, subject text, verified_email text) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select json_build_object('decision', decision) from auth.find_linked_account($1, $2, $3)
$$;
comment on function auth.linking_decision(text, text, text) is
  'What a sign-in at a provider would do: exists, link, create or multiple.';

create function auth.add_identity(account_id uuid, provider text, subject text, identity_data jsonb) returns uuid
language sql set search_path = pg_catalog, pg_temp
as $$
  insert into auth.identities (id, provider_id, user_id, provider, identity_data, last_sign_in_at, created_at, updated_at)
  values (gen_random_uuid(), $3, $1, $2, $4, now(), now(), now())
  returning id
$$;
comment on function auth.add_identity(uuid, text, text, jsonb) is 'Adds an identity to an account, and returns its id.';

-- Concurrent sign-ins of one identity, or with one address, must not create two accounts.
create function auth.lock_identity(provider text, subject text, address text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('identity ' || $1 || ' ' || $2, 0));
  if $3 is not null then
    perform pg_advisory_xact_lock(hashtextextended('address ' || $3, 0));
  end if;
end
$$;
comment on function auth.lock_identity(text, text, text) is
  'Locks an identity at a provider, and the address that it has, if any, until the end of the transaction.';

create function auth.sign_in_with_provider(request json, out result json, out started json)
language plpgsql set search_path = pg_catalog, pg_temp
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
comment on function auth.sign_in_with_provider(json) is
  E'Finds or creates the account of an identity at a provider. Finishes the flow of the client, if it has one, otherwise starts a session.\n\nMembers of the request: provider, subject, identity_data, email, email_verified; aud and role of new accounts; the settings autoconfirm, disable_signup, email_optional and allow_unverified; flow_id, provider_token and provider_refresh_token; ip and user_agent. The outcome is signed_in (with auth_code, if there is a flow), needs_verification, signup_disabled, user_banned or multiple_accounts.';

-- The token proves that its user has read the mail, so the provider need not have verified the address.
create function auth.accept_invitation(request json, out result json, out started json)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  provider_name constant text := request ->> 'provider';
  subject constant text := request ->> 'subject';
  data constant jsonb := request -> 'identity_data';
  traits constant jsonb := jsonb_build_object('provider', request ->> 'provider');
  invited constant interval := (request ->> 'lifetime')::double precision * interval '1 second';
  address constant text := lower((nullif(request ->> 'email', '')) collate "C");
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
  if address is distinct from lower(account.email collate "C") then
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
  if account.email_confirmed_at is null or account.email_unproven then
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

create function auth.start_linking(request json) returns json
language plpgsql set search_path = pg_catalog, pg_temp
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

create function auth.link_identity(request json, out result json, out started json)
language plpgsql set search_path = pg_catalog, pg_temp
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
  select * into account from auth.users where users.id = account.id;
  result := json_build_object(
    'outcome', 'linked', 'auth_code', auth.finish_flow(request, account.id), 'user', auth.user_object(account)
  );
  started := auth.start_unless_flow(request, account.id);
end
$$;
comment on function auth.link_identity(json) is
  E'Adds an identity at a provider to an account, for one of its sessions. An account without an address gets that of the identity. Finishes the flow of the client, or starts a session.\n\nMembers of the request: user_id, session_id, and those of auth.sign_in_with_provider. The outcome is linked, insufficient_aal (see auth.lacks_second_factor), needs_verification, already_linked, linked_to_other, email_exists, user_banned or user_not_found.';

create function auth.unlink_identity(
  account_id uuid, identity_id uuid, autoconfirm boolean, ip text, session_id uuid default null
)
returns json
language plpgsql set search_path = pg_catalog, pg_temp
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

grant execute on function
  auth.create_flow_state(json),
  auth.issue_auth_code(uuid, text),
  auth.fits_challenge(auth.flow_state, text),
  auth.exchange_auth_code(text, text, interval, text, text),
  auth.take_oauth_state(uuid, interval),
  auth.finish_flow(json, uuid),
  auth.start_unless_flow(json, uuid),
  auth.find_linked_account(text, text, text),
  auth.linking_decision(text, text, text),
  auth.add_identity(uuid, text, text, jsonb),
  auth.lock_identity(text, text, text),
  auth.sign_in_with_provider(json),
  auth.accept_invitation(json),
  auth.start_linking(json),
  auth.link_identity(json),
  auth.unlink_identity(uuid, uuid, boolean, text, uuid)
to supabase_auth_admin;

call rowhouse.end_private_functions();
