-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Passkeys, and security keys as second factors. The server verifies signatures; these functions decide which challenge and
-- which credential a signature is compared with, and use the challenge up. As those of second factors, they lock the account
-- first, and return {"refused": <reason>} when nothing was changed.

-- Tables of GoTrue: see 000002_accounts.sql.

create table if not exists auth.webauthn_credentials (
  id uuid not null default gen_random_uuid() constraint webauthn_credentials_pkey primary key,
  user_id uuid not null constraint webauthn_credentials_user_id_fkey references auth.users on delete cascade,
  credential_id bytea not null,
  public_key bytea not null
);
alter table auth.webauthn_credentials
  add column if not exists attestation_type text not null default '',
  add column if not exists aaguid uuid,
  add column if not exists sign_count bigint not null default 0,
  add column if not exists transports jsonb not null default '[]',
  add column if not exists backup_eligible boolean not null default false,
  add column if not exists backed_up boolean not null default false,
  add column if not exists friendly_name text not null default '',
  add column if not exists created_at timestamptz not null default now(),
  add column if not exists updated_at timestamptz not null default now(),
  add column if not exists last_used_at timestamptz;
create unique index if not exists webauthn_credentials_credential_id_key on auth.webauthn_credentials (credential_id);
create index if not exists webauthn_credentials_user_id_idx on auth.webauthn_credentials (user_id);
comment on table auth.webauthn_credentials is 'Passkeys of accounts.';
comment on column auth.webauthn_credentials.id is 'Identifies the passkey to its user.';
comment on column auth.webauthn_credentials.user_id is 'The account that it signs in to.';
comment on column auth.webauthn_credentials.credential_id is 'The id that the authenticator has chosen.';
comment on column auth.webauthn_credentials.public_key is 'The key that verifies its signatures, as COSE_Key.';
comment on column auth.webauthn_credentials.attestation_type is 'Always none: the make of authenticators is not verified.';
comment on column auth.webauthn_credentials.aaguid is 'The model of the authenticator, as it says itself.';
comment on column auth.webauthn_credentials.sign_count is
  'Number of signatures that the authenticator has made, or 0 if it does not count. A signature with a lower number is that of a copy.';
comment on column auth.webauthn_credentials.transports is 'How browsers reach the authenticator: usb, nfc, internal and others.';
comment on column auth.webauthn_credentials.backup_eligible is 'Whether the passkey can be copied to other devices of its user.';
comment on column auth.webauthn_credentials.backed_up is 'Whether it was copied when it was last used.';
comment on column auth.webauthn_credentials.friendly_name is 'Name for its user.';
comment on column auth.webauthn_credentials.created_at is 'When it was registered.';
comment on column auth.webauthn_credentials.updated_at is 'When it was last changed or used.';
comment on column auth.webauthn_credentials.last_used_at is 'When it last signed in.';

create table if not exists auth.webauthn_challenges (
  id uuid not null default gen_random_uuid() constraint webauthn_challenges_pkey primary key,
  user_id uuid constraint webauthn_challenges_user_id_fkey references auth.users on delete cascade,
  challenge_type text not null
    constraint webauthn_challenges_challenge_type_check check (challenge_type in ('signup', 'registration', 'authentication')),
  session_data jsonb not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index if not exists webauthn_challenges_user_id_idx on auth.webauthn_challenges (user_id);
create index if not exists webauthn_challenges_expires_at_idx on auth.webauthn_challenges (expires_at);
comment on table auth.webauthn_challenges is 'Challenges of passkeys. Each is deleted when it is answered, whether rightly or not.';
comment on column auth.webauthn_challenges.id is 'Names the challenge to the client.';
comment on column auth.webauthn_challenges.user_id is 'The account that gets the passkey; null for sign-in.';
comment on column auth.webauthn_challenges.challenge_type is 'registration or authentication.';
comment on column auth.webauthn_challenges.session_data is 'The random challenge, as base64url: {challenge}.';
comment on column auth.webauthn_challenges.created_at is 'When it was asked for.';
comment on column auth.webauthn_challenges.expires_at is 'No answer is accepted after this time.';

alter table auth.sessions add column if not exists passkey_id uuid;
comment on column auth.sessions.passkey_id is
  'The passkey by which the session began, which may have been deleted since; null for other ways to sign in.';

do $$
declare
  name text;
begin
  foreach name in array array['webauthn_credentials', 'webauthn_challenges']
  loop
    execute format('alter table auth.%I enable row level security', name);
    execute format('grant select, insert, update, delete on auth.%I to supabase_auth_admin', name);
    execute format('create policy service on auth.%I to supabase_auth_admin using (true) with check (true)', name);
    execute format('comment on policy service on auth.%I is %L', name, 'The service of /auth/v1 reads and writes all rows.');
  end loop;
end
$$;

create function auth.remove_passkeys_of_deleted() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  delete from auth.webauthn_credentials where webauthn_credentials.user_id = new.id;
  delete from auth.webauthn_challenges where webauthn_challenges.user_id = new.id;
  return null;
end
$$;
comment on function auth.remove_passkeys_of_deleted() is 'Trigger: deletes the passkeys of an account that is deleted but whose row is kept.';
create trigger remove_passkeys_of_deleted after update of deleted_at on auth.users
for each row when (old.deleted_at is null and new.deleted_at is not null)
execute function auth.remove_passkeys_of_deleted();
comment on trigger remove_passkeys_of_deleted on auth.users is 'Passkeys do not outlive their account.';

-- Passkeys

create function auth.passkey_object(credential auth.webauthn_credentials) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
    'id', $1.id,
    'friendly_name', nullif($1.friendly_name, ''),
    'created_at', auth.json_time($1.created_at),
    'last_used_at', auth.json_time($1.last_used_at)
  ))
$$;
comment on function auth.passkey_object(auth.webauthn_credentials) is 'A passkey as the API shows it.';

create function auth.passkey_objects(user_id uuid) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (
      select pg_catalog.json_agg(auth.passkey_object(credentials) order by credentials.created_at, credentials.id)
      from auth.webauthn_credentials as credentials where credentials.user_id = $1
    ),
    '[]'
  )
$$;
comment on function auth.passkey_objects(uuid) is 'The passkeys of an account.';

create function auth.add_passkey_challenge(user_id uuid, kind text, challenge text, lifetime interval) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  added auth.webauthn_challenges;
begin
  -- Expired ones are kept for a while to tell their users why they are refused. A few at a time, so that no request waits.
  delete from auth.webauthn_challenges where id in (
    select expired.id from auth.webauthn_challenges as expired where expired.expires_at < now() - interval '1 hour'
    limit 100 for update skip locked
  );
  insert into auth.webauthn_challenges (user_id, challenge_type, session_data, expires_at)
  values ($1, $2, jsonb_build_object('challenge', $3), now() + $4)
  returning webauthn_challenges.* into added;
  return json_build_object('id', added.id, 'expires_at', floor(extract(epoch from added.expires_at))::bigint);
end
$$;
comment on function auth.add_passkey_challenge(uuid, text, text, interval) is
  E'Stores a challenge for an account, or for sign-in to any account, and deletes some that have expired.\n\nReturns {id, expires_at}.';

create function auth.take_passkey_challenge(challenge_id uuid, kind text, user_id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  taken auth.webauthn_challenges;
begin
  delete from auth.webauthn_challenges
  where webauthn_challenges.id = $1 and webauthn_challenges.challenge_type = $2
    and webauthn_challenges.user_id is not distinct from $3
  returning webauthn_challenges.* into taken;
  if not found then
    return '{"refused": "webauthn_challenge_not_found"}';
  end if;
  if taken.expires_at <= now() then
    return '{"refused": "webauthn_challenge_expired"}';
  end if;
  return json_build_object('challenge', taken.session_data ->> 'challenge');
end
$$;
comment on function auth.take_passkey_challenge(uuid, text, uuid) is
  E'Uses up a challenge, so that it is compared with one answer only.\n\nReturns {challenge}.';

create function auth.passkey_refusal(user_id uuid, session_id uuid, most integer default null) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select json_build_object('refused', refused) from (
    select case
      when (select users.is_sso_user from auth.users where users.id = $1) then 'sso_user'
      when not exists (
        select from auth.sessions where sessions.id = $2 and sessions.user_id = $1 and not auth.has_ended(sessions)
      ) then 'session_not_found'
      when auth.lacks_second_factor($1, $2) then 'insufficient_aal'
      when (select count(*) from auth.webauthn_credentials as owned where owned.user_id = $1) >= $3 then 'too_many_passkeys'
    end
  ) as reason (refused)
  where refused is not null
$$;
comment on function auth.passkey_refusal(uuid, uuid, integer) is
  'Why a session may not add a passkey to its account, of which it may have `most`: {refused}; null if it may. An account that gets one must be locked.';

create function auth.begin_passkey_registration(
  user_id uuid, session_id uuid, challenge text, lifetime interval, most integer
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  refusal constant json := auth.passkey_refusal($1, $2, $5);
begin
  if refusal is not null then
    return refusal;
  end if;
  return json_build_object(
    'challenge', auth.add_passkey_challenge($1, 'registration', $3, $4),
    'existing', (
      select coalesce(json_agg(
        json_build_object(
          'id', rtrim(translate(replace(encode(credentials.credential_id, 'base64'), E'\n', ''), '+/', '-_'), '='),
          'transports', credentials.transports
        )
        order by credentials.created_at
      ), '[]')
      from auth.webauthn_credentials as credentials where credentials.user_id = $1
    ),
    'display_name', (select users.raw_user_meta_data ->> 'name' from auth.users where users.id = $1)
  );
end
$$;
comment on function auth.begin_passkey_registration(uuid, uuid, text, interval, integer) is
  E'Begins to add a passkey to an account that has fewer than `most`.\n\nReturns {challenge: {id, expires_at}, existing: [{id, transports}], display_name}.';

-- As in GoTrue, who may not add a passkey does not use up the challenge.
create function auth.take_passkey_registration(user_id uuid, session_id uuid, challenge_id uuid) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(auth.passkey_refusal($1, $2), auth.take_passkey_challenge($3, 'registration', $1));
end
$$;
comment on function auth.take_passkey_registration(uuid, uuid, uuid) is
  E'Uses up the challenge of a new passkey, unless the session may not add one.\n\nReturns {challenge}.';

create function auth.add_passkey(user_id uuid, session_id uuid, credential jsonb, most integer, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  refusal json;
  added auth.webauthn_credentials;
begin
  -- Proof of the address may have removed all ways into the account meanwhile, with the session.
  select users.* into account from auth.users where users.id = $1 for no key update;
  refusal := auth.passkey_refusal($1, $2, $4);
  if refusal is not null then
    return refusal;
  end if;
  insert into auth.webauthn_credentials (
    user_id, credential_id, public_key, attestation_type, aaguid, sign_count, transports, backup_eligible, backed_up,
    friendly_name
  )
  values (
    $1, decode($3 ->> 'credential_id', 'base64'), decode($3 ->> 'public_key', 'base64'), 'none', ($3 ->> 'aaguid')::uuid,
    ($3 ->> 'sign_count')::bigint, $3 -> 'transports', ($3 ->> 'backup_eligible')::boolean, ($3 ->> 'backed_up')::boolean,
    $3 ->> 'friendly_name'
  )
  on conflict (credential_id) do nothing
  returning webauthn_credentials.* into added;
  if added.id is null then
    return '{"refused": "webauthn_credential_exists"}';
  end if;
  perform auth.record_audit(account, 'passkey_created', 'user', jsonb_build_object('passkey_id', added.id), $5);
  return auth.passkey_object(added);
end
$$;
comment on function auth.add_passkey(uuid, uuid, jsonb, integer, text) is
  E'Adds a passkey that was verified. `credential`: credential_id and public_key in Base64, aaguid, sign_count, transports, backup_eligible, backed_up, friendly_name.\n\nReturns the passkey.';

create function auth.rename_passkey(user_id uuid, passkey_id uuid, friendly_name text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  renamed auth.webauthn_credentials;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  update auth.webauthn_credentials set friendly_name = $3, updated_at = now()
  where webauthn_credentials.id = $2 and webauthn_credentials.user_id = $1
  returning webauthn_credentials.* into renamed;
  if not found then
    return '{"refused": "passkey_not_found"}';
  end if;
  perform auth.record_audit(account, 'passkey_updated', 'user', jsonb_build_object('passkey_id', $2), $4);
  return auth.passkey_object(renamed);
end
$$;
comment on function auth.rename_passkey(uuid, uuid, text, text) is 'Changes the name of a passkey. Returns the passkey.';

create function auth.remove_passkey(user_id uuid, session_id uuid, passkey_id uuid, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  removed auth.webauthn_credentials;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  if auth.lacks_second_factor($1, $2) then
    return '{"refused": "insufficient_aal"}';
  end if;
  delete from auth.webauthn_credentials where webauthn_credentials.id = $3 and webauthn_credentials.user_id = $1
  returning webauthn_credentials.* into removed;
  if not found then
    return '{"refused": "passkey_not_found"}';
  end if;
  perform auth.record_audit(account, 'passkey_deleted', 'user', jsonb_build_object('passkey_id', $3), $4);
  return auth.passkey_object(removed);
end
$$;
comment on function auth.remove_passkey(uuid, uuid, uuid, text) is 'Deletes a passkey for its user. Returns the passkey.';

create function auth.admin_list_passkeys(user_id uuid) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select auth.passkey_objects(users.id) from auth.users where users.id = $1
$$;
comment on function auth.admin_list_passkeys(uuid) is 'The passkeys of an account; no row if there is no such account.';

create function auth.admin_delete_passkey(user_id uuid, passkey_id uuid, actor text, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  removed auth.webauthn_credentials;
begin
  perform from auth.users where users.id = $1 for no key update;
  if not found then
    return null;
  end if;
  delete from auth.webauthn_credentials where webauthn_credentials.id = $2 and webauthn_credentials.user_id = $1
  returning webauthn_credentials.* into removed;
  if not found then
    return '{"refused": "passkey_not_found"}';
  end if;
  perform auth.record_audit(
    auth.admin_account($3), 'passkey_deleted', 'user', jsonb_build_object('user_id', $1, 'passkey_id', $2), $4
  );
  return auth.passkey_object(removed);
end
$$;
comment on function auth.admin_delete_passkey(uuid, uuid, text, text) is
  'Deletes a passkey for an administrator, and returns it. `actor` is the role of the administrator, for the audit log. Null if there is no such account.';

-- Sign-in

create function auth.find_passkey(challenge_id uuid, credential_id bytea) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  taken constant jsonb := auth.take_passkey_challenge($1, 'authentication', null);
begin
  if taken ? 'refused' then
    return taken;
  end if;
  return (
    select taken || jsonb_build_object('passkey', (
      select jsonb_build_object(
        'public_key', replace(encode(credentials.public_key, 'base64'), E'\n', ''),
        'backup_eligible', credentials.backup_eligible,
        'account', jsonb_build_object(
          'id', account.id,
          'banned', auth.is_banned(account),
          'has_email', coalesce(account.email, '') <> '',
          'email_confirmed', account.email_confirmed_at is not null,
          'email_unproven', account.email_unproven,
          'has_phone', coalesce(account.phone, '') <> '',
          'phone_confirmed', account.phone_confirmed_at is not null
        )
      )
      from auth.webauthn_credentials as credentials
      join auth.users as account on account.id = credentials.user_id
      where credentials.credential_id = $2
    ))
  );
end
$$;
comment on function auth.find_passkey(uuid, bytea) is
  E'Uses up a challenge for sign-in, and finds what its answer is compared with.\n\nReturns {challenge, passkey: {public_key, backup_eligible, account}}; the passkey is null if it is unknown.';

-- The passkey may have been deleted since it was found. Of an authenticator and its copy, the one that signs later sends a number
-- that the other has sent before.
create function auth.start_passkey_session(
  credential_id bytea, sign_count bigint, backed_up boolean, ip text, user_agent text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  owner uuid;
  passkey auth.webauthn_credentials;
  started json;
begin
  select webauthn_credentials.user_id into owner from auth.webauthn_credentials where webauthn_credentials.credential_id = $1;
  perform from auth.users where users.id = owner for no key update;
  select webauthn_credentials.* into passkey from auth.webauthn_credentials
  where webauthn_credentials.credential_id = $1 and webauthn_credentials.user_id = owner for update;
  if not found then
    return '{"refused": "unknown_passkey"}';
  end if;
  if greatest($2, passkey.sign_count) > 0 and $2 <= passkey.sign_count then
    return '{"refused": "counter_went_back"}';
  end if;
  update auth.webauthn_credentials
  set sign_count = $2, backed_up = $3, last_used_at = now(), updated_at = now()
  where webauthn_credentials.id = passkey.id;
  started := auth.start_session(owner, 'passkey', $4, $5, jsonb_build_object('passkey_id', passkey.id));
  update auth.sessions set passkey_id = passkey.id where sessions.id = (started #>> '{session,id}')::uuid;
  return started;
end
$$;
comment on function auth.start_passkey_session(bytea, bigint, boolean, text, text) is
  E'Starts a session by a passkey whose signature was verified, unless its number of signatures went back.\n\nReturns what auth.start_session does.';

drop function auth.list_sessions(uuid, json);
create function auth.list_sessions(user_id uuid, limits json default null)
returns table (
  id uuid, created_at timestamptz, expires_at timestamptz, refreshed_at timestamptz, has_cookie boolean, user_agent text,
  passkey json
)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select sessions.id, sessions.created_at, auth.session_end(sessions, $2), sessions.refreshed_at at time zone 'UTC',
    sessions.id_hash is not null, sessions.user_agent,
    case when sessions.passkey_id is not null then
      json_build_object('id', sessions.passkey_id, 'name', nullif(passkeys.friendly_name, ''))
    end
  from auth.sessions
  left join auth.webauthn_credentials as passkeys
    on passkeys.id = sessions.passkey_id and passkeys.user_id = sessions.user_id
  where sessions.user_id = $1 and not auth.has_ended(sessions) and not auth.breaks_limits(sessions, $2)
  order by sessions.created_at desc, sessions.id
  limit 100
$$;
comment on function auth.list_sessions(uuid, json) is
  E'The sessions of an account, with cookies and with refresh tokens, newest first, at most 100.\n\n`passkey` is {id, name} of the passkey by which the session began; the name is null once the passkey was deleted.';
grant execute on function auth.list_sessions(uuid, json) to authenticator;

-- Security keys as second factors

create function auth.begin_factor_challenge(
  user_id uuid, factor_id uuid, allowed auth.factor_type[], code_hash text, webauthn_challenge text, lifetime interval,
  pause interval, ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  begun constant jsonb := auth.challenge_factor($1, $2, $3, $4, $6, $7, $8);
  factor auth.mfa_factors;
  existing jsonb;
begin
  if begun ->> 'type' is distinct from 'webauthn' then
    return begun;
  end if;
  select mfa_factors.* into factor from auth.mfa_factors where mfa_factors.id = $2;
  -- An answer to one ceremony must not pass for one to the other.
  update auth.mfa_challenges
  set web_authn_session_data = jsonb_build_object(
    'challenge', $5, 'ceremony', case factor.status when 'verified' then 'request' else 'create' end
  )
  where mfa_challenges.id = (begun ->> 'id')::uuid;
  select coalesce(jsonb_agg(mfa_factors.web_authn_credential order by mfa_factors.created_at), '[]') into existing
  from auth.mfa_factors
  where mfa_factors.user_id = $1 and mfa_factors.web_authn_credential is not null
    and (factor.status = 'unverified' or mfa_factors.id = $2);
  return begun || jsonb_build_object(
    'webauthn',
    jsonb_build_object('ceremony', case factor.status when 'verified' then 'request' else 'create' end, 'existing', existing)
  );
end
$$;
comment on function auth.begin_factor_challenge(
  uuid, uuid, auth.factor_type[], text, text, interval, interval, text
) is
  E'As auth.challenge_factor, for security keys, too.\n\nFor these, the result has the member webauthn: {ceremony, existing}. The ceremony is create or request; the credentials are those of the account that cannot be created again, or that of the factor.';

create function auth.attempt_factor_challenge(
  user_id uuid, factor_id uuid, challenge_id uuid, allowed auth.factor_type[], lifetime interval, most integer,
  most_of_factor integer, ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  attempt constant jsonb := auth.attempt_factor($1, $2, $3, $4, $5, $6, $7, $8);
begin
  if attempt ? 'refused' or attempt ->> 'type' <> 'webauthn' then
    return attempt;
  end if;
  return attempt || (
    select jsonb_build_object('webauthn', jsonb_build_object(
      'challenge', challenges.web_authn_session_data ->> 'challenge',
      'ceremony', challenges.web_authn_session_data ->> 'ceremony',
      'credential', factors.web_authn_credential
    ))
    from auth.mfa_challenges as challenges join auth.mfa_factors as factors on factors.id = challenges.factor_id
    where challenges.id = $3
  );
end
$$;
comment on function auth.attempt_factor_challenge(
  uuid, uuid, uuid, auth.factor_type[], interval, integer, integer, text
) is
  E'As auth.attempt_factor, for security keys, too.\n\nFor these, the result has the member webauthn: {challenge, ceremony, credential}.';

create function auth.verify_webauthn_factor(
  user_id uuid, session_id uuid, factor_id uuid, challenge_id uuid, credential jsonb, aaguid uuid, sign_count bigint, ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  factor auth.mfa_factors;
  stored bigint;
  result json;
begin
  perform from auth.users where users.id = $1 for no key update;
  select mfa_factors.* into factor from auth.mfa_factors
  where mfa_factors.id = $3 and mfa_factors.user_id = $1 for update;
  if not found or (factor.status = 'verified') <> ($5 is null) then
    return '{"refused": "mfa_factor_not_found"}';
  end if;
  if $5 is null then
    stored := coalesce((factor.web_authn_credential #>> '{authenticator,signCount}')::bigint, 0);
    if greatest($7, stored) > 0 and $7 <= stored then
      return '{"refused": "counter_went_back"}';
    end if;
  elsif exists (
    select from auth.mfa_factors
    where mfa_factors.user_id = $1 and mfa_factors.id <> $3 and mfa_factors.web_authn_credential ->> 'id' = $5 ->> 'id'
  ) then
    return '{"refused": "webauthn_credential_exists"}';
  end if;
  result := auth.verify_factor($1, $2, $3, $4, null, null, 'mfa/webauthn', $8);
  if result ->> 'refused' is null then
    update auth.mfa_factors
    set web_authn_credential = jsonb_set(
        coalesce($5, mfa_factors.web_authn_credential), '{authenticator,signCount}', to_jsonb($7)
      ),
      web_authn_aaguid = coalesce($6, mfa_factors.web_authn_aaguid)
    where mfa_factors.id = $3;
  end if;
  return result;
end
$$;
comment on function auth.verify_webauthn_factor(uuid, uuid, uuid, uuid, jsonb, uuid, bigint, text) is
  E'As auth.verify_factor, for a security key whose signature was verified. `credential` is its new credential in GoTrue''s form; null for a factor that has one.';

grant execute on function
  auth.remove_passkeys_of_deleted(),
  auth.passkey_object(auth.webauthn_credentials),
  auth.passkey_objects(uuid),
  auth.add_passkey_challenge(uuid, text, text, interval),
  auth.take_passkey_challenge(uuid, text, uuid),
  auth.passkey_refusal(uuid, uuid, integer),
  auth.begin_passkey_registration(uuid, uuid, text, interval, integer),
  auth.take_passkey_registration(uuid, uuid, uuid),
  auth.add_passkey(uuid, uuid, jsonb, integer, text),
  auth.rename_passkey(uuid, uuid, text, text),
  auth.remove_passkey(uuid, uuid, uuid, text),
  auth.admin_list_passkeys(uuid),
  auth.admin_delete_passkey(uuid, uuid, text, text),
  auth.find_passkey(uuid, bytea),
  auth.start_passkey_session(bytea, bigint, boolean, text, text),
  auth.begin_factor_challenge(uuid, uuid, auth.factor_type[], text, text, interval, interval, text),
  auth.attempt_factor_challenge(uuid, uuid, uuid, auth.factor_type[], interval, integer, integer, text),
  auth.verify_webauthn_factor(uuid, uuid, uuid, uuid, jsonb, uuid, bigint, text)
to supabase_auth_admin;

call rowhouse.end_private_functions();
