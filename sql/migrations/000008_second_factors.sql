-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Second factors. The functions return {"refused": <reason>} when nothing was changed. They lock the account first, then the
-- session, the factor and the challenge, so that requests of one user wait for each other in the same order.

create function auth.enroll_factor(
  user_id uuid, session_id uuid, factor_type auth.factor_type, friendly_name text, secret text, phone text,
  most_enrolled integer, most_verified integer, unverified_lifetime interval, ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  level auth.aal_level;
  enrolled bigint;
  verified bigint;
  new_id constant uuid := gen_random_uuid();
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  select coalesce(sessions.aal, 'aal1') into level
  from auth.sessions where sessions.id = $2 and sessions.user_id = $1 and not auth.has_ended(sessions);
  if not found then
    return '{"refused": "session_not_found"}';
  end if;
  if $3 = 'phone' then
    if exists (
      select from auth.mfa_factors
      where mfa_factors.user_id = $1 and mfa_factors.phone = $6 and mfa_factors.status = 'verified'
    ) then
      return '{"refused": "mfa_verified_factor_exists"}';
    end if;
    delete from auth.mfa_factors
    where mfa_factors.user_id = $1 and mfa_factors.phone = $6 and mfa_factors.status = 'unverified';
  end if;
  delete from auth.mfa_factors
  where mfa_factors.user_id = $1 and mfa_factors.status = 'unverified' and mfa_factors.created_at < now() - $9
    and not exists (
      select from auth.mfa_challenges
      where mfa_challenges.factor_id = mfa_factors.id and mfa_challenges.created_at >= now() - $9
    );
  if exists (
    select from auth.mfa_factors
    where mfa_factors.user_id = $1 and coalesce(mfa_factors.friendly_name, '') = coalesce($4, '')
  ) then
    return '{"refused": "mfa_factor_name_conflict"}';
  end if;
  select count(*), count(*) filter (where mfa_factors.status = 'verified') into enrolled, verified
  from auth.mfa_factors where mfa_factors.user_id = $1;
  if enrolled >= $7 or verified >= $8 then
    return '{"refused": "too_many_enrolled_mfa_factors"}';
  end if;
  if verified > 0 and level < 'aal2' then
    return '{"refused": "insufficient_aal"}';
  end if;
  insert into auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret, phone)
  values (new_id, $1, $4, $3, 'unverified', now(), now(), $5, $6);
  perform auth.record_audit(
    account, 'factor_in_progress', 'factor', jsonb_build_object('factor_id', new_id, 'factor_type', $3), $10
  );
  return json_build_object('id', new_id);
end
$$;
comment on function auth.enroll_factor(
  uuid, uuid, auth.factor_type, text, text, text, integer, integer, interval, text
) is
  E'Adds a factor that has to be verified, and deletes those that were not verified in time.\n\nReturns {id}.';

create function auth.challenge_factor(
  user_id uuid, factor_id uuid, allowed auth.factor_type[], code_hash text, lifetime interval, pause interval, ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  factor auth.mfa_factors;
  challenge constant uuid := gen_random_uuid();
begin
  select users.* into account from auth.users where users.id = $1;
  select mfa_factors.* into factor from auth.mfa_factors
  where mfa_factors.id = $2 and mfa_factors.user_id = $1 for update;
  if not found then
    return '{"refused": "mfa_factor_not_found"}';
  end if;
  if factor.factor_type <> all ($3) then
    return json_build_object('refused', 'mfa_verify_disabled', 'type', factor.factor_type);
  end if;
  if factor.factor_type = 'phone' and factor.last_challenged_at > clock_timestamp() - $6 then
    return json_build_object(
      'refused', 'over_sms_send_rate_limit',
      'seconds', ceil(extract(epoch from factor.last_challenged_at + $6 - clock_timestamp()))
    );
  end if;
  -- Expired challenges are kept for a while to tell their users why they are refused.
  delete from auth.mfa_challenges
  where mfa_challenges.factor_id = $2 and mfa_challenges.created_at < now() - $5 - interval '1 hour';
  insert into auth.mfa_challenges (id, factor_id, created_at, ip_address, otp_code)
  values (challenge, $2, now(), coalesce($7::inet, '0.0.0.0'), case when factor.factor_type = 'phone' then $4 end);
  loop
    begin
      update auth.mfa_factors set last_challenged_at = clock_timestamp() where mfa_factors.id = $2;
      exit;
    exception
      -- Another factor was challenged in the same microsecond, and GoTrue's column is unique.
      when unique_violation then
        null;
    end;
  end loop;
  perform auth.record_audit(
    account, 'challenge_created', 'factor',
    jsonb_build_object('factor_id', $2, 'factor_status', factor.status), $7
  );
  return json_build_object(
    'id', challenge,
    'type', factor.factor_type,
    'expires_at', floor(extract(epoch from now() + $5))::bigint,
    'phone', factor.phone
  );
end
$$;
comment on function auth.challenge_factor(uuid, uuid, auth.factor_type[], text, interval, interval, text) is
  E'Begins the verification of a factor of one of the types `allowed`; a phone is not challenged again before `pause`.\n\nReturns {id, type, expires_at, phone}.';

-- Counts the attempt before the code is compared, so that concurrent requests cannot try more codes.
create function auth.attempt_factor(
  user_id uuid, factor_id uuid, challenge_id uuid, allowed auth.factor_type[], lifetime interval, most integer,
  most_of_factor integer, ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  factor auth.mfa_factors;
  challenge auth.mfa_challenges;
  wrong bigint;
  oldest timestamptz;
begin
  -- Attempts at all challenges of a factor wait for each other, so that each sees how many there were before it.
  select mfa_factors.* into factor from auth.mfa_factors
  where mfa_factors.id = $2 and mfa_factors.user_id = $1 for update;
  if not found then
    return '{"refused": "mfa_factor_not_found"}';
  end if;
  if factor.factor_type <> all ($4) then
    return json_build_object('refused', 'mfa_verify_disabled', 'type', factor.factor_type);
  end if;
  -- New challenges give no further attempts, so that an attacker who knows the password cannot try all codes.
  select sum(mfa_challenges.attempts), min(mfa_challenges.created_at) into wrong, oldest
  from auth.mfa_challenges
  where mfa_challenges.factor_id = $2 and mfa_challenges.verified_at is null and mfa_challenges.attempts > 0
    and mfa_challenges.created_at > now() - interval '1 hour';
  if wrong >= $7 then
    return json_build_object(
      'refused', 'too_many_wrong_codes', 'seconds', ceil(extract(epoch from oldest + interval '1 hour' - now()))
    );
  end if;
  update auth.mfa_challenges set attempts = mfa_challenges.attempts + 1
  where mfa_challenges.id = $3 and mfa_challenges.factor_id = $2
  returning mfa_challenges.* into challenge;
  if not found then
    return '{"refused": "challenge_not_found"}';
  end if;
  if challenge.verified_at is not null or host(challenge.ip_address) <> host(coalesce($8::inet, '0.0.0.0')) then
    return '{"refused": "mfa_ip_address_mismatch"}';
  end if;
  if challenge.created_at < now() - $5 then
    return '{"refused": "mfa_challenge_expired"}';
  end if;
  if challenge.attempts > $6 then
    return '{"refused": "too_many_attempts"}';
  end if;
  return json_build_object(
    'type', factor.factor_type, 'status', factor.status, 'secret', factor.secret, 'codeHash', challenge.otp_code
  );
end
$$;
comment on function auth.attempt_factor(uuid, uuid, uuid, auth.factor_type[], interval, integer, integer, text) is
  E'Counts an attempt to verify a factor. A challenge admits `most`, all recent challenges of the factor together `most_of_factor`.\n\nReturns {type, status, secret, codeHash}: what the code is compared with.';

create function auth.verify_factor(
  user_id uuid, session_id uuid, factor_id uuid, challenge_id uuid, totp_step bigint, recovery_hash text, method text,
  ip text
) returns json
language plpgsql set search_path = pg_catalog, pg_temp
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
comment on function auth.verify_factor(uuid, uuid, uuid, uuid, bigint, text, text, text) is
  E'Uses up a challenge whose code was right: verifies the factor, raises the session to aal2 with a new refresh token, and ends the account''s other sessions below aal2.\n\n`totp_step` is the time step of the code, `recovery_hash` the hash of a recovery code, `method` the name for the claim amr. Returns what auth.issued_session does.';

create function auth.remove_factor(factor auth.mfa_factors) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  delete from auth.mfa_factors where mfa_factors.id = $1.id;
  delete from auth.mfa_amr_claims using auth.sessions
  where sessions.id = mfa_amr_claims.session_id and sessions.factor_id = $1.id
    and mfa_amr_claims.authentication_method in ('totp', 'mfa/phone', 'mfa/webauthn', 'mfa/recovery_code');
  update auth.sessions set aal = 'aal1', factor_id = null, updated_at = now()
  where sessions.user_id = $1.user_id and sessions.factor_id = $1.id;
  if not exists (
    select from auth.mfa_factors where mfa_factors.user_id = $1.user_id and mfa_factors.status = 'verified'
  ) then
    delete from auth.mfa_recovery_codes where mfa_recovery_codes.user_id = $1.user_id;
  end if;
end
$$;
comment on function auth.remove_factor(auth.mfa_factors) is
  'Deletes a factor. The sessions that it has raised fall back to aal1; recovery codes are deleted with the last verified factor.';

create function auth.unenroll_factor(user_id uuid, session_id uuid, factor_id uuid, ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  factor auth.mfa_factors;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  select mfa_factors.* into factor from auth.mfa_factors
  where mfa_factors.id = $3 and mfa_factors.user_id = $1 for update;
  if not found then
    return '{"refused": "mfa_factor_not_found"}';
  end if;
  if factor.status = 'verified' and not exists (
    select from auth.sessions where sessions.id = $2 and sessions.user_id = $1 and sessions.aal >= 'aal2'
  ) then
    return '{"refused": "insufficient_aal"}';
  end if;
  perform auth.remove_factor(factor);
  perform auth.record_audit(
    account, 'factor_unenrolled', 'factor',
    jsonb_build_object('factor_id', $3, 'factor_status', factor.status, 'session_id', $2), $4
  );
  return json_build_object('id', $3);
end
$$;
comment on function auth.unenroll_factor(uuid, uuid, uuid, text) is
  E'Deletes a factor for its user; a verified one only in a session of aal2.\n\nReturns {id}.';

create function auth.create_recovery_codes(user_id uuid, session_id uuid, hashes text[], ip text) returns json
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  account auth.users;
  level auth.aal_level;
begin
  select users.* into account from auth.users where users.id = $1 for no key update;
  select coalesce(sessions.aal, 'aal1') into level
  from auth.sessions where sessions.id = $2 and sessions.user_id = $1 and not auth.has_ended(sessions);
  if not found then
    return '{"refused": "session_not_found"}';
  end if;
  if level < 'aal2' and exists (
    select from auth.mfa_factors where mfa_factors.user_id = $1 and mfa_factors.status = 'verified'
  ) then
    return '{"refused": "insufficient_aal"}';
  end if;
  delete from auth.mfa_recovery_codes where mfa_recovery_codes.user_id = $1;
  insert into auth.mfa_recovery_codes (user_id, code_hash, session_id)
  select $1, hash, $2 from unnest($3) as hashes (hash);
  perform auth.record_audit(account, 'recovery_codes_created', 'factor', null, $4);
  return json_build_object('created_at', auth.json_time(now()));
end
$$;
comment on function auth.create_recovery_codes(uuid, uuid, text[], text) is
  E'Replaces the recovery codes of an account. With a verified factor, this needs a session of aal2.\n\nReturns {created_at}.';

create function auth.count_recovery_codes(user_id uuid) returns json
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.json_build_object(
    'total', count(*),
    'remaining', count(*) filter (where used_at is null),
    'created_at', auth.json_time(max(created_at))
  )
  from auth.mfa_recovery_codes where mfa_recovery_codes.user_id = $1
$$;
comment on function auth.count_recovery_codes(uuid) is 'How many recovery codes an account has, and how many are unused.';

grant execute on function
  auth.enroll_factor(uuid, uuid, auth.factor_type, text, text, text, integer, integer, interval, text),
  auth.challenge_factor(uuid, uuid, auth.factor_type[], text, interval, interval, text),
  auth.attempt_factor(uuid, uuid, uuid, auth.factor_type[], interval, integer, integer, text),
  auth.verify_factor(uuid, uuid, uuid, uuid, bigint, text, text, text),
  auth.remove_factor(auth.mfa_factors),
  auth.unenroll_factor(uuid, uuid, uuid, text),
  auth.create_recovery_codes(uuid, uuid, text[], text),
  auth.count_recovery_codes(uuid)
to supabase_auth_admin;

call rowhouse.end_private_functions();
